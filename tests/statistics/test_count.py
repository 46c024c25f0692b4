"""Declared sensitivity of frequency tables against exhaustive neighbours."""

from collections import Counter
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.statistics.count import Count

AXIS = Axis(variable="v", labels=("a", "b"), codes=(0, 1, -1))  # the third value is outside the table


def tables(persons: tuple[tuple[int, ...], ...]) -> np.ndarray:
    counts = Counter(AXIS.codes[v] for rows in persons for v in rows)
    return np.array([counts[0], counts[1]])


def persons(most_rows: int) -> list[tuple[int, ...]]:
    """Every person: a multiset of up to `most_rows` rows over three values."""
    return [p for n in range(most_rows + 1) for p in combinations_with_replacement(range(3), n)]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_declared_equals_measured_over_all_neighbours(relation: Relation, rows: int) -> None:
    neighbours = Neighbours(relation=relation, max_rows=rows, unit="person")
    declared = Count(TableQuery(space=CellSpace((AXIS,)))).sensitivity(neighbours)
    changes = []
    everyone = persons(rows)
    for others in combinations_with_replacement(everyone, 1):
        for old, new in product(everyone, everyone):
            if relation is Relation.ADD_REMOVE:
                changes.append(tables((*others, old)) - tables(others))
            else:
                changes.append(tables((*others, old)) - tables((*others, new)))
    measured = np.abs(np.array(changes))
    assert measured.sum(axis=1).max() == declared.l1
    assert (measured**2).sum(axis=1).max() == declared.l2_squared
    assert measured.max() == declared.linf
    assert (measured > 0).sum(axis=1).max() == declared.l0
    assert declared.patterns is not None
    for change in {tuple(sorted(c, reverse=True)) for c in measured.tolist()}:
        padded = [p + (0,) * (2 - len(p)) for p in declared.patterns]
        assert any(all(c <= p for c, p in zip(change, pattern, strict=True)) for pattern in padded)


def test_one_cell_under_replace_moves_by_one() -> None:
    query = TableQuery(space=CellSpace(()))
    assert Count(query).sensitivity(Neighbours(relation=Relation.REPLACE)).l1 == 1


@pytest.mark.parametrize("relation", list(Relation))
def test_norms_without_patterns_continue_the_patterns(relation: Relation) -> None:
    axis = Axis(variable="v", labels=tuple("abcdefghij" * 4), codes=tuple(range(40)))
    query = TableQuery(space=CellSpace((axis,)))
    small = Count(query).sensitivity(Neighbours(relation=relation, max_rows=12))
    large = Count(query).sensitivity(Neighbours(relation=relation, max_rows=13))
    assert small.patterns is not None and large.patterns is None
    assert (large.l1 / 13, large.l2_squared / 169, large.linf / 13) == (
        small.l1 / 12,
        small.l2_squared / 144,
        small.linf / 12,
    )
