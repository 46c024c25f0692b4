"""Declared sensitivity of numbers of persons by size against exhaustive neighbours, groups included."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import Clip, Norm, TableQuery
from dalenius.statistics.person_sizes import PersonSizes

CLIPS = tuple(Clip(norm=Norm.L1, limit=limit) for limit in (1, 2))


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("group", [1, 2])
def test_declared_is_measured_over_all_neighbours(relation: Relation, group: int) -> None:
    statistic = PersonSizes.of(TableQuery(space=CellSpace(())), CLIPS, ["1", "2"])
    assert statistic.labels == ("≤ 1", "≤ 2", "> 2")
    # By rows of a person in the table: none, one, two or three.
    classes = {0: (0, 0, 0), 1: (1, 0, 0), 2: (0, 1, 0), 3: (0, 0, 1)}
    groups = [np.sum([classes[n] for n in g], axis=0) for g in combinations_with_replacement(classes, group)]
    others = groups if relation is Relation.REPLACE else [np.zeros(3, dtype=int)]
    changes = np.abs([a - b for a, b in product(groups, others)])
    declared = statistic.sensitivity(Neighbours(relation=relation, unit="person", max_rows=3).grouped(group))
    assert (declared.l1, declared.linf) == (changes.sum(axis=1).max(), changes.max())
    assert declared.l2_squared == (changes**2).sum(axis=1).max()
    assert declared.l0 >= (changes > 0).sum(axis=1).max()
