"""Shapes of values for which errors are predicted, before data are read.

With t the distance of a value from its lower bound in parts of the width, a shape b has the density b (1 - t)^(b - 1):
values are spread evenly for b = 1, and for b = 5 they are skewed, with their mean at a sixth of the range. Evenly
spread values of two variables are independent; of skewed ones three rows of four have both at the same t.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import comb, factorial, prod

EVEN, SKEWED = 1, 5
# Of such values 99 of 100 lie in the lowest tenth, or the lowest hundredth, between the ends.
TENTH, HUNDREDTH = 44, 458
TAILS = (EVEN, TENTH, HUNDREDTH)
_TOGETHER = {EVEN: 0.0, SKEWED: 0.75, TENTH: 0.75, HUNDREDTH: 0.75}
Factor = tuple[int, int, int]


@lru_cache(maxsize=1024)
def mean_power(low: int, high: int, power: int, shape: int = EVEN) -> float:
    """Mean of a power of a value between two ends.

    >>> [mean_power(-3, 3, power) for power in (1, 2)], mean_power(0, 12, 1, SKEWED)
    ([0.0, 3.0], 2.0)
    """
    if shape == EVEN:
        # A quotient of differences loses no digits where the ends are far from zero.
        ends = (float(high) ** (power + 1), float(low) ** (power + 1))
        return (ends[0] - ends[1]) / ((power + 1) * float(high - low)) if high > low else float(low) ** power
    return sum(each / comb(shape + k, k) for k, each in enumerate(_coefficients((low, high, power))))


def mean_product(factors: Sequence[Factor], shape: int = EVEN) -> float:
    """Mean of a product of powers of several values, each between ends of its own.

    >>> mean_product([(0, 6, 1), (0, 6, 1)]), round(mean_product([(0, 6, 1), (0, 6, 1)], SKEWED), 9)
    (9.0, 1.535714286)
    """
    apart, together = prod(mean_power(*each, shape) for each in factors), _TOGETHER[shape]
    if not together or len(factors) < 2:
        return apart
    polynomial = [1.0]
    for each in factors:
        polynomial = _times(polynomial, _coefficients(each))
    mean = sum(each / comb(shape + power, power) for power, each in enumerate(polynomial))
    return (1 - together) * apart + together * mean


def mean_bernstein(degrees: Sequence[int], place: Sequence[int], shape: int = EVEN) -> float:
    """Mean of the product of C(d, i) t^i (1 - t)^(d - i) of several values.

    >>> [mean_bernstein([2], [i]) for i in range(2)], sum(mean_bernstein([4], [i], SKEWED) for i in range(5))
    ([0.3333333333333333, 0.3333333333333333], 1.0)
    """
    apart, together = prod(_mean_beta(d, i, shape) for d, i in zip(degrees, place, strict=True)), _TOGETHER[shape]
    if not together or len(degrees) < 2:
        return apart
    ways = prod(comb(d, i) for d, i in zip(degrees, place, strict=True)) / comb(sum(degrees), sum(place))
    return (1 - together) * apart + together * ways * _mean_beta(sum(degrees), sum(place), shape)


@lru_cache(maxsize=1024)
def _mean_beta(degree: int, place: int, shape: int) -> float:
    ways = comb(degree, place) * shape * factorial(place) * factorial(degree - place + shape - 1)
    return ways / factorial(degree + shape)


def _coefficients(factor: Factor) -> list[float]:
    """Of the powers of t in (low + width t)^power."""
    low, high, power = factor
    return [comb(power, k) * float(low) ** (power - k) * float(high - low) ** k for k in range(power + 1)]


def _times(first: Sequence[float], second: Sequence[float]) -> list[float]:
    made = [0.0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            made[i + j] += a * b
    return made
