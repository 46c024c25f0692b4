"""Secret sampling: the bound is attained by randomised response on one secretly sampled row, and refused elsewhere."""

from fractions import Fraction
from math import exp, log

import pytest

from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.amplification import Scheme, SecretSample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

ONE = Sensitivity.of_patterns(((1,),))
TENTH = SecretSample(fraction=Fraction(1, 10), scheme=Scheme.POISSON)


def test_pure_bound_and_its_attainment_by_the_exact_mixture() -> None:
    profile = DiscreteLaplace(Fraction(1)).profile(ONE, Relation.ADD_REMOVE)
    amplified = TENTH.amplified(profile)
    assert float(amplified.epsilon or 0) == pytest.approx(log(1 + 0.1 * (exp(1) - 1)))
    # Present with probability q: the output is a mixture of the shifted and the unshifted law.
    a = exp(-1)
    c = (1 - a) / (1 + a)
    p = [c * a ** abs(x) for x in range(-60, 61)]
    q = [c * a ** abs(x - 1) for x in range(-60, 61)]
    ratios = [(0.9 * u + 0.1 * v) / u for u, v in zip(p, q, strict=True)]
    assert max(log(r) for r in ratios) == pytest.approx(float(amplified.epsilon or 0), abs=1e-9)
    for at in (0.02, 0.1, 0.15):
        exact = sum(max(0.0, 0.9 * u + 0.1 * v - exp(at) * u) for u, v in zip(p, q, strict=True))
        assert float(amplified.delta_at(Fraction(at))) >= exact - 1e-12


def test_rho_is_not_scaled_by_the_fraction() -> None:
    profile = DiscreteLaplace(Fraction(1)).profile(ONE, Relation.ADD_REMOVE)
    amplified = TENTH.amplified(profile)
    assert amplified.rho is not None and profile.rho is not None
    e = float(amplified.epsilon or 0)
    assert float(amplified.rho) == pytest.approx(e * (exp(e) - 1) / (exp(e) + 1))


def test_only_what_is_proved() -> None:
    swap = DiscreteLaplace(Fraction(1)).profile(ONE, Relation.REPLACE)
    with pytest.raises(Unsupported):
        TENTH.amplified(swap)
    SecretSample(fraction=Fraction(1, 2), scheme=Scheme.FIXED_SIZE).amplified(swap)
    with pytest.raises(ParameterError):
        SecretSample(fraction=Fraction(0), scheme=Scheme.POISSON)
    whole = SecretSample(fraction=Fraction(1), scheme=Scheme.POISSON)
    assert float(whole.epsilon(Fraction(1))) == pytest.approx(1)
