"""Multiplicities counted as published: never below the hidden ones, exact where there is one row, every spread of rows."""

from fractions import Fraction
from math import exp, factorial, sqrt

import pytest
from scipy.special import ndtr

from dalenius.core.sensitivity import partitions
from dalenius.exact.resampled_loss import MixturePair, PublishedPair, one_loss, poisson_head, poisson_weights
from dalenius.exact.resampling_price import ResamplingPrice, calibrated

UNIT = Fraction(1, 256)


def pair(rows: int) -> PublishedPair:
    return PublishedPair(reach=Fraction(300), sigma_squared=Fraction(10**6), rows=rows)


@pytest.mark.parametrize("rows", [1, 4])
def test_the_curve_is_the_mean_over_copies_of_gaussian_curves(rows: int) -> None:
    """delta(epsilon) = E H(N(K a) || N(0)) with K ~ Poisson(rows); wide noise, so that integers do not matter."""
    for epsilon in (0.25, 1.0, 3.0):
        truth = 0.0
        for k in range(1, 60):
            mu = 0.3 * k
            curve = ndtr(mu / 2 - epsilon / mu) - exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
            truth += exp(-rows) * rows**k / factorial(k) * curve
        stated = float(one_loss(pair(rows), UNIT).delta(Fraction(epsilon)))
        assert truth * (1 - 1e-6) <= stated <= truth * 1.005


def test_hidden_multiplicities_give_away_less_than_published_ones() -> None:
    hidden = MixturePair(up=Fraction(300), down=Fraction(0), sigma_squared=Fraction(10**6), weights=poisson_weights())
    for epsilon in (Fraction(1, 4), Fraction(1), Fraction(2)):
        published = one_loss(pair(1), UNIT).delta(epsilon)
        for order in (hidden, hidden.reversed):
            assert one_loss(order, UNIT).delta(epsilon) < published


def test_a_share_of_poisson_numbers_that_is_left_out_is_counted_as_unbounded() -> None:
    weights, rest = poisson_head(8)
    assert 1 - 1e-15 <= sum(weights) <= 1 + 1e-15 and 0 < rest < 2.0**-66
    first, masses, unbounded = pair(8).masses(UNIT)
    assert masses.sum() + unbounded == pytest.approx(1, abs=1e-9) and unbounded >= rest and first < 0
    # A shift of more than thirty standard deviations tells everything.
    near = PublishedPair(reach=Fraction(40_000), sigma_squared=Fraction(10**6), rows=1)
    assert near.masses(Fraction(1, 4))[2] >= 1 - exp(-1) - 1e-12


def test_rows_are_spread_over_cells_in_every_way() -> None:
    assert list(partitions(4)) == [(4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)]
    assert len(list(partitions(6))) == 11 and all(sum(parts) == 6 for parts in partitions(6))
    price = ResamplingPrice(reach=20, sigma_squared=Fraction(10**6), replicates=5, has_cells=True, rows=4)
    assert len(price.patterns()) == 5 and len(price.losses()) == 5
    deltas = [loss.delta(Fraction(1)) for loss in price.losses()]
    assert price.delta(Fraction(1)) == max(deltas) == deltas[0]


def test_calibration_for_several_rows_spends_its_target_and_no_more() -> None:
    """Replacing a unit of two rows touches four; the central limit of the published price is sqrt(4 + 16) times a row's."""
    start = ResamplingPrice(reach=20, sigma_squared=Fraction(1), replicates=25, is_replace=True, rows=2)
    delta = Fraction(1, 10**6)
    price = calibrated(start, epsilon=Fraction(1), rho=None, delta=delta)
    assert Fraction(9, 10) * delta <= price.delta(Fraction(1)) <= delta
    mu = 20 * sqrt(25 * 20 / float(price.sigma_squared))
    # A Gaussian of this epsilon and delta has mu = 0.2266.
    assert 0.18 < mu < 0.2266
    rho, failure = price.rho(delta)
    assert 0.02 < float(rho) < 0.05 and failure <= delta


def test_too_many_rows_are_not_served() -> None:
    price = ResamplingPrice(reach=1, sigma_squared=Fraction(1), replicates=5, has_cells=True, rows=7)
    assert not price.is_served
    assert ResamplingPrice(reach=1, sigma_squared=Fraction(1), replicates=5, rows=24).is_served
