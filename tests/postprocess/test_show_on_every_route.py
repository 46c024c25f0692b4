"""Every key of [show] on every kind of table: done in all tables that add up, or refused before anything is charged."""

import csv
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius import save
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import ADDITIVE, Release, Table
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, Unsupported

LABELS = {"sex": ["f", "m"], "area": ["a", "b", "c"], "status": ["s", "t", "u", "v"], "work": ["no", "yes"]}
DATASET = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {name: {"categories": labels} for name, labels in LABELS.items()}
    | {"age": {"bounds": [0, 120], "step": 1}, "w": {"weight": True, "bounds": [0, 10], "step": 1}},
    "published": [{"over": ["sex"], "totals": [45, 45], "source": "Yearbook"}],
}
DATASET["variables"]["area"]["hierarchies"] = {"half": {"x": ["a", "b"], "y": ["c"]}}  # type: ignore[index]
POLICY = {"budget": {"rho": 1000, "delta": "1e-6"}, "allow": {"acknowledge": ["fixed_weights"]}}
ROWS = {name: [labels[k % len(labels)] for k in range(90)] for name, labels in LABELS.items()} | {
    "age": [k % 100 for k in range(90)],
    "w": [k % 6 for k in range(90)],
}
FOUR = [list(names) for names in combinations(LABELS, 3)]
TABLES: dict[str, dict[str, Any]] = {
    "one": {"rows": ["sex"]},
    "grand total": {},
    "three ways": {"rows": ["sex", "status"], "columns": ["area"]},
    "chosen": {"rows": [{"variable": "area", "categories": ["a", "c"]}], "columns": ["sex"]},
    "with margins": {"rows": ["sex"], "columns": ["area"], "margins": "all"},
    "without cross": {"margins": [["sex", "area"], ["area", "status"]]},
    "in a ring": {"margins": [["sex", "area"], ["area", "status"], ["sex", "status"], ["work"]]},
    "too many shared": {"margins": FOUR},
    "levels": {"margins": [["area.half"], ["area"]]},
    "along levels": {"margins": [["area.half", "sex"], ["area", "sex"]], "strategy": "tree"},
    "total": {"rows": ["sex"], "measure": "total", "of": "age"},
    "totals without cross": {"measure": "total", "of": "age", "margins": [["sex"], ["area", "status"]]},
    "weighted": {"rows": ["sex"], "weight": "w"},
    "weighted without cross": {"weight": "w", "margins": [["sex"], ["area"]]},
    "weighted total": {"rows": ["sex"], "measure": "total", "of": "age", "weight": "w"},
    "persons": {"rows": ["sex"], "measure": "persons"},
    "mean": {"rows": ["sex"], "measure": "mean", "of": "age"},
}
SHOWS: tuple[dict[str, Any], ...] = (
    {"whole": True},
    {"nonnegative": True},
    {"nonnegative": True, "whole": True},
    {"least": 3, "most": 50},
    {"consistent": True},
    {"published": True},
)


def request_of(name: str, show: dict[str, Any]) -> dict[str, Any]:
    table = dict(TABLES[name])
    privacy: dict[str, Any] = {"definition": "zero_concentrated", "rho": "1/1000"}
    if "margins" in table:
        axes = list(LABELS) if table["margins"] != "all" else []
        table = {"rows": axes, "universe": "complete"} | table if axes else table | {"universe": "complete"}
        names = {n.partition(".")[0] for m in TABLES[name]["margins"] for n in m} if axes else set()
        table["rows"] = [n for n in axes if n in names] if axes else table["rows"]
    if strategy := table.pop("strategy", ""):
        privacy["strategy"] = strategy
    return {"table": table, "privacy": privacy} | ({"show": show} if show else {})


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    place = tmp_path_factory.mktemp("office") / "ledger.sqlite"
    with Curator.open(ROWS, DATASET, policy=POLICY, ledger=place, rng=RecordedRandomness("routes")) as opened:
        opened.register(by="custodian")
        yield opened


