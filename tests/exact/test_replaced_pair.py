"""Which pair is the worst under replace: the claim holds up to one standard deviation, and by brute force inside it."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np

from dalenius.exact.replaced_pair import is_dominated
from dalenius.exact.resampled_loss import poisson_weights

P = np.array(poisson_weights())
X = np.arange(-60, 120)


def law(shift: int, variance: float) -> np.ndarray:
    """sum_k Poisson(1)(k) N(k shift, variance) on the integers."""
    noise = np.exp(-(np.arange(-300, 300) ** 2) / (2 * variance)).sum()
    k = np.arange(len(P))
    return np.exp(-((X[:, None] - k * shift) ** 2) / (2 * variance)) @ P / noise


def test_the_pair_is_proved_up_to_one_standard_deviation_and_not_beyond() -> None:
    for sigma, shifts in ((1, [1]), (30, [1, 10, 25, 30]), (5000, [10, 500, 5000])):
        assert all(is_dominated(Fraction(s), Fraction(sigma**2)) for s in shifts)
    assert not is_dominated(Fraction(31), Fraction(30**2))
    assert not is_dominated(Fraction(1), Fraction(1, 2))


def test_no_replacement_inside_the_bounds_is_seen_more_easily_than_that_of_the_ends() -> None:
    """Brute force over all pairs of integers in [-3, 3], both orders, against (3, -3)."""
    assert is_dominated(Fraction(3), Fraction(9))
    laws = {u: law(u, 9.0) for u in range(-3, 4)}
    for g in (1.0, 1.3, 2.0, exp(1.5), exp(3), exp(6)):
        most = np.maximum(laws[3] - g * laws[-3], 0).sum()
        for u, w in product(laws, repeat=2):
            assert np.maximum(laws[u] - g * laws[w], 0).sum() <= most + 1e-15
