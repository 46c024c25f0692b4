"""Least noise: the optimum is checked from below by duality, and by rescaled and changed variances."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.margins import Margin, Workload, all_margins
from dalenius.algebra.moves import Part, exact_cost, grid_variances, moves
from dalenius.algebra.optimal import select

VECTOR = Workload((3, 4, 2), ((0, 1), (1, 2), (0,), (0, 1, 2)))


def in_units(variances: dict[Margin, float]) -> dict[Part, Fraction]:
    """Of the integer noise, without what is known."""
    return {(0, a): Fraction(v) * VECTOR.size(a) ** 2 for a, v in variances.items() if v}


@pytest.mark.parametrize("objective", ["weighted", "maximum"])
@pytest.mark.parametrize("is_public", [True, False])
def test_replace_optimum_beats_a_rescaled_one_and_fits(objective: str, is_public: bool) -> None:
    ways = moves(0, (0, 1, 2), is_replace=True, is_size_public=is_public)
    without = frozenset({()}) if is_public else frozenset()
    found = select(VECTOR, 1.0, ways, objective=objective, without=without)
    grid = grid_variances(VECTOR.shape, in_units(found), Fraction(1), ways)
    assert Fraction(9999, 10000) < exact_cost(VECTOR.shape, grid, ways) <= 1
    naive = select(VECTOR, 1.0, objective=objective, without=without)
    scale = float(exact_cost(VECTOR.shape, in_units(naive), ways))
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
