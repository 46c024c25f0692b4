"""Shapes of values for which errors are predicted, before data are read.

With t the distance of a value from its lower bound in parts of the width, a shape b has the density b (1 - t)^(b - 1):
values are spread evenly for b = 1, and for b = 5 they are skewed, with their mean at a sixth of the range.
"""

from math import comb, factorial

EVEN, SKEWED = 1, 5


def mean_power(low: int, high: int, power: int, shape: int = EVEN) -> float:
    """Mean of a power of a value between two ends.

    >>> [mean_power(-3, 3, power) for power in (1, 2)], mean_power(0, 12, 1, SKEWED)
    ([0.0, 3.0], 2.0)
    """
    if shape == EVEN:
        # A quotient of differences loses no digits where the ends are far from zero.
        ends = (float(high) ** (power + 1), float(low) ** (power + 1))
        return (ends[0] - ends[1]) / ((power + 1) * float(high - low)) if high > low else float(low) ** power
    width = float(high - low)
    return sum(comb(power, k) * float(low) ** (power - k) * width**k / comb(shape + k, k) for k in range(power + 1))


def mean_bernstein(degree: int, place: int, shape: int = EVEN) -> float:
    """Mean of C(d, i) t^i (1 - t)^(d - i).

    >>> [mean_bernstein(2, i) for i in range(3)], sum(mean_bernstein(4, i, SKEWED) for i in range(5))
    ([0.3333333333333333, 0.3333333333333333, 0.3333333333333333], 1.0)
    """
    ways = comb(degree, place) * shape * factorial(place) * factorial(degree - place + shape - 1)
    return ways / factorial(degree + shape)
