"""Probabilistic differential privacy: brute force over every move, laws that fit are taken, both sides of the loss count."""

from fractions import Fraction
from itertools import product
from math import exp, inf, log

import pytest

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.probabilistic import Probabilistic
from dalenius.exact.additive import product_tail, shifts_of
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal

LAWS = [
    TruncatedNormal(rate=Fraction(1, 7), limit=5),
    TruncatedLaplace(rate=Fraction(1, 2), limit=5),
    DiscreteLaplace(rate=Fraction(1)),
    DiscreteGaussian(sigma_squared=Fraction(3)),
]


def masses(law) -> dict[int, float]:
    table = law.weights(60)
    total = sum(table.upper)
    return {table.first + i: w / total for i, w in enumerate(table.upper) if w / total > 1e-12}


def beyond(law, move: tuple[int, ...], epsilon: float) -> float:
    """P(|loss| > epsilon) by adding up the outcomes of all moved cells."""
    p = masses(law)
    total = 0.0
    for outcome in product(p, repeat=len(move)):
        chance, loss = 1.0, 0.0
        for x, s in zip(outcome, move, strict=True):
            chance *= p[x]
            loss += log(p[x]) - log(p[x - s]) if x - s in p else inf
        total += chance if abs(loss) > epsilon else 0.0
    return total


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("pattern", [(1,), (3,), (1, 1), (2, 1), (2, 2)])
def test_no_move_exceeds_epsilon_more_often_than_is_stated(law, pattern: tuple[int, ...]) -> None:
    sensitivity = Sensitivity.of_patterns((pattern,))
    for text in ("0.2", "0.5", "1", "1.5", "2"):
        epsilon = Fraction(text)
        stated = float(product_tail(shifts_of(law, sensitivity), epsilon))
        for smaller in product(*(range(s + 1) for s in pattern)):
            if any(smaller):
                moved = tuple(s for s in smaller if s)
                assert beyond(law, moved, float(epsilon) + 1e-9) <= stated + 1e-9


def test_a_smaller_move_can_exceed_epsilon_more_often() -> None:
    """Why the extremes alone would not do: two moved cells may cancel each other where one cannot."""
    law = TruncatedLaplace(rate=Fraction(1), limit=20)
    assert beyond(law, (1,), 0.9) > beyond(law, (1, 1), 0.9)
    both = Sensitivity.of_patterns(((1, 1),))
    assert float(product_tail(shifts_of(law, both), Fraction("0.9"))) >= beyond(law, (1,), 0.9)


@pytest.mark.parametrize("law", [TruncatedNormal.of_paper("1.5", 12), TruncatedLaplace(Fraction(1), 14)])
def test_a_law_whose_finite_losses_stay_below_epsilon_fits_at_its_own_delta(law) -> None:
    profile = law.profile(Sensitivity.of_patterns(((1,),)), Relation.ADD_REMOVE)
    delta = profile.delta + Fraction(1, 10**30)
    budget = Budget.of("probabilistic", epsilon=profile.epsilon, delta=delta)
    assert Probabilistic().fits([profile], budget)
    tighter = Budget.of("probabilistic", epsilon=profile.epsilon, delta=delta * Fraction(99, 100))
    assert not Probabilistic().fits([profile], tighter)


def test_gaussian_noise_is_that_of_its_own_tail() -> None:
    """Continuous limit: loss ~ N(mu^2 / 2, mu^2); both sides of it hold delta at the chosen mu."""
    from scipy.special import ndtr

    budget = Budget.of("probabilistic", epsilon=1, delta="1e-6")
    one = Sensitivity.of_patterns(((1,),))
    law = calibrate(DiscreteGaussian, one, Relation.ADD_REMOVE, Probabilistic(), budget)
    mu = float(law.sigma_squared) ** -0.5
    tails = ndtr(-(1 - mu * mu / 2) / mu) * (1 + exp(-1))
    assert tails == pytest.approx(1e-6, rel=0.4)
    assert float(law.sigma_squared) < 25


def test_a_statement_without_a_loss_distribution_is_used_through_its_curve() -> None:
    stated = PrivacyProfile(relation=Relation.ADD_REMOVE, epsilon=Fraction(1, 2), delta=Fraction(1, 10**7))
    failure = Probabilistic().failure([stated], Fraction(1))
    assert Fraction(1, 10**7) < failure < Fraction(4, 10**7)
