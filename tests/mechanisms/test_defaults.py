"""Which noise is tried where a request names none: whoever changes this changes the answers of plain requests."""

from dalenius.core import registry


def test_the_noise_of_plain_requests():
    mechanisms = registry.every("mechanisms")
    assert [name for name in sorted(mechanisms) if mechanisms[name].is_default] == [
        "discrete_gaussian",
        "discrete_laplace",
        "truncated_laplace",
    ]
