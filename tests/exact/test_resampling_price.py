"""The price of bootstrap replicates: calibration keeps its target, and rho is what brute force says."""

from dataclasses import replace
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from scipy.signal import fftconvolve

from dalenius.errors import Unsupported
from dalenius.exact.resampling_price import ResamplingPrice, calibrated

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
        price = calibrated(
            replace(START, replicates=replicates), epsilon=None, rho=Fraction(1, 10), delta=DELTA
        )
        charged, failure = price.rho(DELTA)
        assert Fraction(99, 1000) <= charged <= Fraction(1, 10) and failure <= DELTA


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
    generous = calibrated(
        replace(START, replicates=2, is_replace=True), epsilon=Fraction(60), rho=None, delta=DELTA
    )
    assert generous.sigma_squared >= 400 and generous.is_proved


def test_halved_noise_breaks_the_claim() -> None:
    price = replace(START, sigma_squared=Fraction(20000))
    claimed = float(price.delta(Fraction(5)))
    halved = replace(price, sigma_squared=Fraction(5000))
    first, masses, _ = halved.patterns()[0][0][0].masses(Fraction(1, 256))
    mean = float((first + np.arange(len(masses))) / 256 @ masses)
    assert exp(50 * mean) > exp(2 * sqrt(0.5)) and float(halved.delta(Fraction(5))) > 100 * claimed
