"""Maximum entropy: the Lagrange solution against a generic optimiser, and no rival law does better."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.mechanisms import max_entropy
from dalenius.mechanisms.max_entropy import MaxEntropy

ONE = Sensitivity.of_patterns(((1,),))


@pytest.mark.parametrize(("cap", "limit"), [("2", 5), ("1/3", 4), ("6.5", 4), ("30", 20)])
def test_cap_is_met_and_never_exceeded(cap: str, limit: int) -> None:
    law = MaxEntropy(Fraction(cap), limit)
    assert law.variance <= float(Fraction(cap)) + 1e-12
    assert law.variance == pytest.approx(float(Fraction(cap)), rel=1e-9)


@pytest.mark.parametrize(("cap", "limit"), [("2", 5), ("123.456", 80), ("7/100", 40)])
def test_fast_and_enclosed_judgements_agree_on_every_side_of_the_cap(cap: str, limit: int) -> None:
    exact, near = Fraction(cap), MaxEntropy(Fraction(cap), limit).multiplier
    grid = Fraction(1, 1 << 40)
    for steps in (-1000, -2, -1, 0, 1, 1000):
        tried = max(near + steps * grid, Fraction(0))
        judged = max_entropy._is_within(tried, exact, limit)
        assert judged is max_entropy._is_within_enclosed(tried, exact, limit)
        assert judged is (steps >= 0)


def test_no_feasible_law_has_more_entropy() -> None:
    law = MaxEntropy(Fraction(2), 4)
    x = np.arange(-4, 5)
    p = np.exp(law.log_pmf(x))
    entropy = -(p * np.log(p)).sum()
    rng = np.random.default_rng(3)
    constraints = np.stack([np.ones(9), x, x * x]).astype(float)
    _, _, basis = np.linalg.svd(constraints)
    for _ in range(200):
        tried = p + (basis[3:].T @ rng.normal(0, 0.01, 6))
        if (tried > 0).all():
            assert -(tried * np.log(tried)).sum() < entropy + 1e-12


def test_profile_is_exact() -> None:
    law = MaxEntropy(Fraction(3), 6)
    profile = law.profile(ONE, Relation.ADD_REMOVE)
    p = np.exp(law.log_pmf(np.arange(-6, 7)))
    assert float(profile.delta) == pytest.approx(p[0], rel=1e-9)
    assert float(profile.epsilon or 0) == pytest.approx(np.log(p[1] / p[0]), rel=1e-9)
    assert MaxEntropy(**law.parameters) == law


def test_a_cap_that_does_not_bind_is_refused() -> None:
    with pytest.raises(ParameterError):
        MaxEntropy(Fraction(20, 3), 4)
    with pytest.raises(ParameterError):
        MaxEntropy(Fraction(1), 0)
