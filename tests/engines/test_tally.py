"""Exact aggregates at the edges of int64."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.domain import Axis, Bounds, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Aggregate, TableQuery
from dalenius.engines._tally import LIMIT, Tally, largest_contribution
from dalenius.errors import ParameterError, TooLarge, Unsupported


def domain_up_to(high: int, low: int = 0) -> Domain:
    value = Variable(name="x", domain=Bounds(lower=Fraction(low), upper=Fraction(high)))
    return Domain(name="d", population="p", version="1", variables={"x": value}, neighbours=Neighbours())


def total(domain: Domain, values: list[int], repeats: int = 1, aggregate: Aggregate = Aggregate.TOTAL) -> int:
    tally = Tally(query=TableQuery(space=CellSpace(()), aggregate=aggregate, value="x"), domain=domain)
    for _ in range(repeats):
        tally.add({"x": np.array(values, dtype=np.int64)})
    return int(tally.result()[0])


def test_sums_are_exact_far_above_the_precision_of_floats() -> None:
    high = 2**52
    assert total(domain_up_to(high), [high, high, 1]) == 2**53 + 1
    assert total(domain_up_to(high, -high), [-high, -1, high, -high]) == -high - 1
    assert total(domain_up_to(2**30), [2**30] * 3, aggregate=Aggregate.SUM_OF_SQUARES) == 3 * 2**60


def test_a_sum_beyond_the_limit_is_clamped_and_does_not_wrap() -> None:
    high = 2**52
    assert total(domain_up_to(high), [high] * 1000, repeats=2) == LIMIT
    assert total(domain_up_to(high, -high), [-high] * 1000, repeats=2) == -LIMIT
    assert total(domain_up_to(high), [high] * 512, repeats=1) == 2**61


def test_contributions_that_could_overflow_are_refused_from_the_declaration() -> None:
    wide = domain_up_to(2**40)
    query = TableQuery(space=CellSpace(()), aggregate=Aggregate.SUM_OF_SQUARES, value="x")
    with pytest.raises(TooLarge):
        largest_contribution(query, wide)
    with pytest.raises(TooLarge):
        largest_contribution(TableQuery(space=CellSpace(()), aggregate=Aggregate.TOTAL, value="x", weight="x"), wide)
    with pytest.raises(ParameterError):
        largest_contribution(TableQuery(space=CellSpace(()), aggregate=Aggregate.TOTAL), wide)
    with pytest.raises(Unsupported):
        largest_contribution(TableQuery(space=CellSpace(()), aggregate=Aggregate.MAXIMUM, value="x", weight="x"), wide)


def test_many_axes_that_a_row_leaves_do_not_wrap_around() -> None:
    names = [f"v{i}" for i in range(40)]
    variables = {n: Variable(name=n, domain=Bounds(lower=Fraction(0), upper=Fraction(1))) for n in names}
    domain = Domain(name="d", population="p", version="1", variables=variables, neighbours=Neighbours())
    axes = tuple(Axis(variable=n, labels=("in",), cuts=(0, 1)) for n in names)
    tally = Tally(query=TableQuery(space=CellSpace(axes)), domain=domain)
    tally.add({n: np.array([0, 1, 1], dtype=np.int64) for n in names})
    assert tally.result().tolist() == [1]
