"""Every statistic the registry finds, on all tiny data sets beside all their neighbours."""

import pytest

from dalenius.core import registry
from dalenius.testing import statistic_kit


@pytest.mark.parametrize("name", registry.names("statistics"))
def test_declared_sensitivities_are_at_least_the_measured_ones(name: str) -> None:
    assert statistic_kit.check(registry.get("statistics", name))
