"""Conversions between privacy statements, tight where a tight one is known; every result is rounded up.

References: Bun & Steinke (2016); Canonne, Kamath & Steinke (2020), Proposition 7 and Lemma 9; Dong, Roth & Su (2022)
for Gaussian privacy; Harrison & Manurangsi (2026) for Laplace noise.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, log, log1p, tanh

from dalenius.core.rationals import exp_enclosure, exp_lower, exp_upper, log_upper, round_up
from dalenius.core.search import narrow

_GRID = 10**15
_FLOAT_SLACK = 1e-11


@lru_cache(maxsize=4096)
def pure_to_rho(epsilon: Fraction) -> Fraction:
    """rho of an epsilon-DP step: epsilon * tanh(epsilon / 2), which randomised response attains."""
    shrink = exp_lower(-epsilon)
    return round_up(epsilon * (1 - shrink) / (1 + shrink), _GRID)


@lru_cache(maxsize=4096)
def discrete_laplace_to_rho(rate: Fraction, shift: int) -> Fraction:
    """rho of one cell with discrete Laplace noise, moved by an integer s, tight.

    rate * (s - 2 b (1 - b**s) / (1 - b**2)) with b = exp(-rate). It is convex in s and zero at zero, so a vector's
    cells add up to no more than one cell moved by the whole l1 distance.
    """
    bits = 128 + 4 * (rate.denominator // rate.numerator + 1).bit_length()
    one = 1 << bits
    base = exp_enclosure(-rate, bits)[0]
    power = exp_enclosure(-rate * shift, bits)[1]
    saved = Fraction(2 * base * (one - power), one * one - base * base)
    return round_up(rate * (shift - saved), 10**20)


def pure_to_delta(epsilon: Fraction, at: Fraction) -> Fraction:
    """delta(at) of an epsilon-DP step: (e^epsilon - e^at) / (1 + e^epsilon), which randomised response attains."""
    if at >= epsilon:
        return Fraction(0)
    # Divided by e^epsilon, so that large epsilons stay small numbers.
    numerator = 1 - exp_lower(at - epsilon)
    return round_up(numerator / (1 + exp_lower(-epsilon)), 10**30)


def _order_float(rho: float, epsilon: float) -> float:
    """The order that (nearly) minimises the bound, in floats; any order > 1 is valid."""
    low, high = 1e-9, 2 * (epsilon / max(rho, 1e-300) + 10)

    def slope(extra: float) -> float:
        a = 1 + extra
        return (2 * a - 1) * rho - epsilon + log(1 - 1 / a)

    while slope(high) < 0:
        high *= 2
    # The bound is flat about its best order.
    found = narrow(lambda x: slope(x) >= 0, inside=high, outside=low, until=lambda top, low: top - low <= 1e-10 * top)
    return 1 + found.inside


@lru_cache(maxsize=4096)
def rho_to_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """delta(epsilon) of a rho-zCDP step: min over a > 1 of exp((a-1)(a rho - epsilon)) (1-1/a)^a / (a-1)."""
    if rho == 0:
        return Fraction(0)
    order = Fraction(_order_float(float(rho), float(epsilon))).limit_denominator(10**6)
    order = max(order, 1 + Fraction(1, 10**6))
    exponent = (order - 1) * (order * rho - epsilon) + order * log_upper(1 - 1 / order)
    exponent = round_up(exponent, 10**12)
    if exponent < -120:
        # The order exceeds 1 by a millionth at least, so that the bound is below the grid that it is rounded up to.
        return Fraction(1, 10**40)
    bits = 96 + max(0, int(-exponent * 3 // 2))
    return min(Fraction(1), round_up(exp_upper(exponent, bits) / (order - 1), 10**40))


@lru_cache(maxsize=4096)
def rho_to_distance(rho: Fraction) -> Fraction:
    """Largest total variation between neighbours of a rho-zCDP step: tanh(e / 2) with e tanh(e / 2) = rho.

    Let a test say yes with probabilities p and q = p - t. Both divergences of order 1 between its answers are at most
    rho, so t (logit p - logit q) <= 2 rho. The left side is least where p = (1 + t) / 2, and is 4 t artanh t there.
    Randomised response attains the bound.
    """
    # Floats say where to look; what is taken was judged by the enclosure. e tanh(e / 2) exceeds e - 1.
    near = narrow(lambda e: e * tanh(e / 2) >= float(rho), inside=float(rho) + 2, outside=0.0).inside
    epsilon, step = Fraction(near), Fraction(1, 10**12)
    # What `pure_to_rho` rounds up is taken off again.
    while pure_to_rho(epsilon) - Fraction(2, _GRID) < rho:
        epsilon, step = epsilon + step, 2 * step
    epsilon = round_up(epsilon, 10**15)
    return pure_to_delta(epsilon, Fraction(0)) if rho else Fraction(0)


@lru_cache(maxsize=4096)
def rho_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Smallest epsilon (rounded up) at which a rho-zCDP step is (epsilon, delta)-DP by `rho_to_delta`."""
    epsilon = _smallest_epsilon(rho, delta, _fits_or_clearly)
    # Floats led the way; where the enclosure does not confirm the end, it decides every step.
    if rho_to_delta(rho, epsilon) <= delta:
        return epsilon
    return _smallest_epsilon(rho, delta, lambda rho, delta, epsilon: rho_to_delta(rho, epsilon) <= delta)


def _smallest_epsilon(rho: Fraction, delta: Fraction, fits: Callable[[Fraction, Fraction, Fraction], bool]) -> Fraction:
    low, high = Fraction(0), rho + 2 * Fraction((float(rho) * log(1 / float(delta))) ** 0.5) + 1
    while not fits(rho, delta, high):
        high *= 2
    return narrow(
        lambda epsilon: fits(rho, delta, epsilon),
        inside=high,
        outside=low,
        until=lambda high, low: high - low <= Fraction(1, 10**9),
        between=lambda high, low: round_up((low + high) / 2, 10**12),
    ).inside


def _fits_or_clearly(rho: Fraction, delta: Fraction, epsilon: Fraction) -> bool:
    """Whether delta is met, by floats where it is missed or met by far more than their error."""
    if rho == 0:
        return True
    order = _order_float(float(rho), float(epsilon))
    exponent = (order - 1) * (order * float(rho) - float(epsilon)) + order * log1p(-1 / order)
    gap = exponent - log(order - 1) - log(delta)
    is_clear = abs(gap) > _FLOAT_SLACK * 1e2 * (1 + float(rho))
    return gap < 0 if is_clear else rho_to_delta(rho, epsilon) <= delta


def gaussian_to_delta(mu: float, epsilon: float) -> float:
    """delta(epsilon) of a mu-Gaussian-private step, rounded up.

    Only for steps with a proof of Gaussian privacy, such as continuous Gaussian noise or a pure step; a
    zero-concentrated statement alone does not give one.
    """
    from scipy.special import log_ndtr

    first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    # The difference of the two terms carries the rounding of the larger one.
    return float(min(exp(first) * (-expm1(min(second - first, 0.0)) + _FLOAT_SLACK), 1.0))
