"""Persons made of odd rows in two tables, and keys of public tables: every feature and lookup that a document can
declare.

A factory is `(domain, columns, others, secret) -> Source`. Two hundred small data sets are told apart by a feature, so
that one statement of an engine answers for all of them.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from tests.engines.stacked_data import SETS, stacked_columns

from dalenius.core.conditions import Filter
from dalenius.core.contracts import Source
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.query import Aggregate, Power, RowFunction, TableQuery, ValuesQuery
from dalenius.engines.memory import MemorySource
from dalenius.spec.load import load_dataset
from dalenius.testing import engine_kit

Columns = Mapping[str, Sequence[Any]]
FeatureFactory = Callable[[Domain, Columns, Mapping[str, Columns], bytes], Source]
_DAYS = (
    *("2020-01-05", "2020-01-05 10:00:00", "20200105", "2019-12-31T", "2020-1-5", "soon", "٢٠٢٠-01-01"),
    *("", "2031-01-01"),
)
_ZONES = [
    ["a", "north", "2000-01-01", "2020-01-01"],
    ["a", "south", "2020-01-01", ""],
    ["é", "north", "", "2020-01-05"],
    ["quo'te", "south", "", ""],
]
_RECORDS: Mapping[str, Any] = {
    "set": {"categories": [str(number) for number in range(SETS)]},
    "word": {"categories": ["a", "é", "e\u0301", "", "quo'te", "other"], "unseen": "other", "missing": "a"},
    "code": {"categories": {"1": "one", "2": "two", "-3": "minus three"}, "missing": "two"},
    "ratio": {"categories": ["0.5", "1", "0", "inf"], "unseen": "1"},
    "flag": {"categories": ["true", "false"], "missing": "false"},
    "region": {
        "column": "code",
        "categories": ["x", "y", "unknown"],
        "lookup": {"entries": [["1", "x"], ["2", "y"], ["9223372036854775807", "x"]], "unmatched": "unknown"},
    },
    "zone": {
        "column": "word",
        "categories": ["north", "south"],
        "lookup": {"entries": _ZONES, "by": "when", "unmatched": "drop"},
    },
    "price": {"categories": ["1.5", "2", "0"], "unseen": "2"},
    "day": {"dates": ["1900-01-01", "2024-02-29"]},
    "when": {"dates": ["2000-01-01", "2030-12-31"]},
    "age": {"bounds": [0, 100], "step": 1, "outside": "drop"},
    "huge": {"bounds": [-(10**18), 10**18], "step": 1000},
    "amount": {"bounds": [-50, 1000], "step": "1/2", "missing": 0},
    "cost": {"bounds": [0, 50], "step": 1, "table": "stays"},
    "kind": {"categories": ["short", "long"], "table": "stays"},
    "begin": {"dates": ["2000-01-01", "2030-12-31"], "table": "stays"},
}
_IN_DOUBT = ("zone", "price")
_VARIABLES: Mapping[str, Any] = {
    "set": {"feature": {"take": "min"}},
    "ever": {"feature": {"take": "any", "where": {"word": ["a", "quo'te"]}}},
    "always": {"feature": {"take": "all", "where": {"age": {"at_least": 1, "at_most": 100}}}},
    "odd": {"feature": {"take": "any", "where": {"ratio": ["0.5", "inf"], "flag": "true"}}},
    "rows": {"feature": {"take": "count"}, "bounds": [0, 3]},
    "coded": {"feature": {"take": "count", "where": {"code": ["one", "two"]}}, "bounds": [1, 9]},
    "total": {"feature": {"take": "sum", "of": "huge"}, "bounds": [-(10**18), 10**18]},
    "spent": {"feature": {"take": "sum", "of": "amount"}, "bounds": [-60, 900]},
    "youngest": {"feature": {"take": "min", "of": "age"}, "missing": 7},
    "eldest": {"feature": {"take": "max", "of": "age", "where": {"flag": "true"}}, "bounds": [10, 90]},
    "early": {"feature": {"take": "first", "of": "code", "by": "day"}, "missing": "minus three"},
    "late": {"feature": {"take": "first", "of": "amount", "by": "when"}},
    "then": {"feature": {"take": "first", "of": "huge", "by": "day", "where": {"when": {"at_least": 20200101}}}},
    "home": {"feature": {"take": "first", "of": "region", "by": "when"}},
    "stays": {"feature": {"take": "count", "table": "stays"}, "bounds": [0, 4]},
    "stayed": {"feature": {"take": "any", "where": {"kind": "long"}}},
    "cost": {"feature": {"take": "sum"}, "bounds": [5, 100]},
    "kind": {"feature": {"take": "first", "by": "begin"}},
}
_LOOKUPS: Mapping[str, Any] = {
    "set": {"categories": [str(number) for number in range(SETS)]},
    "region": _RECORDS["region"],
    "zone": _RECORDS["zone"],
    "income": {
        "column": "word",
        "bounds": [0, 10],
        "step": "1/2",
        "missing": 3,
        "lookup": {"entries": [["a", "2.5"], ["é", "99"], ["A", "seven"], ["", "1"]], "unmatched": 4},
    },
    "rate": {
        "column": "code",
        "bounds": [0, 10],
        "step": 1,
        "lookup": {"entries": [["1", "1"], ["-3", "9"]], "unmatched": "drop"},
    },
}


@cache
def feature_domain() -> Domain:
    """Persons with every kind of feature, of two tables."""
    document = {
        "dataset": {"name": "persons", "population": "persons"},
        "unit": {"id": "person"},
        "tables": {"stays": {"id": "patient"}},
        "records": {name: part for name, part in _RECORDS.items() if name not in _IN_DOUBT},
        "variables": _VARIABLES,
        "structural_zeros": [{"ever": "yes", "stayed": "yes"}],
    }
    return load_dataset(document).domain()


@cache
def doubtful_domain() -> Domain:
    """Return persons of whom no database decides everything: decimal categories, dated lookups."""
    document = {
        "dataset": {"name": "doubtful", "population": "persons"},
        "unit": {"id": "person"},
        "records": {name: _RECORDS[name] for name in ("set", *_IN_DOUBT)},
        "variables": {
            "set": {"feature": {"take": "min"}},
            "place": {"feature": {"take": "max", "of": "zone"}},
            "paid": {"feature": {"take": "count", "where": {"price": ["1.5", "2"]}}, "bounds": [0, 2]},
        },
    }
    return load_dataset(document).domain()


@cache
def lookup_domain(*, has_persons: bool) -> Domain:
    """Rows whose values are keys."""
    unit = {"unit": {"id": "person", "max_rows": 2}} if has_persons else {}
    document = {"dataset": {"name": "keys", "population": "keys"}, "variables": _LOOKUPS, **unit}
    return load_dataset(document).domain()


@cache
def feature_columns() -> tuple[Columns, Mapping[str, Columns]]:
    """The rows of two tables; some persons stand in one of them only."""
    draw = random.Random(20260202)
    own = dict(stacked_columns())
    rows = len(own["set"])
    own["when"] = [None if draw.random() < 0.1 else draw.choice(_DAYS) for _ in range(rows)]
    # A person is in one of the stacked sets.
    own["set"] = [s if p is None else int(p.split(":")[0]) for s, p in zip(own["set"], own["person"], strict=True)]
    persons = sorted({p for p in own["person"] if p is not None})
    stays: dict[str, list[Any]] = {"patient": [], "kind": [], "cost": [], "begin": []}
    for _ in range(rows // 2):
        stays["patient"].append(draw.choice((None, "nobody", *persons)))
        stays["kind"].append(draw.choice((None, "short", "long", "other")))
        stays["cost"].append(draw.choice((None, 0, 7, 51, -(2**63))))
        stays["begin"].append(draw.choice((None, *_DAYS)))
    return own, {"stays": stays}


def _axis(domain: Domain, name: str) -> Axis:
    labels = domain.variable(name).categories.labels
    return Axis(variable=name, labels=labels, codes=tuple(range(len(labels))))


def _queries(domain: Domain) -> list[TableQuery]:
    """Each variable within each data set: counts of categories, and every sum and extreme of numbers."""
    each = _axis(domain, "set")
    queries = []
    for name, variable in domain.variables.items():
        if name == "set":
            queries.append(TableQuery(space=CellSpace((each,))))
        elif variable.is_numeric:
            for aggregate in (Aggregate.SUM, Aggregate.MINIMUM):
                queries.append(
                    TableQuery(space=CellSpace((each,)), aggregate=aggregate, function=RowFunction.of(Power(name)))
                )
        else:
            queries.append(TableQuery(space=CellSpace((each, _axis(domain, name)))))
    return queries


def check_features(factory: FeatureFactory, *, is_short: bool = False) -> None:
    """Every feature of persons in two tables, equal to the memory engine; in short, without the custodian's report."""
    domain, (own, others) = feature_domain(), feature_columns()
    expected = MemorySource(domain, own, engine_kit.SECRET, others=others)
    source = factory(domain, own, others, engine_kit.SECRET)
    where = (Filter(variable="stays", low=1), Filter(variable="ever", codes=(1,)))
    each = _axis(domain, "set")
    # Every variable of every person is in the scan; tables and values are other roads to the same persons.
    tables = [
        TableQuery(space=CellSpace((each, _axis(domain, "kind"), _axis(domain, "ever")))),
        TableQuery(space=CellSpace(()), function=RowFunction.of(Power("spent")), where=where),
    ]
    values = [ValuesQuery(value="then", where=where)]
    _check(source, expected, tables[-1:] if is_short else tables, [] if is_short else values, is_short)
    domain = doubtful_domain()
    expected = MemorySource(domain, own, engine_kit.SECRET)
    _check(factory(domain, own, {}, engine_kit.SECRET), expected, [], [], is_short)


def check_lookups(factory: FeatureFactory, *, has_persons: bool, is_short: bool = False) -> None:
    """Values that are looked up, as of a day as well, equal to the memory engine."""
    domain, (own, _) = lookup_domain(has_persons=has_persons), feature_columns()
    expected = MemorySource(domain, own, engine_kit.SECRET)
    source = factory(domain, own, {}, engine_kit.SECRET)
    where = (Filter(variable="zone", codes=(1,)),)
    queries = [
        *_queries(domain),
        TableQuery(space=CellSpace(()), function=RowFunction.of(Power("income")), where=where),
    ]
    if is_short:
        queries = queries[-1:]
    _check(source, expected, queries, [ValuesQuery(value="income", where=where)], is_short)


def _check(
    source: Source, expected: Source, tables: list[TableQuery], values: list[ValuesQuery], is_short: bool
) -> None:
    pair = engine_kit.SourcePair(source, expected)
    for query in tables:
        pair.check_table(query)
    for question in values:
        pair.check_values(question)
    pair.check_scan()
    if not is_short:
        pair.check_judgement()
