"""Totals, magnitude tables and frequency tables against exhaustive enumeration, both relations."""

from itertools import product

import numpy as np
import pytest

from dalenius.audit import sensitivity as brute
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.statistics.count import Count
from dalenius.statistics.magnitude_table import MagnitudeTable, Membership
from dalenius_lab.brute import everywhere

REPLACE = Neighbours(relation=Relation.REPLACE)
ADD_REMOVE = Neighbours(relation=Relation.ADD_REMOVE)
BOTH = pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=lambda n: str(n.relation))
BOUNDS = pytest.mark.parametrize(("low", "high"), [(0, 3), (-2, 1), (1, 3), (-3, -1)])
ONE = TableQuery(space=CellSpace(()))


def cells_query(cells: int) -> TableQuery:
    labels = tuple(f"c{i}" for i in range(cells))
    return TableQuery(space=CellSpace((Axis(variable="g", labels=labels, codes=tuple(range(cells))),)))


def test_a_count_of_a_property_is_a_total_of_zeros_and_ones():
    statistic = MagnitudeTable(query=ONE, low=0, high=1, is_complete=True)
    assert statistic.bootstrap([0] * 3, [0, 1, 0], REPLACE) == 1
    assert statistic.bootstrap([0] * 2, [0, 0], REPLACE) == statistic.bootstrap([0] * 3, [1, 1, 1], REPLACE) == 0


def test_several_rows_to_a_person():
    statistic = MagnitudeTable(query=ONE, low=-1, high=3, is_complete=True)
    persons = [c for k in range(3) for c in brute.multisets((-1, 0, 1, 2, 3), k)]
    added = max(abs(sum(p)) for p in persons)
    replaced = max(abs(sum(p) - sum(q)) for p, q in product(persons, persons))
    assert statistic.sensitivity(Neighbours(unit="person", max_rows=2)).l1 == added
    two = Neighbours(unit="person", max_rows=2, relation=Relation.REPLACE)
    assert statistic.sensitivity(two).l1 == replaced


def table_of(statistic: MagnitudeTable):
    return lambda rows: statistic.value([c for c, _ in rows], [v for _, v in rows])


@BOTH
@BOUNDS
@pytest.mark.parametrize(("cells", "is_complete"), [(1, True), (2, True), (3, True), (1, False), (2, False)])
def test_magnitude_table(neighbours, low, high, cells, is_complete):
    statistic = MagnitudeTable(query=cells_query(cells), low=low, high=high, is_complete=is_complete)
    function = table_of(statistic)
    owners = range(cells) if is_complete else range(-1, cells)
    universe = tuple(product(owners, (low, high)))
    found = 0
    for n in range(4):
        for data in brute.multisets(universe, n):
            local = brute.local(function, data, universe, neighbours.relation)
            found = max(found, local)
            owner, value = [c for c, _ in data], [v for _, v in data]
            stated = statistic.local(owner, value, neighbours)
            assert stated >= local
            if is_complete and (n or neighbours.is_replace):
                assert stated == local
            bootstrap = everywhere(function, set(data), n, neighbours.relation)
            assert statistic.bootstrap(owner, value, neighbours) == bootstrap
    assert found == statistic.sensitivity(neighbours).l1


def test_magnitude_norms_cover_all_pairs_of_persons():
    for low, high in ((0, 2), (-2, 2), (-1, 2)):
        statistic = MagnitudeTable(query=cells_query(3), low=low, high=high, is_complete=True)
        rows = list(product(range(3), (low, high)))
        persons = [c for k in range(3) for c in brute.multisets(rows, k)]
        tables = [np.array(table_of(statistic)(p)) for p in persons]
        for relation, pairs in (
            (Relation.ADD_REMOVE, [(t, 0 * t) for t in tables]),
            (Relation.REPLACE, list(product(tables, tables))),
        ):
            stated = statistic.sensitivity(Neighbours(unit="person", max_rows=2, relation=relation))
            moves = [np.abs(a - b) for a, b in pairs]
            assert stated.l1 == max(int(m.sum()) for m in moves)
            assert stated.l2_squared >= max(int((m**2).sum()) for m in moves)
            assert stated.linf == max(int(m.max()) for m in moves)


def test_public_membership_and_extremes():
    rng = np.random.default_rng(6)
    for _ in range(500):
        n, cells = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        owner, value = rng.integers(0, cells, n), rng.integers(-5, 9, n)
        statistic = MagnitudeTable(query=cells_query(cells), low=-5, high=8, is_complete=True)
        counts = np.bincount(owner, minlength=cells)
        minima = np.array([value[owner == c].min() if counts[c] else 8 for c in range(cells)])
        maxima = np.array([value[owner == c].max() if counts[c] else -5 for c in range(cells)])
        within = max(
            abs(int(a) - int(b)) for i, a in enumerate(value) for j, b in enumerate(value) if owner[i] == owner[j]
        )
        assert statistic.bootstrap(owner, value, REPLACE, Membership.PUBLIC) == within
        assert MagnitudeTable.from_extremes(counts, minima, maxima, Membership.PUBLIC)[0] == within
        private = statistic.bootstrap(owner, value, REPLACE, Membership.PRIVATE)
        whole = MagnitudeTable.from_extremes(counts, minima, maxima, Membership.PRIVATE)[0]
        assert whole >= private
        if len(set(owner.tolist())) > 1:
            assert whole == private
        wide = MagnitudeTable.from_extremes(counts, minima, maxima, Membership.PUBLIC, (-5, 8))[0]
        assert wide == 13


@BOTH
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_frequency_table(neighbours, cells):
    """The replace value is 2, not the 1 that O'Keefe and Charest print."""
    statistic = Count(cells_query(cells))
    universe = tuple(range(-1, cells))
    found = 0
    for n in range(5):
        for data in brute.multisets(universe, n):
            local = brute.local(statistic.value, data, universe, neighbours.relation)
            found = max(found, local)
            assert statistic.local(data, neighbours) == local
            bootstrap = everywhere(statistic.value, set(data), n, neighbours.relation)
            assert statistic.bootstrap(data, neighbours) == bootstrap
    assert found == statistic.sensitivity(neighbours).l1


def test_two_rows_in_two_cells_move_the_table_by_two():
    statistic = Count(cells_query(2))
    assert brute.distance(statistic.value((0, 0)), statistic.value((0, 1))) == 2
    assert statistic.bootstrap((0, 1), REPLACE) == 2
