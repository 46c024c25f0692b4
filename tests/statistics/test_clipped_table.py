"""Declared sensitivity of clipped tables against exhaustive neighbours, groups of persons and several rows included."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import isqrt

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import Clip, Norm, Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge
from dalenius.statistics.clipped_table import ClippedTable

AXIS = Axis(variable="v", labels=("a", "b"), codes=(0, 1, -1))  # the third value is outside the table
CLIPS = (
    Clip(norm=Norm.L1, limit=3, fineness=2),
    Clip(norm=Norm.L1, limit=7, fineness=3),
    Clip(norm=Norm.L2, limit=7, fineness=5),
    Clip(norm=Norm.L2, limit=2),
)
Row = tuple[int, int]
Person = tuple[Row, ...]


def added(person: Person, clip: Clip) -> "np.ndarray":
    """What a person adds, worked out from the definition with rationals."""
    steps: Counter[int] = Counter()
    for cell, value in person:
        steps[cell] += value
    vector = [steps[cell] for cell in (0, 1)]
    norm_squared = Fraction(sum(map(abs, vector)) ** 2 if clip.norm is Norm.L1 else sum(x * x for x in vector))
    if norm_squared * clip.fineness**2 <= clip.limit**2:
        return np.array([x * clip.fineness for x in vector])
    scaled = [Fraction(x * x * clip.limit**2) / norm_squared for x in vector]
    return np.array([(-1 if x < 0 else 1) * isqrt(int(s)) for x, s in zip(vector, scaled, strict=True)])


def largest(relation: Relation, rows: int, group: int, values: tuple[int, ...], clip: Clip) -> tuple[int, ...]:
    """Norms of the largest change, over all groups of so many persons; rows in the third cell do not count."""
    kinds = tuple(product((0, 1), values))
    everyone = [p for n in range(rows + 1) for p in combinations_with_replacement(kinds, n)]
    vectors = {tuple(added(person, clip).tolist()) for person in everyone}
    groups = {tuple(np.sum(g, axis=0).tolist()) for g in combinations_with_replacement(sorted(vectors), group)}
    others = groups if relation is Relation.REPLACE else {(0, 0)}
    changes = np.abs([np.subtract(a, b) for a, b in product(groups, others)])
    return (
        int((changes > 0).sum(axis=1).max()),
        int(changes.sum(axis=1).max()),
        int((changes**2).sum(axis=1).max()),
        int(changes.max()),
    )


def norms(declared: Sensitivity) -> tuple[int, int, int, int]:
    return declared.l0, int(declared.l1), int(declared.l2_squared), int(declared.linf)


def table(low: int, high: int, clip: Clip) -> ClippedTable:
    query = TableQuery(space=CellSpace((AXIS,)), function=RowFunction.of(Power("x")), clip=clip)
    return ClippedTable(query=query, clip=clip, low=low, high=high)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("clip", CLIPS, ids=str)
@pytest.mark.parametrize("values", [(1,), (0, 2), (-1, 2)], ids=str)
@pytest.mark.parametrize(("rows", "group"), [(1, 1), (3, 1), (2, 2)])
def test_declared_covers_measured_over_all_neighbours(
    relation: Relation, clip: Clip, values: tuple[int, ...], rows: int, group: int
) -> None:
    neighbours = Neighbours(relation=relation, max_rows=rows, unit="person").grouped(group)
    declared = norms(table(min(values), max(values), clip).sensitivity(neighbours))
    measured = largest(relation, rows, group, values, clip)
    assert all(d >= m for d, m in zip(declared, measured, strict=True)), (declared, measured)


@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_the_limit_is_reached(clip: Clip) -> None:
    """Somebody beyond the limit moves one cell by all of it: less noise would be wrong."""
    assert largest(Relation.ADD_REMOVE, 3, 1, (0, 2), clip)[3] == clip.limit
    assert norms(table(0, 2, clip).sensitivity(Neighbours(unit="person", max_rows=3)))[3] == clip.limit


def test_a_query_that_clips_otherwise_and_units_too_large_for_an_engine_are_refused() -> None:
    with pytest.raises(ParameterError, match="as the statistic says"):
        ClippedTable(query=TableQuery(space=CellSpace((AXIS,))), clip=CLIPS[0])
    with pytest.raises(TooLarge, match=r"10\^18"):
        table(0, 10**15, CLIPS[3]).sensitivity(Neighbours(unit="person", max_rows=1000))
