"""Features of persons and lookups: on the engines of this process, and between all neighbours of small data sets.

The servers' engines run the same kit in their own files.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest
from tests.engines.feature_data import Columns, check_features, check_lookups

from dalenius.audit.charges import ALLOWED, ratio_of
from dalenius.audit.steps import pair_of
from dalenius.core.conditions import Take
from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.curator.curator import Curator
from dalenius.engines import _features, _person_source
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError
from dalenius.spec.load import load_dataset
from dalenius.testing import engine_kit


def duckdb(domain: Domain, columns: Columns, others: Mapping[str, Columns], secret: bytes) -> Source:
    tables = {name: engine_kit.arrow(rows) for name, rows in others.items()}
    return DuckDBSource.open(domain, engine_kit.arrow(columns), secret, others=tables)


def test_every_feature_of_persons_in_two_tables() -> None:
    check_features(duckdb)


@pytest.mark.parametrize("has_persons", [False, True], ids=["rows", "persons"])
def test_lookups_in_public_tables(has_persons: bool) -> None:
    check_lookups(duckdb, has_persons=has_persons)


def _off_by_one(grouped: Any, domain: Domain, variable: Any) -> Any:
    codes = grouped.given(domain, variable)
    return codes + 1 if variable.feature.take is Take.COUNT else codes


@pytest.mark.parametrize("fault", ["one too many", "rows without a day come first", "another person"])
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    match fault:
        case "one too many":
            given = _features._PersonsOfTable.feature
            monkeypatch.setattr(_features._PersonsOfTable, "given", given, raising=False)
            monkeypatch.setattr(_features._PersonsOfTable, "feature", _off_by_one)
        case "rows without a day come first":
            monkeypatch.setattr(_features, "_AFTER_ALL", 0)
        case _:
            matched = _features._matched
            monkeypatch.setattr(_features, "_matched", lambda own, other: matched(own, other)[::-1])
    with pytest.raises(AssertionError):
        check_features(duckdb)


# Rows of a person: kind, cost (one far outside its bounds), day (one missing).
ROWS = (("a", 0, "2020-01-01"), ("a", 9, "2020-01-02"), ("b", 9, "2020-01-01"), ("b", 10**6, None))
STAYS: tuple[tuple[str, ...], ...] = ((), ("long",), ("short", "long", "long"))
DOCUMENT: Mapping[str, Any] = {
    "dataset": {"name": "persons", "population": "people"},
    "tables": {"stays": {}},
    "records": {
        "kind": {"categories": ["a", "b"]},
        "cost": {"bounds": [0, 9], "step": 1},
        "day": {"dates": ["2020-01-01", "2020-12-31"]},
        "length": {"categories": ["short", "long"], "table": "stays"},
    },
    "variables": {
        "first": {"feature": {"take": "first", "of": "kind", "by": "day"}},
        "ever": {"feature": {"take": "any", "where": {"kind": "b"}}},
        "rows": {"feature": {"take": "count"}, "bounds": [0, 2]},
        "spent": {"feature": {"take": "sum", "of": "cost"}, "bounds": [0, 12]},
        "stays": {"feature": {"take": "count", "where": {"length": "long"}}, "bounds": [0, 1]},
    },
}
TABLES: Mapping[str, Mapping[str, Any]] = {
    "counts": {"rows": ["first", "ever"]},
    "a total": {"measure": "total", "of": "spent", "rows": ["first"]},
    "a mean": {"measure": "mean", "of": "rows"},
    "joined": {"measure": "total", "of": "stays", "rows": ["ever"]},
    "some": {"rows": ["first"], "where": {"stays": {"at_least": 1}}},
}
Person = tuple[tuple[tuple[Any, ...], ...], tuple[str, ...]]


def _persons() -> list[Person]:
    rows = [unit for size in (1, 2, 3) for unit in combinations_with_replacement(ROWS, size)]
    return list(product(rows, STAYS))


def _columns(persons: tuple[Person, ...]) -> tuple[dict[str, list[Any]], dict[str, dict[str, list[Any]]]]:
    """The changed person comes last, so that all others have the same number in both data sets."""
    own = [(number, row) for number, (rows, _) in enumerate(persons) for row in rows]
    stays = [(number, stay) for number, (_, stays) in enumerate(persons) for stay in stays]
    columns = {name: [row[place] for _, row in own] for place, name in enumerate(("kind", "cost", "day"))}
    further = {"person": [number for number, _ in stays], "length": [stay for _, stay in stays]}
    return columns | {"person": [number for number, _ in own]}, {"stays": further}


def _neighbours(is_replace: bool) -> Iterator[tuple[tuple[Person, ...], tuple[Person, ...]]]:
    """Every person beside nobody, and beside somebody; replaced by every tenth other one."""
    everyone = _persons()
    for others in ((), (everyone[7],)):
        if not is_replace:
            yield from ((others, (*others, person)) for person in everyone)
            continue
        pairs = list(combinations(everyone, 2))
        yield from (((*others, first), (*others, second)) for first, second in pairs[:: 10 if others else 3])


def _largest_ratios(relation: str, folder: Path) -> dict[str, float]:
    """The largest exact loss of each request between neighbours, as a share of its charge."""
    document = {**DOCUMENT, "unit": {"id": "person", "relation": relation}}
    nobody = {"persons": _columns(())[0], **_columns(())[1]}
    sources: dict[Any, MemorySource] = {}

    def source(domain: Domain, persons: tuple[Person, ...]) -> MemorySource:
        if persons not in sources:
            own, others = _columns(persons)
            sources[persons] = MemorySource(domain, own, b"a secret", others=others)
        return sources[persons]

    with Curator.open(nobody, document, ledger=folder / "l.sqlite") as curator:
        largest = {}
        for name, table in TABLES.items():
            plan: Any = curator.plan({"table": table, "privacy": {"definition": "pure", "epsilon": 1}})
            answers = {
                tuple(
                    tuple(answer.open_below_the_gate().tolist())
                    for step in plan.measurements
                    for query in step.needs
                    for answer in (here.table(query), there.table(query))
                ): (here, there)
                for here, there in (
                    (source(curator.domain, first), source(curator.domain, second))
                    for first, second in _neighbours(relation == "replace")
                )
            }
            largest[name] = max(ratio_of(plan, pair_of(plan, *both)) for both in answers.values())
        return largest


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_no_neighbours_are_further_apart_than_was_charged(relation: str, tmp_path: Path) -> None:
    largest = _largest_ratios(relation, tmp_path)
    assert max(largest.values()) <= ALLOWED, largest
    assert largest["counts"] > 0.99 and largest["a total"] > 0.99 and largest["joined"] > 0.99, largest


def test_a_sum_that_is_not_clamped_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_features, "_clamped", lambda variable, code: code)
    assert _largest_ratios("add-remove", tmp_path)["a total"] > ALLOWED


def _declared(**changes: Any) -> dict[str, Any]:
    return {"unit": {"id": "person"}, **DOCUMENT, **changes}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"unit": {"id": "person", "max_rows": 3}}, "max_rows at 1"),
        ({"unit": {}}, "names the column"),
        ({"variables": {**DOCUMENT["variables"], "x": {"categories": ["a"]}}}, "every variable is a feature"),
        ({"records": {**DOCUMENT["records"], "x": {"categories": ["a"]}}}, "used by no feature"),
        ({"variables": {"x": {"feature": {"take": "any"}}}}, "needs a condition"),
        ({"variables": {"x": {"feature": {"take": "sum", "of": "cost"}}}}, "needs bounds"),
        ({"variables": {"x": {"feature": {"take": "min", "of": "day"}}}}, "record of dates"),
        ({"variables": {"x": {"feature": {"take": "first", "of": "kind", "by": "cost"}}}}, "record of dates"),
        (
            {
                "variables": {
                    "x": {"feature": {"take": "count", "where": {"kind": "a", "length": "long"}}, "bounds": [0, 1]}
                }
            },
            "one table",
        ),
        ({"variables": {"x": {"feature": {"take": "first", "of": "kind"}, "column": "kind"}}}, "belong to [records"),
        ({"variables": {"x": {"feature": {"take": "first", "of": "nowhere"}}}}, "nowhere"),
    ],
)
def test_a_document_that_cannot_be_meant_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(DaleniusError) as caught:
        load_dataset(_declared(**changes))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("lookup", "said"),
    [
        ({"entries": [["1", "a"]]}, "unmatched"),
        ({"entries": [["1", "a"], ["1", "b"]], "unmatched": "drop"}, "twice"),
        ({"entries": [["1", "a"]], "unmatched": "c"}, "named 'c'"),
        ({"entries": [["1", "a", "2020-01-01"]], "unmatched": "a"}, "as of which day"),
        ({"entries": [["1", "a", "soon"]], "at": "2020-01-01", "unmatched": "a"}, "2024-12-31"),
    ],
)
def test_a_lookup_that_cannot_be_meant_is_refused(lookup: dict[str, Any], said: str) -> None:
    document = {
        "dataset": {"name": "d", "population": "p"},
        "variables": {"x": {"categories": ["a", "b"], "lookup": lookup}},
    }
    with pytest.raises(DaleniusError) as caught:
        load_dataset(document)
    assert said in str(caught.value)


def test_a_changed_lookup_is_another_declaration(tmp_path: Path) -> None:
    """The table itself is part of what is registered, wherever it was read from."""
    (tmp_path / "zones.csv").write_text("key,value\n1,a\n2,b\n")
    document = tmp_path / "dataset.toml"
    document.write_text(
        '[dataset]\nname = "d"\npopulation = "p"\n[variables.x]\ncategories = ["a", "b"]\n'
        'lookup = { file = "zones.csv", unmatched = "drop" }\n'
    )
    digests = set()
    for text in ("key,value\n1,a\n2,b\n", "note,value,key\n-,a,1\n-,b,2\n", "key,value\n1,b\n2,b\n"):
        (tmp_path / "zones.csv").write_text(text)
        with Curator.open({"x": ["1", "3"]}, document, ledger=tmp_path / f"{len(digests)}.sqlite") as curator:
            digests.add(curator.holding.domain_digest)
    assert len(digests) == 2


def test_files_that_are_joined_are_one_version(tmp_path: Path) -> None:
    """A change of the further table is noticed, and rows may stand in any order."""
    assert _person_source.split_place(("a.csv", "t")) == ("a.csv", "t")
    document = {
        **DOCUMENT,
        "dataset": {"name": "persons", "population": "people", "source": "own.csv"},
        "tables": {"stays": {"source": "stays.csv"}},
        "unit": {"id": "person"},
    }
    own, stays = tmp_path / "own.csv", tmp_path / "stays.csv"
    own.write_text("person,kind,cost,day\n1,a,3,2020-01-02\n1,b,4,2020-01-01\n2,a,1,\n")
    stays.write_text("person,length\n1,long\n3,long\n")
    from dalenius.engines._choice import open_source

    loaded = load_dataset(document).at(tmp_path)
    source: Any = open_source(loaded)
    rows = [
        dict(zip(b, r, strict=True)) for b in source.scan(list(loaded.variables)) for r in zip(*b.values(), strict=True)
    ]
    assert [{n: int(v) for n, v in row.items()} for row in rows] == [
        {"first": 1, "ever": 1, "rows": 2, "spent": 7, "stays": 1},
        {"first": 0, "ever": 0, "rows": 1, "spent": 1, "stays": 0},
    ]
    before = source.fingerprint(b"key")
    stays.write_text("person,length\n1,short\n3,long\n")
    assert source.fingerprint(b"key") != before
