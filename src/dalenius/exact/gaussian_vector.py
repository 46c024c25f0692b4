"""Many cells of discrete Gaussian noise as one Gaussian step: what delta they have together, never too small.

Lemma. Let t < s2. Draw g from the normal law with variance s2 - t about an integer a, and x from the discrete Gaussian
with variance t about g. By Poisson summation the total weight of the second law is sqrt(2 pi t) (1 + r) with |r| <= h =
2 sum exp(-2 pi^2 t k^2), whatever g is, so that x has the discrete Gaussian law with variance s2 about a up to factors
between 1/k and k, k = (1 + h) / (1 - h). Hence m cells of discrete Gaussian noise are, up to a factor exp(c) with c =
sum log k, post-processing of normal noise with variances s2 - t, and delta(e) <= exp(c) delta_mu(e - 2 c) with mu^2 the
sum of squared shifts over s2 - t. A cell that does not move counts for nothing.

References: Canonne, Kamath & Steinke (2020); Balle & Wang (2018), Theorem 8.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dalenius.core import conversions
from dalenius.core.rationals import exp_upper, float_lower, float_upper, sqrt_upper
from dalenius.core.search import narrow

Key = TypeVar("Key")
_PI_LOWER = Fraction(31415926, 10**7)
_GRAIN = Fraction(1, 20)
_NEGLIGIBLE = Fraction(1, 10**11)


@dataclass(frozen=True, slots=True)
class Smoothed:
    """mu^2 of the normal noise behind some discrete noise, and the slack c of the factors between the two."""

    mu_squared: Fraction
    slack: Fraction

    def delta(self, epsilon: Fraction) -> Fraction:
        """delta(epsilon) of the discrete noise, rounded up."""
        if epsilon <= 2 * self.slack:
            return Fraction(1)
        mu = float_upper(sqrt_upper(self.mu_squared))
        below = conversions.gaussian_to_delta(mu, float_lower(epsilon - 2 * self.slack))
        return min(Fraction(1), Fraction(below) * exp_upper(self.slack))


def smoothed(
    variances: Mapping[Key, Fraction], cells: Mapping[Key, int], price: Callable[[Mapping[Key, Fraction]], Fraction]
) -> Smoothed | None:
    """From variances of parts, how many of their cells may move, and the worst sum of squared shifts over variances.

    None where some noise is so narrow that its grain would show.
    """
    narrower: dict[Key, Fraction] = {}
    slack = Fraction(0)
    for key, variance in variances.items():
        taken, loss = _smoothing(cells[key])
        if variance < 2 * taken:
            return None
        narrower[key] = variance - taken
        slack += loss
    return Smoothed(price(narrower), slack)


def _smoothing(cells: int) -> tuple[Fraction, Fraction]:
    """The variance t that is taken for the grain of so many cells, and m log k, which is then negligible."""
    taken = Fraction(1)
    while True:
        # The further terms of the sum are below a thousandth of the first.
        h = Fraction(2002, 1000) * exp_upper(-2 * _PI_LOWER**2 * taken)
        # log((1 + h) / (1 - h)) <= 2 h / (1 - h) <= 3 h.
        loss = 3 * cells * h
        if loss <= _NEGLIGIBLE:
            return taken, loss
        taken += _GRAIN


def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """About mu^2 / 2 of the normal noise that states exactly (epsilon, delta): where a search begins."""

    def is_within(mu: float) -> bool:
        return conversions.gaussian_to_delta(mu, float(epsilon)) <= float(delta)

    mu = narrow(is_within, 0.0, 2.0 * float(epsilon) + 10.0, halvings=80).inside
    return Fraction(int(mu * mu / 2 * 10**12), 10**12)
