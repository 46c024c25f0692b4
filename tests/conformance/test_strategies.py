"""Every strategy for margins the registry finds: planned variances against dense least squares on small tables."""

import pytest

from dalenius.core import registry
from dalenius.testing import strategy_kit


@pytest.mark.parametrize("name", registry.names("plans.margins.strategies"))
def test_planned_variances_are_those_of_dense_least_squares(name: str) -> None:
    assert strategy_kit.check(name)
