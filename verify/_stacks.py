"""Samples of a file, stacked as groups of one table: the cells of one release are replicates of an interval.

Samples are independent draws from the file, with replacement, of persons where a person has several rows; how many is Poisson. The
file is read by SQL that shares no code with the engines, and its columns get the names of their roles: `x` is the variable asked
about, `y` a second number, `w` a weight, `by` a category, `sample` the replicate.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import csv
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.core.law import FloatArray, IntArray

FOLDER = Path(__file__).parents[2] / "shared" / "data"
ROWS = 200
GROUPED = 20
"""Samples in a group of the coarser level."""


@dataclass(frozen=True, kw_only=True)
class File:
    """A file, the roles of its columns, and what its custodian writes in the place of the draft."""

    name: str
    x: str
    y: str
    by: str
    w: str = ""
    unit: str = ""
    max_rows: int = 1
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    only: str = "true"
    make: Callable[[Path], None] | None = None

    def path(self, folder: Path) -> Path:
        """Where it is; a hostile one is written into the folder."""
        if self.make is None:
            return FOLDER / self.name
        path = folder / self.name
        if not path.exists():
            self.make(path)
        return path


def _write(path: Path, columns: Mapping[str, Any]) -> None:
    """A CSV file with a header."""
    csv.write_csv(pa.table({name: pa.array(values) for name, values in columns.items()}), path)


def heaped_money(path: Path) -> None:
    """Hourly earnings in hundredths of a cent: half at round amounts, a third of those at one, and empty space beside them."""
    rng, n = np.random.default_rng(101), 20_000
    smooth = np.round(np.exp(rng.normal(2.7, 0.5, n)), 4)
    heaps = rng.choice(
        [7.25, 10.0, 12.0, 12.5, 15.0, 20.0, 25.0, 40.0], n, p=[0.1, 0.3, 0.1, 0.1, 0.2, 0.1, 0.05, 0.05]
    )
    _write(
        path,
        {
            "earnings": np.minimum(np.where(rng.random(n) < 0.5, heaps, smooth), 400.0),
            "hours": rng.choice([20, 35, 38, 40, 45, 60], n, p=[0.1, 0.15, 0.15, 0.45, 0.1, 0.05]),
            "region": rng.choice(["north", "south", "west"], n),
        },
    )


def code_for_none(path: Path) -> None:
    """Hours and visits in which 99 and 9 stand for "does not apply"."""
    rng, n = np.random.default_rng(102), 20_000
    hours = np.clip(np.rint(rng.normal(36, 12, n)), 0, 60)
    visits = np.minimum(rng.poisson(1.5, n), 8)
    _write(
        path,
        {
            "hours": np.where(rng.random(n) < 0.35, 99, hours).astype(np.int64),
            "visits": np.where(rng.random(n) < 0.1, 9, visits).astype(np.int64),
            "status": rng.choice(["1", "2", "9"], n, p=[0.6, 0.35, 0.05]),
        },
    )


def wide_clusters(path: Path) -> None:
    """Households of one to six that share whether they spend anything: four of five do not, the others up to 10,000."""
    rng, households = np.random.default_rng(103), 6000
    size = rng.integers(1, 7, households)
    spends, level = rng.random(households) < 0.2, rng.gamma(2.0, 900.0, households)
    own = np.repeat(np.arange(households), size)
    amount = np.where(spends[own], np.minimum(np.rint(level[own] * rng.uniform(0.7, 1.3, len(own))), 10_000), 0)
    _write(
        path,
        {
            "household": own,
            "amount": amount.astype(np.int64),
            "age": np.clip(np.rint(rng.normal(40, 22, len(own))), 0, 99).astype(np.int64),
            "kind": np.where(rng.random(len(own)) < 0.5, "flat", "house"),
        },
    )


_PERSONS: dict[str, Any] = {"x": "income", "y": "age", "by": "married", "unit": "pid"}
_CODES = {"column": "code", "bounds": [0, 20], "step": 1}
_FREQUENCIES: dict[str, Any] = {"x": "Freq", "y": "count", "w": "Freq", "by": "Sex"}
FILES = (
    File(name="acs2012_openintro_2000.csv", x="hrs_work", y="age", by="citizen"),
    File(
        name="adult_census1994.csv.gz",
        x="hours_per_week",
        y="age",
        by="sex",
        w="thousands",
        declared={"thousands": {"column": "fnlwgt", "bounds": [0, 2_000_000], "step": 1000}},
    ),
    File(
        name="nltcs_binary16.csv.gz",
        x="n15",
        y="n14",
        by="v0",
        declared={f"n{k}": {"column": f"v{k}", "bounds": [0, 1], "step": 1} for k in (14, 15)},
    ),
    File(name="pums2000_california_10000.csv", x="income", y="age", by="latino"),
    File(name="pums2000_codebook.csv", x="code", y="again", by="variable", declared={"code": _CODES, "again": _CODES}),
    File(name="pums_california_1000_pid.csv", **_PERSONS),
    File(name="pums_california_dup_persons.csv", max_rows=4, **_PERSONS),
    File(name="pums_california_1000_nulls.csv", max_rows=4, **_PERSONS),
    File(name="ricefarms.csv", x="wage", y="price", by="bimas", unit="id", max_rows=6),
    *(
        File(
            name=f"table_{name}.csv",
            **_FREQUENCIES | more,
            declared={"count": {"column": "Freq", "bounds": [0, 1000], "step": 1}},
        )
        for name, more in (("HairEyeColor", {}), ("Titanic", {}), ("UCBAdmissions", {"by": "Gender"}))
    ),
    File(name="uk2001_occupation_by_age.csv", x="A", y="B", by="age"),
    File(
        name="us_military_2010_1414593.parquet",
        x="step",
        y="again",
        by="hisp",
        declared={name: {"column": "rank", "bounds": [1, 11], "step": 1} for name in ("step", "again")},
    ),
    File(
        name="cps_tax_units_2013_2014.parquet",
        x="wages",
        y="age_head",
        by="FLPDYR",
        w="thousands",
        declared={"thousands": {"column": "weight_x100", "bounds": [0, 600_000], "step": 1000}},
    ),
    File(name="nafld_patients_17549.csv.gz", x="weight", y="age", by="male", unit="id"),
    File(
        # Patients with at most eight values: more rows of a patient than count would be left out by a keyed choice.
        name="nafld_laboratory_400123.parquet",
        x="value",
        y="days",
        by="test",
        unit="id",
        max_rows=8,
        only="id IN (SELECT id FROM file GROUP BY id HAVING count(*) <= 8)",
    ),
    File(
        name="heaped_money.csv",
        x="earnings",
        y="hours",
        by="region",
        declared={"earnings": {"bounds": [0, 400], "step": "0.0001"}},
        make=heaped_money,
    ),
    File(
        name="code_for_none.csv",
        x="hours",
        y="visits",
        by="status",
        declared={
            "hours": {"bounds": [0, 60], "step": 1, "outside": "drop"},
            "visits": {"bounds": [0, 8], "step": 1, "outside": "drop"},
        },
        make=code_for_none,
    ),
    File(
        name="wide_clusters.csv",
        x="amount",
        y="age",
        by="kind",
        unit="household",
        max_rows=6,
        declared={"amount": {"bounds": [0, 1_000_000], "step": 1}, "age": {"bounds": [0, 9900], "step": 1}},
        make=wide_clusters,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows as numbers. A value that is missing or left out is NaN; `by` is a code, `person` a number of its own in each sample."""

    group: IntArray
    person: IntArray
    by: IntArray
    numbers: Mapping[str, FloatArray]

    def at(self, places: IntArray, group: IntArray, person: IntArray) -> "Rows":
        """The rows at these places, as rows of these groups and persons."""
        numbers = {name: values[places] for name, values in self.numbers.items()}
        return Rows(group=group, person=person, by=self.by[places], numbers=numbers)


