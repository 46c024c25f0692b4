"""Every measurement the registry finds: answers on tiny neighbours against its profile, and an answer to every content."""

import pytest

from dalenius.core import registry
from dalenius.testing import measurement_kit


@pytest.mark.parametrize("name", registry.names("measurements"))
def test_answers_on_tiny_neighbours_keep_to_the_profile(name: str) -> None:
    assert measurement_kit.check(registry.get("measurements", name))
