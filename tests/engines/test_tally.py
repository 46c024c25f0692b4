"""Exact aggregates at the edges of int64."""

from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from dalenius.core.domain import Axis, Bounds, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import LIMIT, WIDEST, Aggregate, Clip, Norm, Power, RowFunction, TableQuery
from dalenius.engines._tally import Tally
from dalenius.errors import ParameterError, TooLarge, Unsupported


def domain_up_to(high: int, low: int = 0) -> Domain:
    value = Variable(name="x", domain=Bounds(lower=Fraction(low), upper=Fraction(high)))
    return Domain(name="d", population="p", version="1", variables={"x": value}, neighbours=Neighbours())


def total(domain: Domain, values: list[int], repeats: int = 1, exponent: int = 1, **more: int) -> int:
    function = RowFunction.of(Power("x", exponent=exponent))
    tally = Tally(query=TableQuery(space=CellSpace(()), function=function, **more), domain=domain)
    for _ in range(repeats):
        tally.add({"x": np.array(values, dtype=np.int64)})
    return int(tally.result()[0])


def test_sums_are_exact_far_above_the_precision_of_floats() -> None:
    high = 2**52
    assert total(domain_up_to(high), [high, high, 1]) == 2**53 + 1
    assert total(domain_up_to(high, -high), [-high, -1, high, -high]) == -high - 1
    assert total(domain_up_to(2**30), [2**30] * 3, exponent=2) == 3 * 2**60


def test_a_sum_beyond_the_limit_is_clamped_and_does_not_wrap() -> None:
    high = 2**52
    assert total(domain_up_to(high), [high] * 1000, repeats=2) == LIMIT
    assert total(domain_up_to(high, -high), [-high] * 1000, repeats=2) == -LIMIT
    assert total(domain_up_to(high), [high] * 512, repeats=1) == 2**61


def test_sums_beyond_64_bits_are_halved_after_all_batches() -> None:
    high = isqrt(WIDEST) - 2_000_000
    values, domain = [high, -high, high - 1, 1, 0], domain_up_to(high, -high)
    for halvings in (28, 29, 30, 31, 32, 33, 59, 60, 61, 64, 88, 95, 130):
        for repeats in (1, 2, 7):
            exact = repeats * (sum(x * x for x in values) - 5 * 10**20)
            expected = max(-LIMIT, min(LIMIT, (exact + 2 ** (halvings - 1)) >> halvings))
            assert total(domain, values, repeats, exponent=2, shift=10**20, halvings=halvings) == expected


@pytest.mark.parametrize("halvings", [0, 1, 2, 20, 31, 32, 33, 61])
@pytest.mark.parametrize("high", [3, 2**40])
def test_halves_go_up_and_negative_sums_are_floored(halvings: int, high: int) -> None:
    for values in ([-1], [-high, 1], [high], [high, 1], [-high, -1], [-high] * 3, []):
        exact = sum(values)
        expected = (exact + 2**halvings // 2) // 2**halvings
        assert total(domain_up_to(high, -high), values, halvings=halvings) == expected


def test_what_could_overflow_is_refused_from_the_declaration() -> None:
    wide, x = domain_up_to(2**40), Power("x")
    whole = TableQuery(space=CellSpace(()))
    squares = replace(whole, function=RowFunction.of(x, x))
    with pytest.raises(TooLarge):
        squares.largest(wide)
    assert replace(squares, halvings=20).largest(wide) == 2**80
    with pytest.raises(TooLarge):
        replace(squares, halvings=17).largest(wide)
    with pytest.raises(TooLarge):
        replace(whole, function=RowFunction.of(replace(x, exponent=3)), halvings=99).largest(wide)
    with pytest.raises(TooLarge):
        replace(whole, function=RowFunction.of(replace(x, slope=2**30, offset=-(2**69))), halvings=9).largest(wide)
    with pytest.raises(TooLarge):
        replace(whole, function=RowFunction(multiple=2**62), halvings=30).largest(wide)
    with pytest.raises(ParameterError):
        replace(whole, aggregate=Aggregate.MAXIMUM).largest(wide)
    for wrong in ({"halvings": 1}, {"clip": Clip(norm=Norm.L1, limit=1)}):
        with pytest.raises(Unsupported):
            replace(whole, function=RowFunction.of(x), aggregate=Aggregate.MAXIMUM, **wrong).largest(wide)  # type: ignore[arg-type]
    with pytest.raises(Unsupported):
        replace(whole, function=RowFunction.of(x), aggregate=Aggregate.PERSONS).largest(wide)


def test_many_axes_that_a_row_leaves_do_not_wrap_around() -> None:
    names = [f"v{i}" for i in range(40)]
    variables = {n: Variable(name=n, domain=Bounds(lower=Fraction(0), upper=Fraction(1))) for n in names}
    domain = Domain(name="d", population="p", version="1", variables=variables, neighbours=Neighbours())
    axes = tuple(Axis(variable=n, labels=("in",), cuts=(0, 1)) for n in names)
    tally = Tally(query=TableQuery(space=CellSpace(axes)), domain=domain)
    tally.add({n: np.array([0, 1, 1], dtype=np.int64) for n in names})
    assert tally.result().tolist() == [1]
