"""Least noise: the optimum is checked from below by duality, the exact cost by brute force over pairs of records."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dalenius.algebra.margins import Workload, all_margins, centre, sum_out
from dalenius.algebra.optimal import exact_cost, grid_variances, patterns, select, shift_length
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
    grid = {a: Fraction(v) * VECTOR.size(a) ** 2 for a, v in found.items() if a}
    moves = patterns((0, 1, 2), is_replace=True, is_size_public=True)
    costs = {s: float(exact_cost(VECTOR.shape, grid, (s,))) for s in moves}
    assert max(costs.values()) == pytest.approx(2.064496, abs=5e-7)
    assert max(costs, key=lambda s: costs[s]) == frozenset({0, 2})


def test_without_a_public_size_an_added_record_counts_too() -> None:
    assert None in patterns((0,), is_replace=True, is_size_public=False)
    assert None not in patterns((0,), is_replace=True, is_size_public=True)
    assert patterns((0, 1), is_replace=False, is_size_public=True) == (None,)
    with pytest.raises(TooLarge):
        patterns(range(40), is_replace=True, is_size_public=False)


@pytest.mark.parametrize("objective", ["weighted", "maximum"])
@pytest.mark.parametrize("is_public", [True, False])
def test_replace_optimum_beats_a_rescaled_one_and_fits(objective: str, is_public: bool) -> None:
    moves = patterns((0, 1, 2), is_replace=True, is_size_public=is_public)
    without = frozenset({()}) if is_public else frozenset()
    found = select(VECTOR, 1.0, moves, objective=objective, without=without)
    grid = grid_variances(VECTOR, found, Fraction(1), moves)
    assert Fraction(9999, 10000) < exact_cost(VECTOR.shape, grid, moves) <= 1
    naive = select(VECTOR, 1.0, objective=objective, without=without)
    scale = float(
        exact_cost(VECTOR.shape, {a: Fraction(v) * VECTOR.size(a) ** 2 for a, v in naive.items() if v}, moves)
    )
    rescaled = {a: v * scale for a, v in naive.items()}
    judge = VECTOR.worst if objective == "maximum" else VECTOR.rmse
    assert judge(found) <= judge(rescaled) * (1 + 1e-9)


def test_largest_variance_is_smaller_than_under_the_sum() -> None:
    workload = Workload((11, 2, 21, 5, 12, 9, 5), all_margins(7, 3, 1))
    by_sum, by_worst = select(workload, 1.0), select(workload, 1.0, objective="maximum")
    assert workload.worst(by_worst) < workload.worst(by_sum) / 2
    assert workload.rmse(by_worst) > workload.rmse(by_sum)


def test_random_changes_do_not_improve_the_optimum() -> None:
    rng = np.random.default_rng(1)
    found = select(VECTOR, 1.0, objective="maximum")
    best = VECTOR.worst(found)
    for _ in range(300):
        tried = {a: v * float(np.exp(rng.normal(0, 0.05))) for a, v in found.items()}
        cost = sum(VECTOR.share(a) / v for a, v in tried.items())
        assert VECTOR.worst({a: v * cost for a, v in tried.items()}) >= best * (1 - 1e-7)
