"""Declared sensitivity of numbers of persons against exhaustive neighbours, groups of persons included."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import Aggregate, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics.persons import Persons

AXIS = Axis(variable="v", labels=("a", "b"), codes=(0, 1, -1))  # the third value is outside the table
Person = tuple[int, ...]


def table(persons: tuple[Person, ...]) -> "np.ndarray":
    return np.array([sum(cell in rows for rows in persons) for cell in (0, 1)])


def largest(relation: Relation, rows: int, group: int) -> tuple[int, int, int, int]:
    """Norms of the largest change, over all groups of so many persons."""
    everyone = [p for n in range(rows + 1) for p in combinations_with_replacement(range(3), n)]
    groups = list(combinations_with_replacement(everyone, group))
    nobody = [((),) * group] if relation is Relation.ADD_REMOVE else groups
    changes = np.abs([table(old) - table(new) for old, new in product(groups, nobody)])
    return (
        int((changes > 0).sum(axis=1).max()),
        int(changes.sum(axis=1).max()),
        int((changes**2).sum(axis=1).max()),
        int(changes.max()),
    )


def norms(declared: Sensitivity) -> tuple[int, int, int, int]:
    return declared.l0, int(declared.l1), int(declared.l2_squared), int(declared.linf)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("group", [1, 2])
def test_declared_covers_measured_over_all_neighbours(relation: Relation, rows: int, group: int) -> None:
    neighbours = Neighbours(relation=relation, max_rows=rows, unit="person").grouped(group)
    query = TableQuery(space=CellSpace((AXIS,)), aggregate=Aggregate.PERSONS)
    declared, measured = norms(Persons(query).sensitivity(neighbours)), largest(relation, rows, group)
    assert all(d >= m for d, m in zip(declared, measured, strict=True))
    if group == 1:
        assert declared == measured
