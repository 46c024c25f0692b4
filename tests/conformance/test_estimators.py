"""Every estimator the registry finds, judged by exact sums of few rows."""

import pytest

from dalenius.core import registry
from dalenius.testing import estimator_kit


@pytest.mark.parametrize("name", registry.names("estimators"))
def test_a_formula_is_what_it_states(name: str) -> None:
    estimator = registry.get("estimators", name)
    assert estimator.name == name
    estimator_kit.check(estimator)
