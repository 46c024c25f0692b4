"""Hypothesis strategies for domains, raw rows and table queries, odd values included."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, TypeVar

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from dalenius.core.conditions import Filter
from dalenius.core.contracts import OneScanSource
from dalenius.core.domain import DROP, Axis, Bounds, Categories, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import Aggregate, Clip, Norm, Power, RowFunction, TableQuery, ValuesQuery
from dalenius.errors import TooLarge
from dalenius.testing import engine_kit
from dalenius.testing.toy import kit_domain

T = TypeVar("T")
LABELS = ("a", "b", "1", "2", "-3", "true", "0.5", "é", "x y", "drop it", "")
STEPS = (Fraction(1), Fraction(1, 2), Fraction(1, 100), Fraction(3), Fraction(1, 3), Fraction(1000))

ODD_TEXTS = (
    *("", " ", "nan", "NaN", "inf", "-inf", "1e400", "-1e-400", "0x10", "1_000", "12abc", "é", "٣", "1.0"),
    *("0.49999999999999999999", "2.50000000000000000001", "-99.499999999999999999"),
)
FLOATS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(min_value=-300, max_value=300),
    st.integers(-600, 600).map(lambda n: n / 2),
    st.integers(-30000, 30000).map(lambda n: n / 100),
)
INTEGERS = st.one_of(st.integers(-400, 400), st.integers(-(2**63), 2**63 - 1))
TEXTS = st.one_of(
    st.sampled_from(LABELS + ODD_TEXTS),
    st.integers(-400, 400).map(str),
    st.decimals(min_value=-400, max_value=400, places=3).map(str),
    st.text(max_size=6),
)
COLUMN_KINDS = {
    "integer": INTEGERS,
    "float": FLOATS,
    "boolean": st.booleans(),
    "text": TEXTS.filter(lambda text: text.isprintable()),
    "decimal": st.decimals(min_value=-400, max_value=400, places=2).map(lambda x: x.quantize(Decimal("0.01"))),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    domain: Domain
    columns: engine_kit.Columns
    tables: tuple[TableQuery, ...]
    values: tuple[ValuesQuery, ...] = ()


@st.composite
def variables(draw: st.DrawFn, name: str) -> Variable:
    """A declared variable, categorical or numeric."""
    if draw(st.booleans()):
        labels = tuple(draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=5, unique=True)))
        rules = st.sampled_from([DROP, *labels])
        codes = tuple(draw(st.lists(st.sampled_from([x for x in LABELS if x not in labels]), max_size=2, unique=True)))
        categories = Categories(labels=labels, missing=draw(rules), unseen=draw(rules), missing_codes=codes)
        return Variable(name=name, domain=categories)
    step = draw(st.sampled_from(STEPS))
    low = draw(st.integers(-200, 100))
    high = draw(st.integers(low, low + 300))
    missing = draw(st.sampled_from([DROP, str(low * step), str(high * step)]))
    outside = draw(st.sampled_from(["clamp", DROP]))
    codes = tuple(draw(st.lists(st.integers(low - 20, high + 20).map(lambda k: k * step), max_size=3, unique=True)))
    bounds = Bounds(
        lower=low * step, upper=high * step, step=step, missing=missing, outside=outside, missing_codes=codes
    )
    return Variable(name=name, domain=bounds)


@st.composite
def domains(draw: st.DrawFn, most: int = 4) -> Domain:
    """A domain of a few variables, with or without persons."""
    names = [f"v{i}" for i in range(draw(st.integers(2, most)))]
    has_persons = draw(st.booleans())
    declared = {name: draw(variables(name)) for name in names}
    relation = draw(st.sampled_from(list(Relation)))
    unit, rows = ("person", draw(st.integers(1, 3))) if has_persons else ("row", 1)
    return kit_domain(declared, Neighbours(relation=relation, unit=unit, max_rows=rows))


@st.composite
def columns(draw: st.DrawFn, domain: Domain, most: int = 25) -> dict[str, list[Any]]:
    """Raw columns for a domain: one type each, any of which may hold NULLs."""
    count = draw(st.integers(0, most))
    content: dict[str, list[Any]] = {}
    for name in domain.variables:
        kind = COLUMN_KINDS[draw(st.sampled_from(sorted(COLUMN_KINDS)))]
        content[name] = draw(st.lists(st.one_of(st.none(), kind), min_size=count, max_size=count))
    if domain.unit_id is not None:
        persons = st.sampled_from([None, 1, 2, 3, 4])
        content[domain.unit_id] = draw(st.lists(persons, min_size=count, max_size=count))
    return content


@st.composite
def axes(draw: st.DrawFn, variable: Variable) -> Axis:
    """An axis over a variable: some categories merged or left out, or cuts; at times with a label for the rest."""
    plain = draw(_plain_axes(variable))
    if not draw(st.booleans()):
        return plain
    return replace(plain, labels=(*plain.labels, "rest"), has_rest=True)


@st.composite
def _plain_axes(draw: st.DrawFn, variable: Variable) -> Axis:
    if isinstance(variable.domain, Bounds):
        low, high = variable.domain.low, variable.domain.high
        cuts = sorted(set(draw(st.lists(st.integers(low - 1, high + 2), min_size=2, max_size=5))) | {low})
        cuts = cuts if len(cuts) > 1 else [low, high + 1]
        return Axis(variable=variable.name, labels=tuple(f"c{i}" for i in range(len(cuts) - 1)), cuts=tuple(cuts))
    size = len(variable.categories)
    width = draw(st.integers(1, size))
    codes = tuple(draw(st.lists(st.integers(-1, width - 1), min_size=size, max_size=size)))
    return Axis(variable=variable.name, labels=tuple(f"g{i}" for i in range(width)), codes=codes)


@st.composite
def filters(draw: st.DrawFn, variable: Variable) -> Filter:
    if isinstance(variable.domain, Bounds):
        ends = st.one_of(st.none(), st.integers(variable.domain.low, variable.domain.high))
        return Filter(variable=variable.name, low=draw(ends), high=draw(ends))
    codes = st.lists(st.integers(0, len(variable.categories) - 1), min_size=1, unique=True)
    return Filter(variable=variable.name, codes=tuple(sorted(draw(codes))))


@st.composite
def row_functions(draw: st.DrawFn, domain: Domain, least: int = 0) -> RowFunction:
    """A product of a few powers of numeric variables; without any where a domain has none."""
    numeric = [v for v in domain.variables.values() if v.is_numeric]
    powers = []
    for _ in range(draw(st.integers(least, 3)) if numeric else 0):
        variable = draw(st.sampled_from(numeric))
        points = st.integers(variable.bounds.low, variable.bounds.high)
        low, high = sorted((draw(points), draw(points)))
        powers.append(
            Power(
                variable.name,
                exponent=draw(st.sampled_from((1, 1, 0, 2))),
                slope=draw(st.sampled_from((1, 1, -1, 3))),
                offset=draw(st.integers(-5, 5)),
                cut=draw(st.sampled_from((None, None, (low, high)))),
                halvings=draw(st.sampled_from((0, 0, 1, 3))),
            )
        )
    return RowFunction.of(*powers, multiple=draw(st.sampled_from((1, 1, -1, 7))))


def clips() -> st.SearchStrategy[Clip]:
    """A bound on what a unit adds to all cells together: mostly one that some units are beyond."""
    limits = st.one_of(st.integers(1, 60), st.integers(1, 10**6))
    return st.builds(Clip, norm=st.sampled_from(Norm), limit=limits, fineness=st.sampled_from((1, 10, 1000)))


@st.composite
def table_queries(draw: st.DrawFn, domain: Domain) -> TableQuery:
    """Any aggregate over any axes of a domain."""
    names = list(domain.variables)
    chosen = draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
    space_axes = tuple(draw(axes(domain.variables[name])) for name in chosen)
    plain = CellSpace(space_axes)
    cells = st.tuples(*(st.integers(0, size - 1) for size in plain.shape))
    zeros = frozenset(draw(st.lists(cells, max_size=2))) if chosen else frozenset()
    where = tuple(
        draw(filters(domain.variables[name]))
        for name in draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    )
    has_numbers = any(variable.is_numeric for variable in domain.variables.values())
    aggregate = draw(st.sampled_from(list(Aggregate) if has_numbers else (Aggregate.SUM, Aggregate.PERSONS)))
    is_sum, is_persons = aggregate is Aggregate.SUM, aggregate is Aggregate.PERSONS
    function = RowFunction() if is_persons else draw(row_functions(domain, least=0 if is_sum else 1))
    query = TableQuery(
        space=CellSpace(space_axes, zeros),
        where=where,
        aggregate=aggregate,
        function=function,
        shift=0 if is_persons else draw(st.integers(-5, 5)),
        halvings=draw(st.sampled_from((0, 0, 1, 2, 20, 40))) if is_sum else 0,
        clip=draw(st.one_of(st.none(), clips())) if is_sum else None,
    )
    # What engines could not hold is refused before a row is read; a count never is.
    try:
        query.largest(domain)
    except TooLarge:
        return replace(query, function=RowFunction.present(*function.variables), shift=0, aggregate=Aggregate.SUM)
    return query


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A data set and questions of every kind; a wide one shows many columns for one opening."""
    is_wide = draw(st.booleans())
    domain = draw(domains(most=9 if is_wide else 4))
    numeric = [name for name, variable in domain.variables.items() if variable.is_numeric]
    conditions = st.sampled_from(list(domain.variables.values())).flatmap(filters)
    return Case(
        domain=domain,
        columns=draw(columns(domain, most=40 if is_wide else 12)),
        tables=tuple(draw(table_queries(domain)) for _ in domain.variables),
        values=tuple(ValuesQuery(value=name, where=(draw(conditions),)) for name in numeric[:2]),
    )