@dataclass(frozen=True, kw_only=True)
class Population:
    """A file as its custodian declared it: the parts of its variables by role, its rows, and what is handed to the curator."""

    file: File
    parts: Mapping[str, dict[str, Any]]
    rows: Rows
    raw: Mapping[str, FloatArray]
    expected_rows: int = ROWS

    @property
    def persons(self) -> int:
        """How many there are."""
        return int(self.rows.person[-1]) + 1

    @property
    def expected_persons(self) -> float:
        """Of one sample."""
        return max(self.expected_rows * self.persons / len(self.rows.person), 12.0)


def _drafted(path: Path) -> dict[str, dict[str, Any]]:
    """The variables as the library drafts them from the file."""
    done = CliRunner().invoke(app, ["describe", str(path), "--from-data"], catch_exceptions=False)
    return dict(tomllib.loads(done.output)["variables"])


def population(
    file: File, folder: Path, drafted: Mapping[str, dict[str, Any]] | None = None, rows_of_sample: int = ROWS
) -> Population:
    """Read a file, draft its declaration and confirm it.

    With drafts of somebody else rows without a category have none, code -1; with these they count as the first.
    """
    path = file.path(folder)
    every = {**(_drafted(path) if drafted is None else drafted), **file.declared}
    roles = {role: name for role, name in (("x", file.x), ("y", file.y), ("by", file.by), ("w", file.w)) if name}
    parts = {role: dict(every[name]) for role, name in roles.items()}
    if drafted is None:
        parts = {
            role: {key: own for key, own in part.items() if key != "missing_codes"} for role, part in parts.items()
        }
    reader = f"read_parquet('{path}')" if path.suffix == ".parquet" else f"read_csv('{path}', all_varchar = true)"
    columns = {role: parts[role].get("column", name) for role, name in roles.items()}
    unit = f'dense_rank() OVER (ORDER BY "{file.unit}")' if file.unit else "row_number() OVER ()"
    kinds = dict.fromkeys(roles, "DOUBLE") | {"by": "VARCHAR"}
    chosen = ", ".join(f'TRY_CAST("{column}" AS {kinds[role]}) AS "{role}"' for role, column in columns.items())
    present = f'"{file.unit}" IS NOT NULL' if file.unit else "true"
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"CREATE VIEW file AS FROM {reader}")
        read = connection.execute(
            f"SELECT {unit} - 1 AS person, {chosen} FROM file WHERE {file.only} AND {present} ORDER BY 1"
        ).fetchnumpy()
    raw, numbers = {}, {}
    for role in roles.keys() - {"by"}:
        raw[role], numbers[role] = _on_grid(np.ma.filled(read[role].astype(np.float64), np.nan), parts[role])
    by = np.full(len(read["person"]), -1, dtype=np.int64)
    if "by" in parts:
        codes = {str(label): code for code, label in enumerate(parts["by"]["categories"])}
        codes |= {"": codes[next(iter(codes))] if drafted is None else -1}
        by = np.array([codes[str(text)] for text in np.ma.filled(read["by"].astype(object), "").tolist()])
    person = np.asarray(read["person"], dtype=np.int64)
    rows = Rows(group=np.zeros(len(by), dtype=np.int64), person=person, by=by, numbers=numbers)
    return Population(file=file, parts=parts, rows=rows, raw=raw, expected_rows=rows_of_sample)


