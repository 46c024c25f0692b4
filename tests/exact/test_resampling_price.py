"""The price of bootstrap replicates: calibration keeps its target, and rho is what brute force says."""

from dataclasses import replace
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from scipy.signal import fftconvolve

from dalenius.errors import Unsupported
from dalenius.exact.resampled_loss import poisson_weights
from dalenius.exact.resampling_price import Beside, ResamplingPrice, calibrated

DELTA = Fraction(1, 10**6)
START = ResamplingPrice(reach=20, sigma_squared=Fraction(1), replicates=50)


def brute_force_rho(price: ResamplingPrice) -> float:
    """sup over 400 orders of D_a / a, the largest losses of probability 1e-6 cut at both ends, by floats on a fine grid."""
    unit = Fraction(1, 2048)
    first, one, _ = price.patterns()[0][0][0].masses(unit)
    start, masses = first * price.replicates, np.ones(1)
    for bit in bin(price.replicates)[2:]:
        masses = np.maximum(fftconvolve(masses, masses), 0)
        if bit == "1":
            masses = np.maximum(fftconvolve(masses, one), 0)
    loss = (start + np.arange(len(masses))) * float(unit)
    keep = masses > 1e-17
    loss, p = loss[keep], masses[keep]
    q = p * np.exp(-loss)
    high = np.searchsorted(np.cumsum(p[::-1]), 1e-6)
    low = np.searchsorted(np.cumsum(q), 1e-6)
    loss, p, q = loss[low : len(loss) - high], p[low : len(p) - high], q[low : len(q) - high]
    p, q = p / p.sum(), q / q.sum()
    ratio = np.log(p / q)
    worst = 0.0
    for a in 1 + np.geomspace(1e-3, 200, 400):
        for mass, sign in ((p, 1.0), (q, -1.0)):
            exponent = np.log(mass) + (a - 1) * sign * ratio
            top = exponent.max()
            worst = max(worst, (top + np.log(np.exp(exponent - top).sum())) / (a - 1) / a)
    return worst


@pytest.mark.parametrize(("replicates", "low", "high"), [(50, 0.530, 0.545), (10, 0.75, 0.78)])
def test_the_account_is_charged_what_brute_force_finds(replicates: int, low: float, high: float) -> None:
    """mu = 1 in all, add-remove, delta 1e-6; through epsilon and tanh the first would be 5.11."""
    price = replace(START, replicates=replicates, sigma_squared=Fraction(400 * replicates))
    charged, failure = price.rho(DELTA)
    assert failure == DELTA and low <= float(charged) <= high
    assert brute_force_rho(price) * 0.999 <= float(charged) <= brute_force_rho(price) * 1.02


@pytest.mark.parametrize(
    ("is_replace", "has_cells", "mu"), [(False, False, 0.9724), (True, False, 1.0223), (True, True, 1.0223)]
)
def test_calibration_spends_its_target_and_no_more(is_replace: bool, has_cells: bool, mu: float) -> None:
    """epsilon 5, delta 1e-6 at 50 replicates; mu is that of the same noise without resampling."""
    price = calibrated(
        replace(START, is_replace=is_replace, has_cells=has_cells), epsilon=Fraction(5), rho=None, delta=DELTA
    )
    assert Fraction(9, 10) * DELTA <= price.delta(Fraction(5)) <= DELTA
    width = 40 if is_replace else 20
    assert sqrt(50 * width**2 / float(price.sigma_squared)) == pytest.approx(mu, rel=0.003)
    less = replace(price, sigma_squared=price.sigma_squared * Fraction(98, 100))
    assert less.delta(Fraction(5)) > DELTA


def test_calibration_to_rho_spends_its_target_and_no_more() -> None:
    for replicates in (2, 50):
        price = calibrated(replace(START, replicates=replicates), epsilon=None, rho=Fraction(1, 10), delta=DELTA)
        charged, failure = price.rho(DELTA)
        assert Fraction(99, 1000) <= charged <= Fraction(1, 10) and failure <= DELTA


def test_sums_beside_the_replicates_cost_no_less_than_an_independent_accountant_says() -> None:
    """Count and squares with a tenth each: theirs is the composition of a mixture of Gaussians, 25 times, with two Gaussians."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    sums = (Beside(largest=1, share=Fraction(1, 10)), Beside(largest=400, share=Fraction(1, 10)))
    price = replace(START, replicates=25, sigma_squared=Fraction(10_000), beside=sums)
    weights = poisson_weights()
    whole = pld.from_mixture_gaussian_mechanism(
        1.0, [k / 5 for k in range(15)], [*weights[:14], sum(weights[14:])], value_discretization_interval=4e-3
    ).self_compose(25)
    for one, variance in zip(sums, price.variances, strict=True):
        alone = pld.from_gaussian_mechanism(sqrt(variance) / one.largest, value_discretization_interval=4e-3)
        whole = whole.compose(alone)
    # One row moves the replicates and the sums by 8 : 1 : 1, squared.
    moved = [one.largest**2 / float(v) for one, v in zip(sums, price.variances, strict=True)]
    assert moved == pytest.approx([0.125, 0.125], rel=1e-3)
    for epsilon in (3, 6):
        theirs = whole.get_delta_for_epsilon(epsilon)
        assert theirs * 0.999 <= float(price.delta(Fraction(epsilon))) <= theirs * 1.02
    charged, _ = price.rho(DELTA)
    assert 0.5 * 1.25 < float(charged) < 0.72


def test_moving_to_another_cell_is_priced_as_leaving_one_and_entering_another() -> None:
    price = replace(START, replicates=2, sigma_squared=Fraction(3200), is_replace=True, has_cells=True)
    assert [len(pattern) for pattern in price.patterns()] == [1, 2]
    alone = replace(price, is_replace=False)
    # Leaving and entering at once gives away more than either.
    moved = price.losses()[1].delta(Fraction(1))
    assert alone.delta(Fraction(1)) < moved <= price.delta(Fraction(1))


def test_too_little_noise_under_replace_is_refused_and_never_priced() -> None:
    price = replace(START, sigma_squared=Fraction(399), is_replace=True)
    assert not price.is_proved
    with pytest.raises(Unsupported, match="proved"):
        price.delta(Fraction(1))
    # A target that needs less noise is met with the least that is proved.
    generous = calibrated(replace(START, replicates=2, is_replace=True), epsilon=Fraction(60), rho=None, delta=DELTA)
    assert generous.sigma_squared >= 400 and generous.is_proved


def test_halved_noise_breaks_the_claim() -> None:
    price = replace(START, sigma_squared=Fraction(20000))
    claimed = float(price.delta(Fraction(5)))
    halved = replace(price, sigma_squared=Fraction(5000))
    first, masses, _ = halved.patterns()[0][0][0].masses(Fraction(1, 256))
    mean = float((first + np.arange(len(masses))) / 256 @ masses)
    assert exp(50 * mean) > exp(2 * sqrt(0.5)) and float(halved.delta(Fraction(5))) > 100 * claimed
