"""Without noise an interval of the population is the value; of the parameter it is the exact Poisson one."""

import pytest
from scipy.stats import gamma
from tests.inference.questions.conftest import TABLE


def test_the_population_value_is_known(ask, counts) -> None:
    found = ask("interval", counts)
    assert found.lower.tolist() == found.upper.tolist() == TABLE.reshape(-1).tolist()


def test_the_parameter_has_the_exact_poisson_interval(ask, counts) -> None:
    found = ask("interval", counts, axes=("A",), kind="parameter", confidence=0.9)
    seen = TABLE.sum((1, 2))
    assert found.lower.tolist() == pytest.approx(gamma.ppf(0.05, seen).tolist(), rel=1e-3)
    assert found.upper.tolist() == pytest.approx(gamma.ppf(0.95, seen + 1).tolist(), rel=1e-3)
