"""A count over a known exposure, ends and all."""

import pytest
from tests.inference.questions.conftest import TABLE

from dalenius.errors import ParameterError


def test_a_rate_is_the_count_over_the_exposure(ask, counts, make_release, laplace) -> None:
    answer = ask("rate", counts, exposure=1000.0, first={"A": ("a0",)})
    assert answer.value == pytest.approx(TABLE[0].sum() / 1000)
    noisy = make_release(TABLE, laplace("1"))
    count, rate = (ask("total", noisy, where={"A": ("a0",)}), ask("rate", noisy, exposure=1000.0, first={"A": ("a0",)}))
    assert rate.interval.upper == pytest.approx(count.interval.upper / 1000)


@pytest.mark.parametrize("exposure", [0.0, -1.0])
def test_an_exposure_is_positive(ask, counts, exposure: float) -> None:
    with pytest.raises(ParameterError, match="positive"):
        ask("rate", counts, exposure=exposure)
