"""Two hundred small data sets in one, told apart by a variable: one statement of an engine answers for all of them.

Every kind of column that engines hold meets every kind of declaration, and every odd value that is known to be read
differently by different databases is among the values: NaN, infinities, -0.0, NULL, ties between two steps, doubles
whose shortest decimal is disputed, the ends of 64 bits, amounts of 10^18, dates, texts that look like numbers, and
persons with many rows.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import isqrt
from typing import Any

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.contracts import ListingSource, Source
from dalenius.core.domain import DROP, Axis, Bounds, Categories, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import WIDEST, Aggregate, Clip, LabelsQuery, Norm, Power, RowFunction, TableQuery, ValuesQuery
from dalenius.engines.memory import MemorySource
from dalenius.testing import engine_kit
from dalenius.testing.toy import kit_domain

SETS = 200
_ROWS = 9
# Two powers of this size make the largest product that a row may add.
_WIDE = isqrt(WIDEST) - 1
_FLOATS = (0.0, -0.0, 0.25, 0.5, 0.75, 1.0, -1.25, 0.1, 999.75, 1000.0, 1000.25, 1e23, 2.0**-44, 5e-324, -5e-324)
_ODD_FLOATS = (float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 9007199254740993.0, 12.0, 36.5, -50.0)
_TEXTS = ("1", "2", "1.5", "-7", "007", "+3", ".5", "5.", " 7 ", "1e2", "1e400", "-1e-400", "333333333333333333", "0.1")
_WORDS = ("a", "é", "e\u0301", "A", "", " ", "x y", "٣", "nan", "inf", "a ", "quo'te", "日本")

_UNLISTED = "word"

_POOLS: Mapping[str, Sequence[Any]] = {
    "word": _WORDS,
    "code": (1, 2, -3, 4, 0, 2**63 - 1, -(2**63)),
    "ratio": (0.5, 1.0, -0.0, 0.0, 2.0, 1e16, 0.1, float("nan"), float("inf")),
    "flag": (True, False),
    "price": tuple(map(Decimal, ("1.50", "2.00", "0.00", "-0.25", "99999999.99"))),
    "day": (date(2020, 1, 1), date(1999, 12, 31), date(2024, 2, 29), date(1, 1, 1)),
    "age": (-1, 0, 1, 34, 35, 99, 100, 101, 2**63 - 1, -(2**63)),
    "huge": (10**18, -(10**18), 10**18 + 500, 1500, 2500, 0, 499, 2**63 - 1, -(2**63), 999_999_999_999_999_500),
    "big": (10**9, 10**9 + 1, 999_999_999, 0, -1, 3),
    "amount": _FLOATS + _ODD_FLOATS,
    "cents": tuple(map(Decimal, ("0.00", "0.01", "12.34", "-0.01", "100.00", "100.01", "49.99"))),
    "typed": _TEXTS + _WORDS,
    "yes": (True, False),
    "weight": (0, 1, 2, 3, 4),
    "wide": (_WIDE, -_WIDE, _WIDE - 1, 2**44 + 1, -12_345_678_901, 1, -1, 0, 2**63 - 1, -(2**63)),
    "far": (_WIDE, -_WIDE, 1 - _WIDE, 3, -2, 0, 2**30, 2**30 - 1, -(2**30)),
}


def _categories(*labels: str, missing: str = DROP, unseen: str = DROP, codes: tuple[str, ...] = ()) -> Categories:
    return Categories(labels=labels, missing=missing, unseen=unseen, missing_codes=codes)


def _bounds(lower: int, upper: int, step: str = "1", codes: tuple[str, ...] = (), **rules: str) -> Bounds:
    ends, missing = (Fraction(lower), Fraction(upper)), tuple(map(Fraction, codes))
    return Bounds(lower=ends[0], upper=ends[1], step=Fraction(step), missing_codes=missing, **rules)


_DOMAINS: Mapping[str, Categories | Bounds] = {
    "word": _categories("a", "é", "e\u0301", "", "x y", "other", unseen="other", missing="a", codes=("A", "quo'te")),
    "code": _categories("1", "2", "-3", missing="2", codes=("4",)),
    "ratio": _categories("0.5", "1", "0", "10000000000000000", "inf", missing="0", codes=("0.1",)),
    "flag": _categories("true", "false", missing="false"),
    "price": _categories("1.5", "2", "0", "-0.25", unseen="2", codes=("99999999.99",)),
    "day": _categories("2020-01-01", "1999-12-31", "2024-02-29"),
    "age": _bounds(0, 100, outside="drop", codes=("99", "-1", "101")),
    "huge": _bounds(-(10**18), 10**18, "1000"),
    "big": _bounds(0, 10**9),
    "amount": _bounds(-50, 1000, "1/2", missing="0", codes=("999.75", "0.1", "12", "1/3")),
    "cents": _bounds(0, 100, "1/100", outside="drop", codes=("49.99", "100.01")),
    "typed": _bounds(-9, 900, "1/3", missing="-9", codes=("7", "0.1", "-7")),
    "yes": _bounds(0, 1),
    "weight": _bounds(0, 3),
    "wide": _bounds(-_WIDE, _WIDE, missing="-1"),
    "far": _bounds(-_WIDE, _WIDE, outside="drop"),
}


@cache
def stacked_domain(*, has_persons: bool) -> Domain:
    """Declarations of every kind, and the number of the data set."""
    sets = Categories(labels=tuple(str(number) for number in range(SETS)))
    variables = {"set": Variable(name="set", domain=sets)}
    variables |= {
        name: Variable(name=name, domain=domain, is_unlisted=name == _UNLISTED) for name, domain in _DOMAINS.items()
    }
    neighbours = Neighbours(unit="person", max_rows=2) if has_persons else Neighbours()
    return kit_domain(variables, neighbours, structural_zeros=({"flag": ("true",), "code": ("1",)},))


@cache
def stacked_columns() -> Mapping[str, Sequence[Any]]:
    """The rows of all data sets; a tenth of the values are missing, and some persons have many rows."""
    draw = random.Random(20260101)
    columns: dict[str, list[Any]] = {"set": [], "person": [], **{name: [] for name in _POOLS}}
    for number in range(SETS):
        for _ in range(draw.randrange(0, 2 * _ROWS)):
            columns["set"].append(number)
            columns["person"].append(draw.choice((None, *(f"{number}:{who}" for who in "aabbcdé"))))
            for name, pool in _POOLS.items():
                columns[name].append(None if draw.random() < 0.1 else draw.choice(pool))
    return columns


def _axis(name: str) -> Axis:
    if name == "set":
        return Axis(variable="set", labels=tuple(map(str, range(SETS))), codes=tuple(range(SETS)))
    labels = _DOMAINS[name].labels  # type: ignore[union-attr]
    return Axis(variable=name, labels=labels, codes=tuple(range(len(labels))))


def _cut(name: str, *cuts: int) -> Axis:
    return Axis(variable=name, labels=tuple(f"from {cut}" for cut in cuts[:-1]), cuts=cuts)


def _rest(axis: Axis) -> Axis:
    return replace(axis, labels=(*axis.labels, "the rest"), has_rest=True)


def table_queries() -> list[TableQuery]:
    """Every aggregate, over every kind of column."""
    each = _axis("set")
    counts = [
        TableQuery(space=CellSpace((each, _axis("word"), _axis("flag")))),
        TableQuery(space=CellSpace((each, _axis("code"), _axis("day")))),
        TableQuery(space=CellSpace((each, _axis("ratio"), _axis("price")))),
        TableQuery(space=CellSpace((each, _rest(_axis("day")), _rest(_cut("age", 1, 35, 100))))),
        TableQuery(space=CellSpace((each, _cut("age", 0, 1, 35, 100, 101))), function=RowFunction.present("huge")),
        TableQuery(
            space=CellSpace((each, _cut("amount", -100, 0, 1, 2, 1999, 2001))), function=RowFunction.of(Power("weight"))
        ),
        TableQuery(
            space=CellSpace((each, _cut("typed", -27, 0, 5, 300))),
            where=(Filter(variable="cents", high=5000), Filter(variable="code", codes=(0, 2))),
        ),
    ]
    persons = [
        TableQuery(space=CellSpace((each, _axis("word"), _axis("ratio"))), aggregate=Aggregate.PERSONS),
        TableQuery(
            space=CellSpace((each, _rest(_cut("age", 1, 35, 100)), _cut("amount", -100, 0, 1, 2001))),
            aggregate=Aggregate.PERSONS,
            where=(Filter(variable="code", codes=(0, 2)), Filter(variable="weight", low=1)),
        ),
    ]
    clipped = [
        TableQuery(
            space=CellSpace((each, _axis("word"), _axis("flag"))),
            where=(Filter(variable="weight", low=1),),
            clip=Clip(norm=Norm.L2, limit=12, fineness=10),
        ),
        TableQuery(
            space=CellSpace((each, _axis("code"))),
            function=RowFunction.of(Power("amount")),
            clip=Clip(norm=Norm.L1, limit=900, fineness=3),
        ),
        TableQuery(
            space=CellSpace((each, _axis("ratio"))),
            function=RowFunction.of(Power("huge")),
            clip=Clip(norm=Norm.L2, limit=10**15 + 7),
        ),
    ]
    sums = [
        TableQuery(space=CellSpace((each,)), function=RowFunction.of(Power("huge"))),
        TableQuery(space=CellSpace(()), function=RowFunction.of(Power("big", exponent=2))),
        TableQuery(space=CellSpace((each,)), function=RowFunction.of(Power("big", exponent=2, offset=-7))),
        TableQuery(space=CellSpace((each,)), function=RowFunction.of(Power("amount", offset=5), Power("yes"))),
        TableQuery(space=CellSpace((each,)), function=RowFunction.of(Power("typed"), Power("cents"))),
    ]
    extremes = [
        TableQuery(space=CellSpace((each,)), aggregate=Aggregate.MINIMUM, function=RowFunction.of(Power("cents"))),
        TableQuery(space=CellSpace((each,)), aggregate=Aggregate.MAXIMUM, function=RowFunction.of(Power("huge"))),
        TableQuery(
            space=CellSpace((each,)),
            aggregate=Aggregate.LARGEST_ABSOLUTE,
            function=RowFunction.of(Power("typed", offset=-3)),
        ),
    ]
    return counts + sums + _halved_queries() + extremes + persons + clipped


def _halved_queries() -> list[TableQuery]:
    """Sums that 64 bits do not hold, up to what one row may add, and sums that they do; halved and below zero."""
    each, some = CellSpace((_axis("set"),)), (Filter(variable="age", low=1), Filter(variable="word", codes=(0, 1, 5)))
    wide, far, near = Power("wide"), Power("far"), (-(2**43), 2**43)

    def query(halvings: int, *powers: Power, multiple: int = 1, **more: Any) -> TableQuery:
        halved = TableQuery(space=each, function=RowFunction.of(*powers, multiple=multiple), halvings=halvings)
        return replace(halved, **more)

    return [
        query(28, replace(wide, exponent=2)),
        query(28, wide, far, where=some),
        query(60, replace(far, exponent=2), space=CellSpace(())),
        query(30, replace(wide, cut=near, exponent=2), Power("weight", exponent=2), where=some[:1]),
        query(30, replace(wide, cut=near, offset=2**43), replace(wide, cut=near, slope=-1, offset=2**43)),
        query(20, replace(wide, slope=-1, offset=-_WIDE), multiple=2**20 - 1, shift=2**65 + 1),
        query(60, replace(wide, halvings=24, exponent=4), multiple=7, shift=5 * 2**80),
        query(30, replace(far, halvings=23, offset=3, exponent=3), Power("weight"), where=some[:1]),
        query(1, wide, multiple=2**18 - 1),
        query(2, far, multiple=1 - 2**19),
        query(1, Power("typed"), shift=3),
        query(2, Power("amount", offset=-700), Power("weight", slope=2, offset=1)),
        query(20, Power("huge"), shift=2**40),
        query(1, where=some),
        query(2, Power("amount"), Power("weight"), shift=1, clip=Clip(norm=Norm.L2, limit=700, fineness=2)),
        query(0, Power("amount"), Power("weight"), aggregate=Aggregate.MAXIMUM),
    ]


def value_queries() -> list[ValuesQuery]:
    """Sorted values, of all rows and of some."""
    where = (Filter(variable="age", low=1, high=99), Filter(variable="word", codes=(0, 1, 5)))
    return [ValuesQuery(value="amount"), ValuesQuery(value="typed", where=where)]


@cache
def _expected(has_persons: bool) -> MemorySource:
    return MemorySource(stacked_domain(has_persons=has_persons), stacked_columns(), engine_kit.SECRET)


def check_stacked(factory: engine_kit.Factory, *, has_persons: bool) -> None:
    """Every call on all data sets at once, equal to the memory engine; the data are opened once."""
    domain, columns = stacked_domain(has_persons=has_persons), stacked_columns()
    expected, source = _expected(has_persons), factory(domain, columns, engine_kit.SECRET)
    pair = engine_kit.SourcePair(source, expected)
    for query in table_queries():
        pair.check_table(query)
    asked = [query for query in table_queries() if query.clip is not None]
    for query in asked[:2]:
        pair.check_sizes(query)
    for question in value_queries():
        pair.check_values(question)
    if isinstance(source, ListingSource):
        lists = source.lists(value_queries())
        for listed, question in zip(lists, value_queries(), strict=True):
            both = (listed.open_below_the_gate(), expected.values(question).open_below_the_gate())
            np.testing.assert_array_equal(*both, err_msg=f"values of {question.value}, read with others")
    for most in (1, 2) if has_persons else (1,):
        check_labels(source, expected, LabelsQuery(variable=_UNLISTED, most=most))
    pair.check_scan()
    pair.check_judgement()


def check_labels(source: Source, expected: Source, query: LabelsQuery) -> None:
    """Texts that are not declared, letter by letter, in the same order and with the same numbers."""
    received = source.labels(query).open_below_the_gate()
    assert received == expected.labels(query).open_below_the_gate(), "texts that are not declared"
    assert [text for text, _ in received] == sorted(text for text, _ in received)


def check_many_categories(factory: engine_kit.Factory, count: int = 100_000) -> None:
    """A list of categories that no statement could spell out."""
    labels = tuple(str(number) for number in range(count))
    variable = Variable(name="code", domain=Categories(labels=labels))
    domain = kit_domain({"code": variable}, Neighbours())
    columns = {"code": [str(number) for number in range(0, count, 97)] + ["0", "none of them", None]}
    space = CellSpace((Axis(variable="code", labels=labels, codes=tuple(range(count))),))
    engine_kit.SourcePair.opened(factory, domain, columns).check_table(TableQuery(space=space))
