"""A table of medians: the loss of the whole table over all neighbours of tiny data, exactly."""

from fractions import Fraction
from itertools import combinations_with_replacement
from math import log

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import TooLarge
from dalenius.exact.quantile_selection import probabilities, score_weights
from dalenius.measurements.quantile_table import QuantileTable

ROWS = [(cell, value) for cell in range(2) for value in range(3)]


def table(relation: Relation, q: Fraction, rows: int = 1, cells: int = 2) -> QuantileTable:
    space = CellSpace((Axis(variable="c", labels=tuple(str(i) for i in range(cells))),))
    return QuantileTable(
        name="median",
        space=space,
        queries=tuple(ValuesQuery(value="v") for _ in range(cells)),
        low=0,
        high=2,
        epsilon=Fraction(1),
        neighbours=Neighbours(relation=relation, max_rows=rows, unit="person"),
        q=q,
    )


def law(made: QuantileTable, data: tuple[tuple[int, int], ...]) -> list[list[Fraction]]:
    weights = score_weights(made.cell_epsilon, made._change, made.low, made.high)
    return [
        probabilities(np.array([v for c, v in data if c == cell], dtype=np.int64), 0, 2, made.q, weights)
        for cell in range(2)
    ]


def loss(made: QuantileTable, one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> float:
    """Largest log ratio of the pair of answers; cells answer independently."""
    return sum(
        max(abs(log(p / r)) for p, r in zip(here, there, strict=True))
        for here, there in zip(law(made, one), law(made, other), strict=True)
    )


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
def test_the_whole_table_loses_at_most_epsilon(relation: Relation, q: Fraction, rows: int) -> None:
    made = table(relation, q, rows)
    persons = [p for n in range(rows + 1) for p in combinations_with_replacement(ROWS, n)]
    worst = 0.0
    for n in range(3):
        for base in combinations_with_replacement(ROWS, n):
            laws: dict[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]] = {p: base + p for p in persons}
            if relation is Relation.ADD_REMOVE:
                worst = max(worst, *(loss(made, base, data) for data in laws.values()))
            elif rows == 1:
                worst = max(worst, *(loss(made, a, b) for a in laws.values() for b in laws.values()))
            else:
                few = list(laws.values())[::3]
                worst = max(worst, *(loss(made, a, b) for a in few for b in few))
    assert worst <= 1 + 1e-9
    if q == Fraction(1, 2) and rows == 1:
        assert worst > 0.45  # half of the claim would be seen to be false


def test_prices_at_other_neighbours_are_in_proportion() -> None:
    made = table(Relation.ADD_REMOVE, Fraction(1, 2))
    assert made.profile(Neighbours()).epsilon == 1
    assert made.profile(Neighbours(relation=Relation.REPLACE)).epsilon == 2
    assert made.profile(Neighbours(max_rows=3, unit="person")).epsilon == 3
    assert table(Relation.REPLACE, Fraction(1, 2)).profile(Neighbours(relation=Relation.REPLACE)).epsilon == 1


def test_answers_are_near_the_medians_of_large_cells_and_exist_for_empty_ones() -> None:
    made = table(Relation.ADD_REMOVE, Fraction(1, 2))
    full = np.sort(np.array([1] * 200 + [2] * 20, dtype=np.int64))
    outcome = made.run((Sealed(full), Sealed(np.array([], dtype=np.int64))), None, RecordedRandomness(1))
    assert isinstance(outcome, Value)
    assert outcome.values[0] == 1 and 0 <= outcome.values[1] <= 2


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(TooLarge):
        table(Relation.ADD_REMOVE, Fraction(1, 2), cells=501)