def _on_grid(values: FloatArray, part: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
    """What the file holds, on its grid, and what counts of it."""
    step = float(Fraction(str(part["step"])))
    low, high = (float(Fraction(str(end))) for end in part["bounds"])
    held = np.rint(values / step) * step
    codes = [float(Fraction(str(code))) for code in part.get("missing_codes", ())]
    if codes:
        is_code = np.isin(values, codes)
        return np.where(is_code, values, held), np.where(is_code, np.nan, np.clip(held, low, high))
    if part.get("outside") == "drop":
        return held, np.where((held < low) | (held > high), np.nan, held)
    return held, np.clip(held, low, high)


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Samples of a population as groups of one table."""

    population: Population
    rows: Rows
    groups: int
    places: IntArray

    @property
    def names(self) -> list[str]:
        """Labels of the samples."""
        return [f"s{k}" for k in range(self.groups)]

    def table(self) -> pa.Table:
        """What the curator gets."""
        names = pa.array(self.names)
        labels = pa.DictionaryArray.from_arrays(pa.array(self.rows.group.astype(np.int32)), names).cast(pa.string())
        categories = [str(label) for label in self.population.parts.get("by", {"categories": [""]})["categories"]]
        codes = pa.array(self.rows.by.astype(np.int32), mask=self.rows.by < 0)
        by = pa.DictionaryArray.from_arrays(codes, pa.array(categories)).cast(pa.string())
        numbers = {
            role: pa.array(values[self.places], mask=np.isnan(values[self.places]))
            for role, values in self.population.raw.items()
        }
        return pa.table({"sample": labels, "by": by, "person": pa.array(self.rows.person), **numbers})

    def document(self, relation: str) -> dict[str, Any]:
        """The declaration: the file's variables under the names of their roles, and the samples."""
        names, file = self.names, self.population.file
        keys = ("bounds", "step", "outside", "categories")
        variables = {
            role: {key: part[key] for key in keys if key in part} for role, part in self.population.parts.items()
        }
        if "w" in variables:
            variables["w"]["weight"] = True
        categories = variables["by"]["categories"] = [str(c) for c in variables["by"]["categories"]]
        variables["by"] |= {"missing": categories[0], "unseen": categories[0]}
        levels = {f"h{k}": names[k * GROUPED : (k + 1) * GROUPED] for k in range(-(-len(names) // GROUPED))}
        variables["sample"] = {
            "categories": names,
            "missing": names[0],
            "unseen": names[0],
            "hierarchies": {"half": levels},
        }
        variables["word"] = {
            "column": "sample",
            "categories": ["other"],
            "unseen": "other",
            "missing": "other",
            "unlisted": True,
        }
        unit = {"id": "person", "max_rows": file.max_rows} if file.max_rows > 1 else {}
        return {
            "dataset": {"name": "stack", "population": "stack", "public": True},
            "unit": {"relation": relation, **unit},
            # Persons are drawn independently, with all their rows.
            "design": {"draws": "independent"},
            "variables": variables,
        }


def stacked(population: Population, groups: int, seed: int) -> Stack:
    """So many samples of persons with all their rows."""
    rng = np.random.default_rng([seed, groups])
    persons = rng.poisson(population.expected_persons, groups)
    drawn = rng.integers(0, population.persons, int(persons.sum()))
    starts = np.searchsorted(population.rows.person, np.arange(population.persons + 1))
    lengths = (starts[1:] - starts[:-1])[drawn]
    own = np.repeat(np.arange(len(drawn)), lengths)
    places = np.arange(len(own)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + starts[drawn][own]
    group = np.repeat(np.arange(groups), persons)[own]
    return Stack(population=population, rows=population.rows.at(places, group, own), groups=groups, places=places)
