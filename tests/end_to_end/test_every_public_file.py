"""Draft, confirm, register, plan, release, show, infer, publish: every public file and the synthetic survey, all the way.

Every released number is compared with the truth through its interval, and the truth comes from SQL on the file itself. The
intervals have level 1 - 1e-6; about 2,000 numbers are compared, so a correct release with fresh noise would fail one run in
500. The noise is recorded (the data are public), so the tests never flicker. Budgets are large, so that intervals are narrow:
answers for a wrong universe, without the weights, or of nothing at all must lie outside them, and the tests say so.
"""

import csv
import io
import json
import tomllib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tests.end_to_end.file_truth import Cells, FileTruth
from typer.testing import CliRunner

import dalenius
from dalenius.algebra import tabulation
from dalenius.cli.main import app
from dalenius.core import registry
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release, Table
from dalenius.curator import curator as curator_module
from dalenius.curator.curator import Curator
from dalenius.demo import survey
from dalenius.engines._columns import expanded
from dalenius.engines._fetched_columns import FetchedColumns
from dalenius.engines.duckdb import DuckDBSource
from dalenius.inference import intervals
from dalenius.publish import to_document
from dalenius.publish.to_csv import to_csv
from dalenius.spec.load import load_dataset

FOLDER = Path(__file__).parents[3] / "shared" / "data"
LEVEL = 1 - 1e-6
COUNTED = {"definition": "pure", "epsilon": 8}
SHARP = {"definition": "pure", "epsilon": 20}
SUMMED = {"definition": "zero_concentrated", "rho": 20}
CHOSEN = {"definition": "pure", "epsilon": 20}
POLICY = {"budget": {"rho": 1000, "delta": "2e-6"}, "allow": {"acknowledge": ["fixed_weights"]}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is asked of one file. `further` declares columns once more under another name, as numbers or as codes."""

    file: str
    axes: tuple[str, str]
    by: str
    of: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    weight: str = ""
    unit: str = ""
    max_rows: int = 1
    further: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.file


STATES = [str(code) for code in range(1, 57) if code not in (3, 7, 14, 43, 52)]
PERSONS = {"axes": ("sex", "married"), "by": "sex", "of": "income", "where": {"age": {"at_least": 30}}}
CASES = [
    Case(
        file="acs2012_openintro_2000.csv",
        axes=("citizen", "lang"),
        by="edu",
        of="hrs_work",
        where={"married": ["yes"], "age": {"at_least": 18, "at_most": 64}},
    ),
    Case(
        file="adult_census1994.csv.gz",
        axes=("occupation", "sex"),
        by="workclass",
        of="hours_per_week",
        where={"income": [">50K"]},
        weight="thousands",
        # Weights of up to two million, squared, need a grid of thousands for their noise to have a table.
        further={"thousands": {"column": "fnlwgt", "bounds": [0, 2_000_000], "step": 1000}},
    ),
    Case(
        file="nltcs_binary16.csv.gz",
        axes=("v0", "v1"),
        by="v2",
        of="n15",
        where={"v3": ["1"]},
        further={"n15": {"column": "v15", "bounds": [0, 1], "step": 1}},
    ),
    Case(
        file="pums2000_california_10000.csv", axes=("educ", "sex"), by="latino", of="income", where={"married": ["1"]}
    ),
    Case(
        file="pums2000_codebook.csv",
        axes=("variable", "category"),
        by="variable",
        of="code",
        where={"code": {"at_least": 2}},
        further={"category": {"column": "code", "categories": list(range(21))}},
    ),
    Case(file="pums_california_1000_pid.csv", unit="pid", **PERSONS),
    Case(file="pums_california_dup_persons.csv", unit="pid", max_rows=4, **PERSONS),
    Case(file="pums_california_1000_nulls.csv", unit="pid", max_rows=4, **PERSONS),
    Case(
        file="ricefarms.csv",
        axes=("region", "varieties"),
        by="status",
        of="wage",
        where={"bimas": ["no"]},
        unit="id",
        max_rows=6,
    ),
    Case(file="table_HairEyeColor.csv", axes=("Hair", "Eye"), by="Sex", of="Freq", weight="Freq"),
    Case(file="table_Titanic.csv", axes=("Class", "Survived"), by="Sex", of="Freq", weight="Freq"),
    Case(file="table_UCBAdmissions.csv", axes=("Dept", "Admit"), by="Gender", of="Freq", weight="Freq"),
    Case(
        file="uk2001_occupation_by_age.csv",
        axes=("age", "none"),
        by="age",
        of="A",
        where={"A": {"at_least": 100}},
        further={"none": {"column": "F", "categories": list(range(21))}},
    ),
    Case(
        file="us_military_2010_1414593.parquet",
        axes=("grade", "branch"),
        by="hisp",
        of="step",
        where={"gender": ["female"]},
        further={"step": {"column": "rank", "bounds": [1, 11], "step": 1}},
    ),
    Case(
        file="cps_tax_units_2013_2014.parquet",
        axes=("state", "filing_status"),
        by="FLPDYR",
        of="wages",
        where={"filing_status": ["2"], "age_head": {"at_least": 25, "at_most": 64}},
        weight="thousands",
        further={
            "state": {"column": "fips", "categories": STATES},
            "thousands": {"column": "weight_x100", "bounds": [0, 600_000], "step": 1000},
        },
    ),
    Case(
        file="nafld_patients_17549.csv.gz",
        axes=("male", "status"),
        by="male",
        of="weight",
        where={"age": {"at_least": 40, "at_most": 69}},
        unit="id",
    ),
    Case(
        # Nobody has more rows than this; one person moves what all of them together move.
        file="nafld_laboratory_400123.parquet",
        axes=("test", "kind"),
        by="test",
        of="result",
        where={"test": ["hdl", "chol"]},
        unit="id",
        max_rows=513,
        further={
            "result": {"column": "value", "bounds": [0, 20_000], "step": 1},
            "kind": {"column": "test", "categories": ["chol", "dbp", "fib4", "hdl", "sbp", "smoke"]},
        },
    ),
]


def invoke(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def confirmed(case: Case, path: Path, folder: Path) -> tuple[Path, FileTruth]:
    """The draft as its custodian confirms it: population, unit, further numbers, and what stands for missing values."""
    draft = tomllib.loads(invoke("describe", path, "--from-data"))
    assert all(part["confirmed"] is False for part in draft["variables"].values())
    draft["dataset"] |= {"population": path.stem, "source": str(path), "public": True}
    draft["unit"] |= {"id": case.unit, "max_rows": case.max_rows} if case.unit else {}
    draft["variables"] |= {name: dict(part) for name, part in case.further.items()}
    if case.weight:
        draft["variables"][case.weight]["weight"] = True
    stand_ins = {}
    for name, part in draft["variables"].items():
        part["confirmed"] = True
        if "categories" in part and name in (*case.axes, case.by) and name != "occupation":
            # A list of margins is over axes that every row is on, so a missing value stands in one of their categories.
            part |= {"missing": part["categories"][0], "unseen": part["categories"][0]}
            stand_ins[name] = str(part["categories"][0])
    document = folder / "dataset.json"
    document.write_text(json.dumps(draft))
    numeric = {n: p for n, p in load_dataset(document).domain().variables.items() if p.is_numeric}
    return document, FileTruth(
        path=path,
        unit=case.unit,
        stand_ins=stand_ins,
        columns={name: part["column"] for name, part in case.further.items()},
        steps={name: float(v.bounds.step) for name, v in numeric.items() if v.bounds.step > 1},
        bounds={n: (float(v.bounds.lower), float(v.bounds.upper)) for n, v in numeric.items()},
        codes={n: tuple(map(str, part.get("missing_codes", ()))) for n, part in draft["variables"].items()},
    )


def covers(release: Release, table: Table, truth: Cells) -> bool:
    """Whether every cell's interval holds the true number; a cell without rows is a true zero."""
    lower, upper = tabulation.bounds(release, table, LEVEL)
    cells = table.space.labels() or [()]
    known = set(truth) <= set(cells)
    slack = 1e-6 * (1 + np.abs(table.values))
    exact = np.array([truth.get(cell, 0.0) for cell in cells])
    return known and bool(((lower - slack <= exact) & (exact <= upper + slack)).all())


def covers_means(release: Release, totals: Cells, counts: Cells) -> bool:
    """Whether intervals of means hold the true ones, in cells that are not nearly empty, and their counts the counts."""
    table, beside = release.tables
    lower, upper = tabulation.bounds(release, table, LEVEL)
    large = [i for i, cell in enumerate(table.space.labels()) if counts.get(cell, 0) >= 30]
    cells = table.space.labels()
    held = [lower[i] <= totals[cells[i]] / counts[cells[i]] <= upper[i] for i in large]
    return bool(np.all(held)) and covers(release, beside, counts)


def covers_medians(release: Release, values: Mapping[tuple[str, ...], list[float]]) -> bool:
    """Whether each interval holds a median of its cell: a v with #{x < v} <= n / 2 <= #{x <= v}."""
    lower, upper = tabulation.bounds(release, release.table, LEVEL)
    for cell, low, high in zip(release.table.space.labels(), lower, upper, strict=True):
        listed = sorted(values.get(cell, []))
        middle = listed[(len(listed) - 1) // 2 : len(listed) // 2 + 1]
        if middle and not (low - 1e-9 <= middle[-1] and middle[0] <= high + 1e-9):
            return False
    return True


class Way:
    """One registered data set on its way: releases are saved, read back, shown and published as they are made."""

    def __init__(self, document: Path, folder: Path, seed: str) -> None:
        self.folder = folder
        self.curator = Curator.open(
            document, ledger=folder / "ledger.sqlite", policy=POLICY, rng=RecordedRandomness(seed)
        )
        self.report = self.curator.register(by="custodian").reveal()
        # In a small file every number is small, so that only a sharp answer can be told from a wrong one.
        self.counted = COUNTED if self.report["rows"] > 500 else SHARP
        self.summed = SUMMED if self.report["rows"] > 500 else SUMMED | {"rho": 150}

    def ask(self, name: str, table: Mapping[str, Any], privacy: Mapping[str, Any]) -> Release:
        request = {"table": dict(table), "privacy": dict(privacy)}
        plan = self.curator.plan(request)
        release = self.curator.release(request)
        assert plan.reservation.to_dict() == dict(release.provenance.cost)
        place = dalenius.save(release, self.folder / name)
        shown = " ".join(invoke("show", place, "--rows", 0).split())
        named = [self.curator.domain.variable(axis.variable) for axis in release.table.space.axes]
        assert all(variable.name in shown or variable.label in shown for variable in named)
        published(dalenius.load(place), release)
        return release


def published(stored: Release, release: Release) -> None:
    """Every product holds the numbers of the release."""
    assert to_document(stored) == to_document(release)
    for name in registry.names("publish"):
        assert registry.get("publish", name).content(release), name
    for table in release.tables:
        lines = list(csv.DictReader(io.StringIO(to_csv(release, table))))
        shown = [float(line["value"]) if line["value"] else np.nan for line in lines]
        order = tabulation.cells_in_order(table.space, release.asked_order(table))
        np.testing.assert_allclose(shown, table.values[order], rtol=1e-9)


def run(way: Way, case: Case, file: FileTruth) -> int:
    """Ask everything, compare everything; how many numbers were compared."""
    first, second = case.axes
    where = dict(case.where)
    table = {"rows": [first], "columns": [second]}
    compared = 0
    plain = way.ask("count", table, way.counted)
    order = [axis.variable for axis in plain.table.space.axes]
    truth = file.table("count(*)", {}, *order)
    assert covers(plain, plain.table, truth)
    assert not covers(plain, plain.table, {})
    inferred(plain, truth)
    compared += plain.table.space.size
    if where:
        kept = way.ask("filtered", table | {"where": where}, SHARP)
        assert covers(kept, kept.table, file.table("count(*)", where, *order))
        assert not covers(kept, kept.table, truth)
        compared += kept.table.space.size
    compared += margins(way, case, file)
    if case.of:
        compared += magnitudes(way, case, file, where)
    if case.weight:
        weighed = way.ask("weighted", {"rows": [case.by], "weight": case.weight}, way.summed)
        assert covers(weighed, weighed.table, file.table(f"sum({file.number(case.weight)})", {}, case.by))
        assert not covers(weighed, weighed.table, file.table("count(*)", {}, case.by))
        compared += weighed.table.space.size
    return compared


def inferred(release: Release, truth: Cells) -> None:
    """Intervals by inference from the document alone hold the truth too, all of them together."""
    assert_each_holds(intervals(release, confidence=0.9999, is_simultaneous=True).to_dict(), release, truth)


def assert_each_holds(found: Mapping[str, Any], release: Release, truth: Cells) -> None:
    own = [axis.name for axis in release.table.space.axes]
    order = [found["axes"].index(name) for name in own]
    cells = {tuple(cell["labels"][place] for place in order): cell for cell in found["cells"]}
    assert set(cells) == set(release.table.space.labels())
    for labels, cell in cells.items():
        assert cell["lower"] <= truth.get(labels, 0) <= cell["upper"]


def margins(way: Way, case: Case, file: FileTruth) -> int:
    axes = list(dict.fromkeys(name for name in (*case.axes, case.by) if name in file.stand_ins))
    listed = [axes[:2], axes[-1:], []]
    release = way.ask("margins", {"rows": axes, "margins": listed}, way.summed)
    assert len(release.tables) == len(listed)
    for shown in release.tables:
        order = [axis.variable for axis in shown.space.axes]
        assert covers(release, shown, file.table("count(*)", {}, *order))
        assert not covers(release, shown, {})
    return sum(shown.space.size for shown in release.tables)


def magnitudes(way: Way, case: Case, file: FileTruth, where: Mapping[str, Any]) -> int:
    by, of = case.by, case.of
    asked = {"rows": [by], "of": of, "where": dict(where)}
    total = way.ask("total", asked | {"measure": "total"}, way.summed)
    totals = file.table(f"sum({file.number(of)})", where, by)
    assert covers(total, total.table, totals)
    assert not covers(total, total.table, {})
    mean = way.ask("mean", asked | {"measure": "mean"}, way.summed)
    counts = file.table(f"count({file.number(of)})", where, by)
    assert covers_means(mean, totals, counts)
    if file.has_missing(of):
        # A mean over the rows that lack the number too would be another one.
        assert not covers_means(mean, totals, file.table("count(*)", where, by))
    median = way.ask("median", asked | {"measure": "median"}, CHOSEN)
    assert covers_medians(median, file.values(of, where, by))
    return 3 * total.table.space.size


@pytest.mark.shared_data
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_number_of_a_public_file_lies_in_its_interval(case: Case, tmp_path: Path) -> None:
    if not (FOLDER / case.file).exists():
        pytest.skip("the public file is not on this machine")
    document, file = confirmed(case, FOLDER / case.file, tmp_path)
    way = Way(document, tmp_path, case.file)
    for name, notes in way.report["variables"].items():
        assert notes["unseen"] == notes["unreadable"] == notes["outside"] == 0, name
    assert way.report["rows_skipped"] == way.report["rows_over_max"] == 0
    assert run(way, case, file) > 10


def holds(release: Release, truth: float) -> bool:
    """Whether the interval of a single released number holds the true one."""
    (lower,), (upper,) = tabulation.bounds(release, release.table, LEVEL)
    return bool(lower <= truth <= upper)


def test_the_list_of_public_files_is_complete() -> None:
    if not FOLDER.exists():
        pytest.skip("the public files are not on this machine")
    present = {path.name for path in FOLDER.iterdir() if path.suffix in (".csv", ".gz", ".parquet")}
    assert present == {case.file for case in CASES}


def survey_file(folder: Path, wave: int) -> FileTruth:
    """The survey as its documents declare it, read by hand from the code lists."""
    with (folder / "region_levels.csv").open(newline="", encoding="utf-8") as stream:
        states = {row["code"]: row["state"] for row in csv.DictReader(stream)}
    with (folder / "occupation_levels.csv").open(newline="", encoding="utf-8") as stream:
        groups = {row["code"]: row["group"] for row in csv.DictReader(stream)}
    schools = ("not stated", "primary", "lower secondary", "upper secondary", "bachelor", "master or higher")
    return FileTruth(
        path=folder / survey.microdata_name(wave),
        unit="person",
        labels={
            "sex": {"f": "female", "m": "male"},
            "education": {str(code): label for code, label in enumerate(schools)},
            "region": states,
            "occupation": groups,
        },
        stand_ins={"education": "0"},
        bounds={"income": (0, 250_000), "hours": (0, 80)},
    )


def further_steps(way: Way, file: FileTruth, state: dict[str, Any], check: Callable[..., None]) -> None:
    """Keyed noise, several waves, bootstrap errors, blocks and a batch say the truth of persons with several rows."""
    schools = {"rows": ["education"], "columns": [state]}
    check("keyed", {**schools, "keyed": True}, COUNTED, "count(*)", "count(DISTINCT person)")
    check("wave", schools, COUNTED | {"waves": 2}, "count(*)", "count(DISTINCT person)")
    hours = {"measure": "total", "of": "hours", "rows": ["sex"], "error": "bootstrap", "replicates": 10}
    number = file.number("hours")
    guarantee = {"definition": "zero_concentrated", "rho": 400, "delta": "1e-6"}
    check("bootstrap", hours, guarantee, f"sum({number})", f"sum({number}) / 2")
    # A mean of rows that have the number, of which there is a private number; the squares are measured beside it.
    resampled = way.ask("bootstrap mean", hours | {"measure": "mean", "of": "income"}, guarantee)
    income = file.number("income")
    sums, rows = (file.table(f"{what}({income})", {}, "sex") for what in ("sum", "count"))
    assert covers_means(resampled, sums, rows)
    assert not covers_means(resampled, {cell: 2 * total for cell, total in sums.items()}, rows)
    if file.has_missing("income"):
        assert not covers_means(resampled, sums, file.table("count(*)", {}, "sex"))
    blocks = {"measure": "sample_and_aggregate", "of": "hours", "model": "gaussian_mean", "clip": [0, 80], "blocks": 40}
    mean = way.ask("blocks", blocks | {"error": "noise"}, SUMMED | {"rho": 100})
    values = np.array(file.values("hours", {})[()])
    assert holds(mean, float(values.mean())) and not holds(mean, float(values[values > 0].mean()))
    batch = way.curator.release({"table": [schools, {"rows": ["sex"]}], "privacy": COUNTED})
    for one in batch.parts:
        order = [axis.variable for axis in one.table.space.axes]
        assert covers(one, one.table, file.table("count(*)", {}, *order))
        assert not covers(one, one.table, file.table("count(DISTINCT person)", {}, *order))


@pytest.mark.parametrize(("persons", "wave"), [(3_000, 2023), (survey.PERSONS, 2024)])
def test_every_number_of_the_survey_lies_in_its_interval(persons: int, wave: int, tmp_path: Path) -> None:
    survey.materialise(tmp_path, persons)
    file = survey_file(tmp_path, wave)
    way = Way(tmp_path / survey.dataset_name(wave), tmp_path, f"survey {persons} {wave}")
    group, state = {"variable": "occupation", "level": "group"}, {"variable": "region", "level": "state"}
    where = {"status": ["employee", "self-employed"], "age": {"at_least": 25}}

    def check(name: str, table: dict[str, Any], privacy: dict[str, Any], aggregate: str, wrong: str) -> None:
        release = way.ask(name, table, privacy)
        order = [axis.variable for axis in release.table.space.axes]
        conditions = table.get("where", {})
        assert covers(release, release.table, file.table(aggregate, conditions, *order))
        assert not covers(release, release.table, file.table(wrong, {}, *order))

    check("jobs", {"rows": [group], "columns": ["sex"], "where": where}, COUNTED, "count(*)", "count(*)")
    check("schools", {"rows": ["education"], "columns": [state]}, COUNTED, "count(*)", "count(DISTINCT person)")
    weighted = {"rows": [state], "where": {"job": ["1"]}, "weight": "weight"}
    check("persons", weighted, SUMMED, "sum(weight)", "count(*)")
    income = {"rows": [state], "measure": "total", "of": "income"}
    check("income", income, SUMMED, f"sum({file.number('income')})", "sum(hours)")
    number = file.number("income")
    total = f"sum(weight * {number})"
    check("weighted income", {**income, "weight": "weight"}, SUMMED, total, f"sum({number})")
    mean = way.ask("weighted mean", {**income, "measure": "mean", "weight": "weight"}, SUMMED)
    counts = file.table("sum(CASE WHEN income IS NOT NULL THEN weight END)", {}, "region")
    assert covers_means(mean, file.table(total, {}, "region"), counts)
    assert not covers_means(mean, file.table(f"sum({number})", {}, "region"), counts)
    case = Case(file="", axes=("education", "sex"), by="sex", of="hours", where=where, max_rows=4)
    if persons < survey.PERSONS:
        magnitudes(way, case, file, where)
        further_steps(way, file, state, check)
    magnitudes(way, Case(file="", axes=case.axes, by="sex", of="income", max_rows=4), file, {})


def small_file(folder: Path) -> Case:
    """800 rows with missing numbers and codes, and with weights."""
    rng, path = np.random.default_rng(12), folder / "small.csv"
    lines = ["town,kind,sex,hours,weight"]
    for _ in range(800):
        town, kind = rng.choice(["ribe", "odense", "aarhus"]), rng.choice(["shop", "farm", ""])
        hours = "" if rng.random() < 0.1 else rng.integers(1, 60)
        lines.append(f"{town},{kind},{rng.choice(['f', 'm'])},{hours},{rng.integers(1, 9)}")
    path.write_text("\n".join(lines) + "\n")
    numbers = {
        "own": {"column": "weight", "bounds": [0, 10], "step": 1},
        "time": {"column": "hours", "bounds": [0, 60], "step": 1},
    }
    return Case(
        file=str(path),
        axes=("town", "kind"),
        by="sex",
        of="time",
        where={"town": ["ribe", "odense"]},
        weight="own",
        further=numbers,
    )


class ReleasesAlone(Way):
    """Without products."""

    def ask(self, name: str, table: Mapping[str, Any], privacy: Mapping[str, Any]) -> Release:
        return self.curator.release({"table": dict(table), "privacy": dict(privacy)})


def without_a_row(right: Any) -> Any:
    """Rows are read one by one or counted in groups."""

    def wrong(self: DuckDBSource, names: Any) -> Any:
        first, *others = right(self, names)
        if isinstance(first, dict):
            yield {name: expanded(column)[1:] for name, column in first.items()}
        else:
            yield first[0], first[1] - (np.arange(len(first[1])) == 0)
        yield from others

    return wrong


def missing_as_zero(right: Any) -> Any:
    def wrong(self: DuckDBSource, name: str) -> Any:
        is_numeric = self.domain.variable(name).is_numeric
        for expression, suffix in right(self, name):
            yield f"COALESCE({expression}, 0)" if is_numeric and not suffix else expression, suffix

    return wrong


def without_weights(right: Any) -> Any:
    def unweighted(query: TableQuery) -> TableQuery:
        powers = tuple(power for power in query.function.powers if power.variable != "own")
        return replace(query, function=replace(query.function, powers=powers))

    return lambda self, queries: right(self, [unweighted(query) for query in queries])


def with_the_next_code(right: Any) -> Any:
    def wrong(self: DuckDBSource, names: Any) -> Any:
        for read in right(self, names):
            batch = read if isinstance(read, dict) else read[0]
            if "town" in batch:
                codes = expanded(batch["town"]).copy()
                codes[0] = (codes[0] + 1) % 3
                batch["town"] = codes
            yield read

    return wrong


MISREADINGS = {
    "a row": {"_batches": without_a_row, "_grouped": without_a_row},
    "missing numbers": {"_expressions": missing_as_zero},
    "weights": {"tables": without_weights},
    "one code": {"_batches": with_the_next_code, "_grouped": with_the_next_code},
}


def test_an_engine_that_misreads_is_noticed_by_the_numbers(tmp_path: Path) -> None:
    """Each reads a little wrong from the registration on; the first run, without a fault, holds."""
    case = small_file(tmp_path)
    document, file = confirmed(case, Path(case.file), tmp_path)
    unnoticed = []
    for name, faults in {"nothing": {}, **MISREADINGS}.items():
        (tmp_path / name).mkdir()
        with ExitStack() as stack:
            for place, fault in faults.items():
                owner = DuckDBSource if hasattr(DuckDBSource, place) else FetchedColumns
                stack.enter_context(patch.object(owner, place, fault(getattr(owner, place))))
            try:
                run(ReleasesAlone(document, tmp_path / name, "misread"), case, file)
            except AssertionError:
                continue
            unnoticed.append(name)
    assert unnoticed == ["nothing"]


@pytest.mark.shared_data
def test_the_verbs_go_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line alone, on the first file of a custodian: what it prints as JSON is compared with the truth."""
    case = CASES[0]
    if not (FOLDER / case.file).exists():
        pytest.skip("the public file is not on this machine")
    monkeypatch.setattr(curator_module, "SystemRandomness", lambda: RecordedRandomness("verbs"))
    document, file = confirmed(case, FOLDER / case.file, tmp_path)
    request, out, ledger = tmp_path / "request.json", tmp_path / "out", tmp_path / "ledger.sqlite"
    table = {"rows": ["citizen"], "columns": ["lang"]}
    request.write_text(
        json.dumps({"dataset": document.name, "table": table, "privacy": {"definition": "pure", "epsilon": 1.5}})
    )
    invoke("check", document)
    invoke("register", document, "--ledger", ledger)
    assert json.loads(invoke("plan", request, "--json"))["cells"] == 4
    invoke("release", request, "--ledger", ledger, "-o", out)
    assert "citizen" in invoke("show", out)
    found = json.loads(invoke("infer", "interval", out, "--confidence", "0.9999", "--simultaneous", "--json"))
    truth = file.table("count(*)", {}, "citizen", "lang")
    assert found["axes"] == ["citizen", "lang"]
    assert_each_holds(found, dalenius.load(out), truth)
    assert json.loads(invoke("infer", "independence", out, "--replicates", "99", "--json"))["p_value"] < 0.05
