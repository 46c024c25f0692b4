"""Bounds learned before clipped totals: their law is the exponential mechanism at the stated epsilon, and all of it is booked."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.measurements._example import CELLS, LISTS
from dalenius.measurements.learned_bounds import LearnedBounds

LARGEST, DRAWS = 4, 1_500
STEP = LearnedBounds(name="bounds", space=CELLS, queries=LISTS, largest=LARGEST, epsilon=Fraction(2), q=Fraction(3, 4))


def chances(values: list[int]) -> np.ndarray:
    """From the formula alone: exp(-epsilon s(y) / 2 max(q, 1 - q)), s the distance of q n from the ranks of y; 0 counts as 1."""
    sizes, y = np.abs(values), np.arange(LARGEST + 1)
    below, upto = (sizes < y[:, None]).sum(1), (sizes <= y[:, None]).sum(1)
    rank = 0.75 * len(values)
    score = np.maximum(0, np.maximum(below - rank, rank - upto))
    weights = np.exp(-2 * score / (2 * 0.75))
    weights[1] += weights[0]
    weights[0] = 0
    return np.asarray(weights / weights.sum())


def test_bounds_are_drawn_by_the_law_of_the_stated_epsilon() -> None:
    lists = [[0, 1, -2], [3, -4, 3, 1]][: CELLS.size] + [[2]] * (CELLS.size - 2)
    exact = tuple(Sealed(np.array(values, dtype=np.int64)) for values in lists)
    rng = RecordedRandomness("learned bounds")
    drawn = []
    for _ in range(DRAWS):
        outcome = STEP.run(exact, STEP.draw(rng), rng)  # type: ignore[func-returns-value]
        assert isinstance(outcome, Value)
        drawn.append(outcome.values)
    for cell, values in enumerate(lists):
        seen = np.bincount(np.array(drawn)[:, cell], minlength=LARGEST + 1) / DRAWS
        law = chances(values)
        assert (np.abs(seen - law) < 4.5 * np.sqrt(law * (1 - law) / DRAWS) + 1e-12).all(), cell


@pytest.mark.parametrize(("relation", "rows", "touched"), [("add-remove", 1, 1), ("add-remove", 3, 3), ("replace", 1, 2), ("replace", 3, 6)])  # fmt: skip
def test_every_selection_that_a_unit_touches_is_booked(relation: str, rows: int, touched: int) -> None:
    profile = STEP.profile(Neighbours(relation=Relation(relation), max_rows=rows))
    assert (profile.epsilon, profile.rho) == (2 * touched, Fraction((2 * touched) ** 2, 8))
