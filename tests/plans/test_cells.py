"""Values cell by cell: each cell by filters on its axes, and no more cells than are read one by one."""

from fractions import Fraction

import pytest

from dalenius.core.domain import Axis, Bounds, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.errors import TooLarge
from dalenius.plans.cells import cell_queries

NUMBER = Variable(name="x", domain=Bounds(lower=Fraction(0), upper=Fraction(9)))
DOMAIN = Domain(name="d", population="p", version="1", variables={"x": NUMBER}, neighbours=Neighbours())


def test_cell_queries_take_the_axes_apart() -> None:
    groups = Axis(variable="g", labels=("a", "b"), codes=(0, 1))
    ages = Axis(variable="age", labels=("young", "old"), cuts=(0, 50, 100))
    queries = cell_queries(DOMAIN, "x", CellSpace((groups, ages)))
    assert [(q.where[0].codes, q.where[1].low, q.where[1].high) for q in queries] == [
        ((0,), 0, 49),
        ((0,), 50, 99),
        ((1,), 0, 49),
        ((1,), 50, 99),
    ]
    wide = Axis(variable="g", labels=tuple(map(str, range(501))), codes=tuple(range(501)))
    with pytest.raises(TooLarge, match=r"Values of 'x' .* at most 500 cells; this one has 501. Leave out") as refused:
        cell_queries(DOMAIN, "x", CellSpace((wide,)))
    assert refused.value.detail == {"limit": 500, "received": 501}