def agree(tables: list[Table]) -> bool:
    """Whether the numbers of tables that share axes add up to the same margins."""
    for one, other in combinations(tables, 2):
        shared = {a.name for a in one.space.axes} & {a.name for a in other.space.axes}
        sums = []
        for table in (one, other):
            names = [a.name for a in table.space.axes]
            gone = tuple(i for i, name in enumerate(names) if name not in shared)
            kept = [name for name in names if name in shared]
            array = table.values.reshape(table.shape).sum(axis=gone)
            sums.append(array.transpose([kept.index(name) for name in sorted(shared)]) if kept else array)
        if not np.allclose(*sums, atol=1e-6):
            return False
    return True


def check_shown(release: Release, plain: Release, show: dict[str, Any]) -> None:
    moved = [table for table in release.tables if table.measure in ADDITIVE]
    for table in moved:
        values = table.values
        assert not show.get("whole") or np.array_equal(values, np.rint(values))
        assert not show.get("nonnegative") or (values >= -1e-9).all()
        assert "least" not in show or ((values >= 3) & (values <= 50)).all()
    levels = {a.level for table in moved for a in table.space.axes}
    assert "least" in show or len(levels) > 1 or agree(moved)
    assert not release.provenance.warnings or release.provenance.warnings == plain.provenance.warnings
    for table, other in zip(release.tables, plain.tables, strict=True):
        assert table.measure in ADDITIVE or np.array_equal(table.values, other.values)
        assert np.array_equal(table.variance, other.variance, equal_nan=True)


@pytest.mark.parametrize("name", list(TABLES))
def test_a_key_of_show_is_done_or_refused_before_the_charge(curator: Curator, name: str) -> None:
    for show in SHOWS:
        before = curator.ledger.reader.statement("p")
        try:
            release = curator.release(request_of(name, show))
        except DaleniusError:
            assert curator.ledger.reader.statement("p") == before
            for ask in (curator.plan, curator.quote):
                with pytest.raises(DaleniusError):
                    ask(request_of(name, show))
            continue
        curator.plan(request_of(name, show))
        check_shown(release, curator.release(request_of(name, {})), show)
    # What can be done is done.
    refused = {"too many shared", "levels", "along levels", "persons", "mean"}
    if name not in refused:
        curator.plan(request_of(name, {"nonnegative": True, "whole": True}))


def test_a_list_that_cannot_be_whole_says_what_can(curator: Curator) -> None:
    with pytest.raises(Unsupported, match="full cross among the margins, or leave `whole` out"):
        curator.release(request_of("too many shared", {"whole": True}))
    crossed = request_of("too many shared", {"whole": True})
    crossed["table"]["margins"] = [*FOUR, list(LABELS)]
    check_shown(curator.release(crossed), curator.release(crossed | {"show": {}}), {"whole": True})


def test_published_totals_hold_in_every_table_and_never_of_a_part(curator: Curator) -> None:
    release = curator.release(request_of("in a ring", {"published": True}))
    assert all(table.values.sum() == pytest.approx(90) for table in release.tables)
    for part in (
        {"rows": [{"variable": "area", "categories": ["a", "c"]}], "columns": ["sex"]},
        {"rows": [{"variable": "age", "cuts": [20, 40], "closed": True}], "columns": ["sex"]},
    ):
        request = request_of("one", {"published": True}) | {"table": part}
        with pytest.raises(Unsupported, match="shows a part of"):
            curator.release(request)


def test_whole_numbers_of_a_list_are_whole_in_its_file(curator: Curator, tmp_path: Path) -> None:
    save(curator.release(request_of("in a ring", {"nonnegative": True, "whole": True})), tmp_path)
    files = sorted(tmp_path.glob("*.csv"))
    values = [row["value"] for file in files for row in csv.DictReader(file.open())]
    assert len(values) == 28 and all(value.isdecimal() for value in values)


def test_a_policys_show_is_done_or_refused_before_the_charge(tmp_path: Path) -> None:
    policy = POLICY | {"show": {"nonnegative": True, "whole": True}}
    with Curator.open(ROWS, DATASET, policy=policy, ledger=tmp_path / "l.sqlite") as opened:
        opened.register(by="custodian")
        release = opened.release(request_of("weighted without cross", {}))
        assert [note["name"] for note in release.adjustments] == ["nonnegative", "rounding"]
        before = opened.ledger.reader.statement("p")
        for ask in (opened.plan, opened.release):
            with pytest.raises(Unsupported, match="full cross"):
                ask(request_of("too many shared", {}))
        assert opened.ledger.reader.statement("p") == before
