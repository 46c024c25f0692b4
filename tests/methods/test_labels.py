"""Labels found in data, from the request to every product: opt-in, priced, bounded, escaped, and nothing else of the data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dalenius import table
from dalenius.cli.main import app
from dalenius.core.query import LabelsQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.curator.curator import Curator
from dalenius.engines._labels import LONGEST_LABEL
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError, DocumentError, InternalError
from dalenius.lists.tables import answer_from_list
from dalenius.publish import formats
from dalenius.publish.to_json import write_json
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing import engine_kit
from dalenius.testing.asking import plan_of

HOSTILE = ("<script>alert(1)</script>", "=1+1", '"quoted", and more', "[red]blue[/red]")
UNPRINTED = ("\x1b[31mred", "line\nend", "\u202eright to left", "broken \ufffd", "   ", "l" * (LONGEST_LABEL + 1))
DOCUMENT: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {
        "job": {"categories": {"1": "baker", "9": "other"}, "unseen": "other", "unlisted": True},
        "sex": {"categories": ["f", "m"]},
    },
}
ASKED: dict[str, Any] = {
    "table": {"measure": "labels", "rows": ["job"]},
    "privacy": {"definition": "approximate", "epsilon": 4, "delta": "1e-6"},
}


def columns(*texts: str, times: int = 60) -> dict[str, list[Any]]:
    jobs = [text for text in texts for _ in range(times)]
    return {"job": jobs, "sex": ["f"] * len(jobs)}


def released(data: Mapping[str, Any], folder: Path, request: Any = None) -> Release:
    with Curator.open(
        DOCUMENT,
        data=engine_kit.arrow(data),
        ledger=folder / f"{len(list(folder.iterdir()))}.sqlite",
        policy={"budget": {"rho": 20, "delta": "1e-3"}},
        rng=RecordedRandomness("labels"),
    ) as curator:
        curator.register()
        return curator.release(request or ASKED)


def test_hostile_labels_are_escaped_and_unprintable_ones_count_nowhere(tmp_path: Path) -> None:
    release = released(columns(*HOSTILE, *UNPRINTED, "baker", "other", "1", "rare"), tmp_path)
    (axis,) = release.table.space.axes
    assert axis.labels == (*sorted((*HOSTILE, "rare")), "other")
    # Declared texts, names of declared categories and what cannot be printed are not in the rest either.
    assert abs(release.table.values[-1]) < 20
    content = {name: formats()[name].content(release).decode() for name in ("html", "csv")}
    assert "<script>" not in content["html"] and "&lt;script&gt;" in content["html"]
    assert "\n,'=1+1," in content["csv"] and '\n,"""quoted"", and more",' in content["csv"]
    assert "<script>" not in release._repr_html_()
    path = tmp_path / "release.json"
    path.write_bytes(write_json(release))
    shown = CliRunner().invoke(app, ["show", str(path)])
    assert shown.exit_code == 0
    out = shown.output
    assert "[red]blue[/red]" in out and "\x1b" not in out


def test_what_is_listed_says_nothing_of_the_other_texts(tmp_path: Path) -> None:
    """Order, threshold, warnings and law are the same whatever else the data hold."""
    few, many = (
        released(columns("x", "y") | more, tmp_path)
        for more in ({}, columns(*[f"{n} only here" for n in range(40)], *["x", "y"] * 60, times=1))
    )
    assert few.table.space == many.table.space
    assert few.provenance.warnings == many.provenance.warnings and few.law == many.law
    assert few.blocks[0].parameters == many.blocks[0].parameters
    assert any("above" in warning and "at most 1 of the others" in warning for warning in few.provenance.warnings)


def test_without_data_the_rest_is_the_only_cell(tmp_path: Path) -> None:
    release = released(columns(), tmp_path)
    assert release.table.space.labels() == [("other",)]