@cache
def generated(count: int) -> tuple[Case, ...]:
    """So many cases, the same in every run and for every engine: drawn once in a process."""
    return tuple(different(cases(), count))


def different(strategy: st.SearchStrategy[T], count: int) -> Iterator[T]:
    """So many draws, each from a seed of its own: the runs of one seed are variations of each other."""
    for number in range(count):
        yield _drawn(strategy, number)


def _drawn(strategy: st.SearchStrategy[T], number: int) -> T:
    """The second run of a seed; the first is the simplest, whatever the seed."""
    runs: list[T] = []

    @seed(number)
    @settings(max_examples=2, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(value: T) -> None:
        runs.append(value)

    collect()
    return runs[-1]


def check_cases(factory: engine_kit.Factory, cases: Iterable[Case]) -> None:
    """Every call on every case; an engine opens a data set once."""
    for case in cases:
        pair = engine_kit.SourcePair.opened(factory, case.domain, case.columns)
        for query in case.tables:
            pair.check_table(query)
            if query.clip is not None:
                pair.check_sizes(query)
        if isinstance(pair.source, OneScanSource):
            for taken, query in zip(pair.source.tables(case.tables), case.tables, strict=True):
                both = (taken.open_below_the_gate(), pair.source.table(query).open_below_the_gate())
                np.testing.assert_array_equal(*both, err_msg="tables of one scan")
        for values in case.values:
            pair.check_values(values)
        pair.check_scan()
        pair.check_judgement()
