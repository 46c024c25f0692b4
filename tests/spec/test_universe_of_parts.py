"""What the universe sentence and the word Total claim is what is counted: read back, and compared record by record."""

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dalenius.cli.tables import print_release
from dalenius.core.query import TableQuery
from dalenius.curator.curator import Curator
from dalenius.engines.memory import MemorySource
from dalenius.publish.to_csvw import to_csvw
from dalenius.publish.to_html import to_html
from dalenius.shown.crosstab import Crosstab
from dalenius.spec.canonical import canonical
from dalenius.spec.guarantees import told
from dalenius.spec.load import load_dataset, load_request
from dalenius.spec.universe import universe_of
from dalenius.testing.asking import plan_of

DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {
        "sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f"},
        "area": {"categories": ["n", "o", "s", "w"]},
        "age": {"bounds": [0, 6], "step": 1},
        "size": {"bounds": [0, 4], "step": 2, "missing": 0},
    },
}
DOMAIN = load_dataset(DATASET).domain()
VALUES: dict[str, list[Any]] = {
    "sex": ["f", "m", None],
    "area": ["n", "o", "s", "w", None, "elsewhere"],
    "age": [*range(7), None],
    "size": [0, 2, 4, None],
}
RECORDS = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]
PURE = {"definition": "pure", "epsilon": 1}


def some(values: list[Any], least: int = 1) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=len(values), unique=True).map(sorted)


def grouped(labels: list[str]) -> dict[str, list[str]]:
    return {f"g{k}": [label] for k, label in enumerate(labels[:-1])} | {"last": labels[-1:]}


AREAS = some(["n", "o", "s", "w"])
AXES: dict[str, st.SearchStrategy[Any]] = {
    "sex": st.one_of(st.just("sex"), st.just({"variable": "sex", "categories": ["m"]})),
    "area": st.one_of(
        st.just("area"),
        AREAS.map(lambda labels: {"variable": "area", "categories": labels}),
        AREAS.map(lambda labels: {"variable": "area", "groups": grouped(labels)}),
    ),
    "age": st.builds(
        lambda cuts, closed: {"variable": "age", "cuts": cuts, "closed": closed}, some(list(range(7)), 2), st.booleans()
    ),
    "size": some([0, 2, 4], 2).map(lambda cuts: {"variable": "size", "cuts": cuts, "closed": True}),
}
CONDITIONS: dict[str, st.SearchStrategy[Any]] = {
    "sex": some(["f", "m"]),
    "area": AREAS,
    "age": st.tuples(st.integers(0, 3), st.integers(3, 6)).flatmap(
        lambda ends: st.sampled_from(
            [{"at_least": ends[0]}, {"at_most": ends[1]}, {"at_least": ends[0], "at_most": ends[1]}]
        )
    ),
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(list(AXES)), min_size=1, max_size=3, unique=True))
    axes = [draw(AXES[name]) for name in names]
    split = draw(st.integers(0, len(axes)))
    where = {name: draw(CONDITIONS[name]) for name in draw(some(list(CONDITIONS), 0))}
    table: dict[str, Any] = {"rows": axes[:split], "columns": axes[split:], "where": where}
    return {key: part for key, part in table.items() if part}


NUMBERS = [f"r{k}" for k in range(len(RECORDS))]
NUMBERED = load_dataset(
    DATASET | {"variables": DATASET["variables"] | {"number": {"categories": NUMBERS, "missing": "r0", "unseen": "r0"}}}
).domain()
SOURCE = MemorySource(NUMBERED, {name: [r[name] for r in RECORDS] for name in VALUES} | {"number": NUMBERS})


def counted(table: Mapping[str, Any]) -> list[bool]:
    """Which records are in some cell, by the plain engine: every record has a number, which is one more axis."""
    request = load_request({"table": dict(table) | {"layers": ["number"]}, "privacy": PURE})
    space = canonical(request, NUMBERED).space
    query = TableQuery(space=space, where=request.filters(NUMBERED))
    cells = SOURCE.table(query).open_below_the_gate().reshape(space.shape)
    place = [axis.variable for axis in space.axes].index("number")
    return [bool(n) for n in cells.sum(axis=tuple(i for i in range(cells.ndim) if i != place))]


def declared(record: Mapping[str, Any], name: str) -> bool:
    return record[name] in VALUES[name] and record[name] not in (None, "elsewhere")


