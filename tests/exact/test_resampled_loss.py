"""Losses of resampled totals: known figures, never below an independent accountant, exact on a short list of integers."""

from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from dalenius.errors import ParameterError
from dalenius.exact.loss import BITS
from dalenius.exact.resampled_loss import MixturePair, copies_loss, grid_unit, one_loss, poisson_weights
from dalenius.ledger.composition import epsilon_at
from dalenius_lab.reproductions.bi import binomial_weights

DELTA = Fraction(1, 10**6)


def on_the_line(up: float, down: float, weights: tuple[float, ...]) -> MixturePair:
    return MixturePair(
        up=Fraction(up), down=Fraction(down), sigma_squared=Fraction(1), weights=weights, is_discrete=False
    )


def epsilon_of(pair: MixturePair, replicates: int) -> float:
    return float(epsilon_at(copies_loss(pair, replicates, grid_unit(pair, replicates)), DELTA))


def effective_mu(epsilon: float) -> float:
    """mu of the Gaussian that has this epsilon at delta = 1e-6."""
    low, high = 1e-3, 20.0
    for _ in range(80):
        mu = (low + high) / 2
        delta = ndtr(mu / 2 - epsilon / mu) - exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
        low, high = (mu, high) if delta < 1e-6 else (low, mu)
    return low


@pytest.mark.parametrize(("replicates", "epsilon"), [(1, 34.00), (10, 6.553), (50, 5.169), (500, 4.914)])
def test_the_multinomial_bootstrap_costs_more_than_the_paper_claims(replicates: int, epsilon: float) -> None:
    """Claimed rho .5, n = 500, replace: the claim is 4.887 at every number of replicates."""
    pair = on_the_line(1 / sqrt(replicates), 0, binomial_weights(500))
    assert epsilon_of(pair, replicates) == pytest.approx(epsilon, rel=0.005)


@pytest.mark.parametrize(
    ("mu", "replicates", "added", "replaced"),
    [
        (0.5, 1, 2.930, 1.161),
        (0.5, 2, 1.817, 1.035),
        (0.5, 5, 1.265, 1.002),
        (0.5, 10, 1.122, 0.999),
        (0.5, 25, 1.047, 1.000),
        (0.5, 50, 1.023, 0.9996),
        (0.5, 100, 1.012, 0.9998),
        (0.5, 1000, 1.002, 1.0000),
        (1.0, 1, 4.858, 1.621),
        (1.0, 2, 3.008, 1.165),
        (1.0, 5, 1.684, 1.014),
        (1.0, 10, 1.293, 0.998),
        (1.0, 25, 1.105, 0.997),
        (1.0, 50, 1.051, 0.998),
        (1.0, 100, 1.025, 0.999),
        (1.0, 1000, 1.003, 1.000),
    ],
)
def test_poisson_multiplicities_cost_what_the_table_says(
    mu: float, replicates: int, added: float, replaced: float
) -> None:
    """Effective mu over that of the totals without resampling, add-remove and replace about the midpoint."""
    a = mu / sqrt(replicates)
    for pair, factor in (
        (on_the_line(a, 0, poisson_weights()), added),
        (on_the_line(a / 2, -a / 2, poisson_weights()), replaced),
    ):
        assert effective_mu(epsilon_of(pair, replicates)) / mu == pytest.approx(factor, rel=0.005)


@pytest.mark.parametrize(("size", "replicates"), [(500, 10), (500, 50), (None, 50), (None, 200)])
def test_no_epsilon_is_below_that_of_an_independent_accountant(size: int | None, replicates: int) -> None:
    """Theirs is on a finer grid, by an implementation of its own; multinomial multiplicities of a size, or Poisson ones."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    weights = binomial_weights(size) if size else poisson_weights()
    a = 1 / sqrt(replicates)
    few = [*weights[:14], sum(weights[14:])]
    theirs = pld.from_mixture_gaussian_mechanism(
        1.0, [a * k for k in range(15)], few, value_discretization_interval=4e-3 if replicates <= 50 else 1e-3
    ).self_compose(replicates)
    lower = theirs.get_epsilon_for_delta(1e-6)
    assert lower <= epsilon_of(on_the_line(a, 0, weights), replicates) <= lower * 1.005


def test_on_few_integers_the_curve_is_the_sum_over_all_of_them() -> None:
    """Noise of variance 2 and a shift of 2: every epsilon is at least the exact delta, and little more."""
    pair = MixturePair(up=Fraction(2), down=Fraction(0), sigma_squared=Fraction(2), weights=poisson_weights())
    x = np.arange(-40, 90)
    noise = np.exp(-(np.arange(-400, 400) ** 2) / 4.0)
    p = sum(w * np.exp(-((x - 2.0 * k) ** 2) / 4.0) for k, w in enumerate(poisson_weights())) / noise.sum()
    q = np.exp(-(x**2) / 4.0) / noise.sum()
    for one, (first, second) in ((pair, (p, q)), (pair.reversed, (q, p))):
        loss = one_loss(one, Fraction(1, 256))
        for epsilon in (Fraction(1, 2), Fraction(1), Fraction(3), Fraction(8)):
            truth = float(np.maximum(first - exp(epsilon) * second, 0).sum())
            stated = float(loss.delta(epsilon))
            assert truth <= stated + 1e-15 and stated <= truth * 1.02 + 1e-15


def test_wide_noise_that_is_integrated_agrees_with_noise_that_is_listed() -> None:
    """Just below and just above the width from which integers are no longer listed."""
    epsilons = []
    for sigma in (3900, 4100):
        pair = MixturePair(
            up=Fraction(sigma // 5), down=Fraction(0), sigma_squared=Fraction(sigma**2), weights=poisson_weights()
        )
        epsilons.append(epsilon_of(pair, 25))
    line = epsilon_of(on_the_line(0.2, 0, poisson_weights()), 25)
    assert epsilons == pytest.approx([line, line], rel=1e-4)


def test_masses_of_a_loss_leave_nothing_out() -> None:
    loss = one_loss(on_the_line(0.3, -0.3, poisson_weights()), Fraction(1, 64))
    assert 0 <= sum(loss.masses) + loss.infinite - (1 << BITS) < (1 << BITS) // 10**11


def test_shifts_on_one_side_are_refused() -> None:
    with pytest.raises(ParameterError):
        on_the_line(0.5, 0.1, poisson_weights())
    with pytest.raises(ParameterError):
        binomial_weights(0)