def test_the_plan_publishes_its_threshold_and_the_library_asks_the_same() -> None:
    domain = DatasetDocument.from_dict(DOCUMENT).domain()
    plan = plan_of(domain, ASKED, {})
    assert plan.preview["sure_from"] == 2 * plan.preview["threshold"] + 1
    assert plan.reservation.delta <= 1e-6 and plan.strategy == "label_selection"
    asked = table(measure="labels", rows="job", epsilon=4, delta="1e-6")
    assert plan_of(domain, asked, {}).preview == plan.preview
    assert table(measure="labels", rows="job", most=1, epsilon=4, delta="1e-6") == asked


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"privacy": {"definition": "pure", "epsilon": 1}}, "delta"),
        ({"privacy": {"definition": "zero_concentrated", "rho": 1}}, "delta"),
        ({"table": {"measure": "labels", "rows": ["sex"]}}, "unlisted = true"),
        ({"table": {"measure": "labels"}}, "one variable"),
        ({"table": {"measure": "labels", "rows": ["job"], "columns": ["sex"]}}, "one variable"),
        ({"table": {"measure": "labels", "rows": [{"variable": "job", "categories": ["baker"]}]}}, "one variable"),
        ({"table": {"measure": "labels", "rows": ["job"], "where": {"sex": ["f"]}}}, "where"),
        ({"table": {"measure": "labels", "rows": ["job"], "most": 2}}, "at most"),
        ({"table": {"measure": "labels", "rows": ["job"], "most": 0}}, "at least"),
        ({"privacy": ASKED["privacy"] | {"group": 2}}, "group"),
        ({"privacy": ASKED["privacy"] | {"mechanism": "discrete_gaussian"}}, "mechanism"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_data_are_read(changes: dict[str, Any], says: str) -> None:
    domain = DatasetDocument.from_dict(DOCUMENT).domain()
    with pytest.raises(DaleniusError, match=says):
        plan_of(domain, ASKED | changes, {})


@pytest.mark.parametrize(
    "variable", [{"bounds": [0, 1], "step": 1, "unlisted": True}, {"categories": ["a"], "unlisted": True}]
)
def test_unlisted_needs_a_category_for_all_other_texts(variable: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="unseen"):
        DatasetDocument.from_dict({**DOCUMENT, "variables": {"job": variable}})


def test_only_text_can_be_unlisted_and_only_unlisted_text_is_counted() -> None:
    domain = DatasetDocument.from_dict(DOCUMENT).domain()
    with pytest.raises(DocumentError, match="does not hold text"):
        DuckDBSource(domain, engine_kit.arrow({"job": [1, 2], "sex": ["f", "m"]}))
    source = MemorySource(domain, columns("x"))
    with pytest.raises(InternalError):
        source.labels(LabelsQuery(variable="sex"))


def test_persons_with_many_texts_count_in_few_of_them_whatever_the_order_of_rows() -> None:
    content = {**DOCUMENT, "unit": {"id": "person", "max_rows": 3}}
    domain = DatasetDocument.from_dict(content).domain()
    rows = [(person, f"text {(person * k) % 5}") for person in range(30) for k in range(5)]
    for most in (1, 3):
        query = LabelsQuery(variable="job", most=most)
        found = []
        for ordered in (rows, rows[::-1]):
            data = {"person": [p for p, _ in ordered], "job": [text for _, text in ordered], "sex": ["f"] * len(rows)}
            for source in (
                MemorySource(domain, data, b"secret"),
                DuckDBSource(domain, engine_kit.arrow(data), b"secret"),
                # Persons told apart by a number with a fraction take the road of rare types.
                DuckDBSource(domain, engine_kit.arrow(data | {"person": [float(p) for p, _ in ordered]}), b"secret"),
            ):
                found.append(source.labels(query).open_below_the_gate())
        assert all(labels == found[0] for labels in found)
        texts = {person: len({text for p, text in rows if p == person}) for person in range(30)}
        assert sum(n for _, n in found[0]) == sum(min(most, count) for count in texts.values())
        other = MemorySource(domain, data, b"another secret").labels(query).open_below_the_gate()
        assert (other != found[0]) is (most < 5)


def test_a_list_of_labels_answers_no_count(tmp_path: Path) -> None:
    release = released(columns(), tmp_path)
    domain = DatasetDocument.from_dict(DOCUMENT).domain()
    space = plan_of(domain, {"table": {"rows": ["job"]}, "privacy": {"definition": "pure", "epsilon": 1}}, {})
    assert answer_from_list(release, space.measurements[0].needs[0].space, (), domain) is None
