"""Exhaustive neighbours: the enumeration itself, and counts on all data sets of at most four rows over three values."""

from fractions import Fraction

import pytest
from tests.audit.measured_sensitivity import check_statistic, data_sets, measured_sensitivity

from dalenius.audit.sensitivity import covers, units
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds, Categories, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics.count import Count
from dalenius_lab.attackers.exhaustive import neighbouring_pairs

ROWS = [("a",), ("b",), ("c",)]


def domain(relation: str, max_rows: int = 1, missing: str = "drop") -> Domain:
    return Domain(
        name="d",
        population="p",
        version="1",
        variables={"x": Variable(name="x", domain=Categories(labels=("a", "b", "c"), missing=missing))},
        neighbours=Neighbours(
            relation=Relation(relation), unit="row" if max_rows == 1 else "person", max_rows=max_rows
        ),
        unit_id=None if max_rows == 1 else "person",
    )


def space(codes: tuple[int, ...] = (0, 1, 2)) -> CellSpace:
    labels = tuple(f"l{i}" for i in range(max(codes) + 1))
    return CellSpace((Axis(variable="x", labels=labels, codes=codes),))


def test_how_many_there_are() -> None:
    assert len(list(data_sets(ROWS, 4))) == 1 + 3 + 6 + 10 + 15
    assert len(units(ROWS, 2)) == 3 + 6
    add = list(neighbouring_pairs(ROWS, 4, Neighbours()))
    assert len(add) == (1 + 3 + 6 + 10) * 3
    replace = list(neighbouring_pairs(ROWS, 4, Neighbours(relation=Relation.REPLACE)))
    assert len(replace) == (1 + 3 + 6 + 10) * 3
    assert all(len(second) - len(first) == 1 for first, second in add)
    assert all(len(second) == len(first) for first, second in replace)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("codes", [(0, 1, 2), (0, 0, 1), (0, -1, 1), (0, 0, 0)])
def test_counts_of_rows(relation: Relation, codes: tuple[int, ...]) -> None:
    query = TableQuery(space=space(codes))
    measured = check_statistic(Count(query), domain(relation), ROWS)
    if codes == (0, 1, 2):
        assert measured.l1 == (2 if relation is Relation.REPLACE else 1)


@pytest.mark.parametrize("relation", list(Relation))
def test_counts_with_conditions_drops_and_structural_zeros(relation: Relation) -> None:
    rows = [*ROWS, (None,)]
    where = (Filter(variable="x", codes=(0, 1)),)
    check_statistic(Count(TableQuery(space=space(), where=where)), domain(relation), rows, most=3)
    check_statistic(Count(TableQuery(space=space())), domain(relation, missing="b"), rows, most=3)
    zeros = CellSpace(space().axes, frozenset({(1,)}))
    check_statistic(Count(TableQuery(space=zeros)), domain(relation), ROWS)


@pytest.mark.parametrize("relation", list(Relation))
def test_counts_of_persons_with_several_rows(relation: Relation) -> None:
    """Persons bring up to three rows; the engine keeps two of them."""
    query = TableQuery(space=space())
    measured = check_statistic(Count(query), domain(relation, max_rows=2), ROWS, most=2, given_rows=3)
    assert measured.l1 == (4 if relation is Relation.REPLACE else 2)
    assert measured.linf == 2


def test_totals_move_by_the_bounds() -> None:
    value = Variable(name="v", domain=Bounds(lower=Fraction(-2), upper=Fraction(5)))
    numeric = Domain(name="d", population="p", version="1", variables={"v": value}, neighbours=Neighbours())
    query = TableQuery(space=CellSpace(()), function=RowFunction.of(Power("v")))
    rows = [(-9,), (0,), (99,)]
    assert measured_sensitivity(query, numeric, rows).l1 == 5
    replaced = Domain(
        name="d", population="p", version="1", variables={"v": value}, neighbours=Neighbours(relation=Relation.REPLACE)
    )
    assert measured_sensitivity(query, replaced, rows).l1 == 7


def test_an_understated_sensitivity_is_caught() -> None:
    true = measured_sensitivity(TableQuery(space=space()), domain("replace"), ROWS)
    assert covers(true, true)
    for change in ({"l0": 1}, {"l1": Fraction(1)}, {"l2_squared": Fraction(1)}, {"linf": Fraction(0)}):
        stated = {"l0": true.l0, "l1": true.l1, "l2_squared": true.l2_squared, "linf": true.linf} | change
        assert not covers(Sensitivity(**stated), true)  # type: ignore[arg-type]
