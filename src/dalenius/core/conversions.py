"""Conversions between privacy statements, tight where a tight one is known; every result is rounded up.

References: Bun & Steinke (2016); Canonne, Kamath & Steinke (2020), Proposition 7 and Lemma 9.
"""

from fractions import Fraction
from functools import lru_cache
from math import exp, log

from dalenius.core.exact import exp_lower, exp_upper, log_upper, round_up

_GRID = 10**15


@lru_cache(maxsize=4096)
def pure_to_rho(epsilon: Fraction) -> Fraction:
    """rho of an epsilon-DP step: epsilon * tanh(epsilon / 2), which randomised response attains."""
    shrink = exp_lower(-epsilon)
    return round_up(epsilon * (1 - shrink) / (1 + shrink), _GRID)


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
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 1 + high


@lru_cache(maxsize=4096)
def rho_to_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """delta(epsilon) of a rho-zCDP step: min over a > 1 of exp((a-1)(a rho - epsilon)) (1-1/a)^a / (a-1)."""
    if rho == 0:
        return Fraction(0)
    order = Fraction(_order_float(float(rho), float(epsilon))).limit_denominator(10**6)
    order = max(order, 1 + Fraction(1, 10**6))
    exponent = (order - 1) * (order * rho - epsilon) + order * log_upper(1 - 1 / order)
    exponent = round_up(exponent, 10**12)
    bits = 96 + max(0, int(-exponent * 3 // 2))
    return min(Fraction(1), round_up(exp_upper(exponent, bits) / (order - 1), 10**40))


@lru_cache(maxsize=4096)
def rho_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Smallest epsilon (rounded up) at which a rho-zCDP step is (epsilon, delta)-DP by `rho_to_delta`."""
    low, high = Fraction(0), rho + 2 * Fraction((float(rho) * log(1 / float(delta))) ** 0.5) + 1
    while rho_to_delta(rho, high) > delta:
        high *= 2
    while high - low > Fraction(1, 10**9):
        middle = round_up((low + high) / 2, 10**12)
        low, high = (low, middle) if rho_to_delta(rho, middle) <= delta else (middle, high)
    return high


def epsilon_to_odds(epsilon: float) -> float:
    """Largest factor by which a release can change anybody's odds about one unit."""
    return exp(epsilon)