def meets(record: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether a record meets the conditions, after the declared rules for missing values."""
    for name, asked in where.items():
        value = "f" if name == "sex" and record[name] is None else record[name]
        if isinstance(asked, list):
            if value not in asked:
                return False
        elif value is None or not asked.get("at_least", 0) <= value <= asked.get("at_most", 6):
            return False
    return True


def claimed(sentence: str, where: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """What the sentence says of a record, by its words alone."""
    has_conditions = "meet the conditions" in sentence or "meets the conditions" in sentence
    assert has_conditions is bool(where), sentence
    if not meets(record, where):
        return False
    if sentence.startswith("Covers every record"):
        return True
    for names in re.findall(r"declared value of ([a-z, ]+?)(?:;|,? whether)", sentence):
        if not all(declared(record, name) for name in re.split(r", | and ", names)):
            return False
    for name, low, high, end in re.findall(r"(\w+): \[(\d+), (\d+)([\])])", sentence):
        value = 0 if name == "size" and record[name] is None else record[name]
        if value is None or not (int(low) <= value < int(high) or (end == "]" and value == int(high))):
            return False
    for name, labels in re.findall(r"(\w+): ([a-z](?:, [a-z])*)(?=;|,)", sentence):
        value = "f" if name == "sex" and record[name] is None else record[name]
        if value not in labels.split(", "):
            return False
    return True


@settings(max_examples=40, deadline=None, derandomize=True)
@given(tables())
def test_the_sentence_says_which_records_are_counted(table: dict[str, Any]) -> None:
    request = load_request({"table": table, "privacy": PURE})
    sentence = universe_of(request, DOMAIN).sentence()
    where = table.get("where", {})
    assert [claimed(sentence, where, record) for record in RECORDS] == counted(table), sentence


@settings(max_examples=40, deadline=None, derandomize=True)
@given(tables())
def test_a_total_is_called_one_of_shown_where_declared_values_are_left_out(table: dict[str, Any]) -> None:
    request = load_request({"table": table, "privacy": PURE})
    universe, axes = universe_of(request, DOMAIN), {a.variable: a for a in request.axes(DOMAIN)}
    layout = request.layout(DOMAIN)
    rows, columns = ([axes[name] for name in layout[place]] for place in ("rows", "columns"))
    parts = tuple(part.variable for part in universe.parts)
    crosstab = Crosstab(
        row_axes=tuple(rows), column_axes=tuple(columns), layer_axes=(), heads=(), sheets=(),
        has_totals=True, show="value", marks=frozenset(), parts=parts,
    )  # fmt: skip
    inside = counted(table)
    assume(any(inside))

    def leaves_out(kept: list[Any]) -> bool:
        """Whether a record with declared values, shown on the kept axes, is missing from the sum over the others."""
        own = {key: part for key, part in table.items() if key == "where"}
        own |= {"rows": [part for part in _items(table) if _name(part) in {a.variable for a in kept}]}
        shown = counted({key: part for key, part in own.items() if part})
        complete = [all(declared(r, name) for name in axes) for r in RECORDS]
        return any(s and c and not i for s, c, i in zip(shown, complete, inside, strict=True))

    assert crosstab.is_row_total_of_shown is leaves_out(columns)
    assert crosstab.is_column_total_of_shown is leaves_out(rows)
    assert any("shows a part of" in note for note in plan_of(DOMAIN, request).notes) is bool(parts)


def _items(table: Mapping[str, Any]) -> list[Any]:
    return [*table.get("rows", ()), *table.get("columns", ())]


def _name(item: Any) -> str:
    return str(item if isinstance(item, str) else item["variable"])


def test_every_product_names_the_part_and_calls_its_total_one_of_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {name: [record[name] for record in RECORDS] for name in VALUES}
    table = {"rows": [{"variable": "area", "categories": ["n", "s"]}], "columns": ["sex"]}
    policy = {"budget": {"rho": 9}}
    with Curator.open(rows, DATASET, policy=policy, ledger=tmp_path / "l.sqlite") as curator:
        curator.register(by="me")
        release = curator.release({"table": table, "privacy": PURE})
        whole = curator.release({"table": {"rows": ["area"], "columns": ["sex"]}, "privacy": PURE})
        assert any("shows a part of area" in note for note in curator.plan({"table": table, "privacy": PURE}).notes)
    print_release(release)
    english = "Covers the records with area: n, s; all others are left out."
    for text in (capsys.readouterr().out, to_html(release), release._repr_html_()):
        plain = " ".join(re.sub(r"<[^>]+>", " ", text).split())
        assert english in plain and plain.count("Total of shown") == 1 and len(re.findall(r"\bTotal\b", plain)) == 2
    assert english in str(release) and english in to_csvw(release)
    german = to_html(release, language="de")
    assert "Umfasst die Datensätze mit area: n, s; alle anderen sind nicht enthalten." in german
    assert "Summe der gezeigten" in german and "Gezeigte insgesamt" not in to_html(whole, language="de")
    print_release(whole)
    assert "of shown" not in capsys.readouterr().out + to_html(whole) + whole._repr_html_()
    both = "Covers the records that meet the conditions, with a: [1, 2), and with a declared value of b and c; all others are left out."
    assert told(both, "de").startswith("Umfasst die Datensätze, die die Bedingungen erfüllen, mit a: [1, 2) und mit")
