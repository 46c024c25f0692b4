"""Ways of change: lengths of shifts by brute force over pairs of records, and the price of the worst way."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dalenius.algebra.margins import Workload, all_margins, centre, sum_out
from dalenius.algebra.moves import ALONE, exact_cost, moves, shift_length
from dalenius.algebra.optimal import select
from dalenius.errors import TooLarge

VECTOR = Workload((3, 4, 2), ((0, 1), (1, 2), (0,), (0, 1, 2)))


def record(shape: tuple[int, ...], cell: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape)
    out[cell] = 1
    return out


def test_shift_lengths_by_brute_force_over_all_pairs() -> None:
    shape = (3, 2, 4)
    cells = list(product(*(range(n) for n in shape)))
    for margin in all_margins(3):
        size = int(np.prod([shape[a] for a in margin]))
        for j in cells:
            one = size * centre(sum_out(record(shape, j), (0, 1, 2), margin))
            assert (one**2).sum() == pytest.approx(shift_length(shape, margin, None))
            for k in cells:
                pattern = frozenset(a for a in range(3) if j[a] != k[a])
                if pattern:
                    other = one - size * centre(sum_out(record(shape, k), (0, 1, 2), margin))
                    assert (other**2).sum() == pytest.approx(shift_length(shape, margin, pattern))


def test_replace_cost_of_the_published_vector() -> None:
    found = select(VECTOR, 1.0)
    grid = {(0, a): Fraction(v) * VECTOR.size(a) ** 2 for a, v in found.items() if a}
    ways = moves(0, (0, 1, 2), is_replace=True, is_size_public=True)
    costs = {way: float(exact_cost(VECTOR.shape, grid, (way,))) for way in ways}
    assert max(costs.values()) == pytest.approx(2.064496, abs=5e-7)
    assert max(costs, key=lambda way: costs[way]) == (1, frozenset({0, 2}))


def test_without_a_public_size_an_added_record_counts_too() -> None:
    assert ALONE in moves(0, (0,), is_replace=True, is_size_public=False)
    assert ALONE not in moves(0, (0,), is_replace=True, is_size_public=True)
    assert moves(0, (0, 1), is_replace=False, is_size_public=True) == (ALONE,)
    with pytest.raises(TooLarge):
        moves(0, range(40), is_replace=True, is_size_public=False)
