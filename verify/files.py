"""Intervals of every measure on every public file and on three hostile ones, with samples of a file as the cells of one table.

Claim, fixed before the first run. From each file 1,000 samples are drawn under each relation (200 rows or so: a Poisson number of independent
draws with replacement, of persons with all their rows where they have several), stacked as the categories of one variable, declared
as the library drafts the file and its custodian confirms it, registered, planned, charged and released through a ledger on disk.
The requests are the examples of every method in the registry, written for the roles of the file's columns; of several examples of a method a quarter
is asked of each file, in turn. Whatever states an interval at 95 % is judged, in tables and by `infer`: that of noise against the
group's own value, that with sampling against the file's; of a quantile it is enough to hold a v with #{x < v} <= q n <= #{x <= v}, and a
band must hold at every point of its curve. A measure whose truth is not known here fails the claim.
In no setting (file, request, table, kind), under either relation and under both together (2,000 cells), a binomial test at .0005 rejects 93.5 %; or,
with sampling, one point less than the textbook's interval without noise covers on the same samples, where that is less (long tails,
few values): every such setting is listed with both shares. Cells in which no interval is given hold nothing and deny nothing: their share is stated. Methods that limit the number of cells
are asked for parts of the samples, and lists of quantiles for as many as give 1,000 cells; families, which are fitted cell by cell, for 50 cells of each file and relation; what has fewer than 1,000 cells is judged over all files
together. Intervals with sampling of a family assume it, and no file follows one: `families` judges them. Those of blocks stand in `blocks`.
Single numbers that no variable parts into cells (`range_count`, `propose_test_release`) are not judged here. The bounds have stood since before the first run;
the numbers of samples and of examples were chosen after it, by the time it took. Lists of margins are asked in eight releases since one release, whose cells
share a part of their noise, held 91.5 % in 2,003 cells and 95.7 % with other noise.
Files are judged in two processes. For six samples every release is also saved, read back, shown, asked for its intervals and written in every format.

The three hostile files: earnings with a step of .0001, half of them at eight round amounts; hours in which 99 stands for "does not apply", declared up to
60; households of up to six that share whether they spend anything, four of five nothing, between bounds 100 times too wide.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.stats import binomtest
from typer.testing import CliRunner

import dalenius
from dalenius import Curator
from dalenius.algebra import tabulation
from dalenius.cli.main import app
from dalenius.core.law import FloatArray
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release, Table
from dalenius.errors import BudgetExhausted, DaleniusError, TooLarge, Unsupported
from dalenius.inference import intervals
from dalenius.publish import formats, to_document
from verify import _file_truths as truths
from verify._file_requests import examples
from verify._file_truths import Asked, Truth
from verify._stacks import FILES, Population, Stack, population, stacked

SAMPLES = 1000
PARTS, LISTED, SMALL, FITTED = 500, 125, 6, 50
"""Samples in one request where a method limits the number of cells, of a list of quantiles, in one that is published, and where each cell is fitted."""
PROCESSES = 2
FLOOR, LEVEL = 0.935, 0.0005
RELATIONS = ("add-remove", "replace")
POLICY = {
    "budget": {"rho": 1000, "delta": "0.5"},
    "allow": {"acknowledge": ["fixed_weights", "individual", "bootstrap"]},
    "floors": {"individual": 1, "bootstrap": 1},
}
# A bound that a later step used is a public number, stated as it is.
NOT_JUDGED = ("bound",)
FAMILY = "exponential_family"
QUANTILES = ("quantiles", "boxplot")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is judged together."""

    file: str
    relation: str
    request: str
    measure: str
    kind: str
    by: str


@dataclass(kw_only=True)
class Tally:
    """Cells of one setting: how many there were, how many had an interval, and how many of those held the truth."""

    cells: int = 0
    given: int = 0
    held: int = 0
    textbook: int = 0
    compared: int = 0

    def add(
        self, ends: tuple[FloatArray, FloatArray], truth: tuple[FloatArray, FloatArray], textbook: Any, points: int
    ) -> None:
        """Cells are curves of so many points, each of which must hold."""
        (lower, upper), (least, largest) = ends, truth
        slack = 1e-9 * (1 + np.abs(np.nan_to_num(upper, posinf=0, neginf=0)))
        is_stated = ~np.isnan(np.stack([lower, upper, least]).reshape(3, -1, points))
        is_given = np.asarray(is_stated.all(axis=(0, 2)))
        holds = ((lower - slack <= largest) & (least <= upper + slack)).reshape(-1, points).all(axis=1)
        self.cells += len(is_given)
        self.given += int(is_given.sum())
        self.held += int((holds & is_given).sum())
        if textbook is not None:
            low, high = textbook
            self.textbook += int(
                (((low <= largest) & (least <= high)).reshape(-1, points).all(axis=1) & is_given).sum()
            )
            self.compared += int(is_given.sum())

    def merge(self, other: "Tally") -> None:
        """Add the cells of another setting."""
        for name in ("cells", "given", "held", "textbook", "compared"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def floor(self) -> float:
        """Which share must not be rejected."""
        return min(FLOOR, self.textbook / self.compared - 0.01) if self.compared else FLOOR

    @property
    def is_rejected(self) -> bool:
        """Whether the binomial test speaks against the floor."""
        return bool(
            self.given
            and self.floor > 0
            and binomtest(self.held, self.given, self.floor, alternative="less").pvalue < LEVEL
        )


def _line(setting: Setting, tally: Tally) -> dict[str, Any]:
    """One line of a table of results."""
    own = {name: text for name, text in asdict(setting).items() if text not in ("", "all", "both")}
    return own | {
        "cells": tally.cells,
        "given": tally.given / tally.cells,
        "coverage": tally.held / tally.given if tally.given else float("nan"),
        "without noise": tally.textbook / tally.compared if tally.compared else float("nan"),
        "floor": tally.floor,
    }


def truth_of(asked: Asked, release: Release, table: Table) -> tuple[Truth, int] | None:
    """The truth of each cell of a table, and of how many points a curve consists; None where nothing here knows it."""
    measure, space, request = table.measure, table.space, asked.table
    bounds = next((other.values for other in release.tables if other.measure == "bound"), None)
    if measure in ("median", "quantiles", "interquartile range") or measure.startswith("quantile "):
        labels = [axis.labels for axis in release.table.space.axes if axis.variable == "quantile"]
        levels = [Fraction(label) for label in labels[0]] if labels else [Fraction(request.get("q", "1/2"))]
        found = truths.quantile_sets(asked, release.table.space, levels)
        return (truths.distances(found, levels) if measure == "interquartile range" else found), 1
    if measure == "distribution":
        points = [float(label) for label in space.axes[-1].labels]
        return truths.curves(asked, space, points), len(points)
    if measure == "persons" or request["measure"] == "labels":
        return truths.persons(asked, space), 1
    if measure in ("clipped_count", "clipped_total"):
        return truths.clipped(asked, space, _bound_of(release, request) if bounds is None else float(bounds[0])), 1
    if measure == "number of persons":
        return truths.sizes(asked, [float(amount) for amount in request["clip"]]), 1
    if measure == "clipped total" and bounds is not None:
        return truths.clipped_by_cell(asked, space, bounds), 1
    if measure == "dominated cells":
        return truths.dominated(asked), 1
    if measure == FAMILY:
        return truths.fitted(asked, space), 1
    if measure in truths.ESTIMATORS:
        is_cut = bounds is not None and measure == "mean" and not request.get("bound_clipped")
        cut = (float(bounds[0]), float(bounds[1])) if is_cut and bounds is not None else None
        return truths.estimate(asked, space, measure, None, cut), 1
    return None


def _bound_of(release: Release, request: Mapping[str, Any]) -> float:
    """The bound that was asked for, or the one of several that the release says was chosen."""
    clip = request["clip"]
    if not isinstance(clip, list):
        return float(Fraction(str(clip)))
    (named,) = [
        match[1] for note in release.provenance.warnings if (match := re.search(r" the bound (\S+) was chosen", note))
    ]
    return float(named)


@dataclass(kw_only=True)
class Court:
    """Every setting that was judged, what could not be, and how many releases there were."""

    tallies: dict[Setting, Tally] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    refusals: Counter[str] = field(default_factory=Counter)
    releases: int = 0

    def verdict(self, least: int) -> dict[str, Any]:
        """Settings by themselves where they have enough cells, and with relations and files put together."""
        together: dict[Setting, Tally] = {}
        for setting, tally in self.tallies.items():
            wider = [replace(setting, relation="both")]
            wider += [replace(setting, relation="both", file="all", request="")]
            for one in wider:
                together.setdefault(one, Tally()).merge(tally)
        alone = {setting: tally for setting, tally in self.tallies.items() if tally.cells >= least}
        judged = [(setting, tally) for setting, tally in (*alone.items(), *together.items())]
        rejected = [_line(setting, tally) for setting, tally in judged if tally.is_rejected]
        overall = [_line(setting, tally) for setting, tally in together.items() if setting.file == "all"]
        lowered = [
            _line(setting, tally)
            for setting, tally in together.items()
            if setting.file != "all" and tally.given and tally.floor < FLOOR
        ]
        return {
            "files": len({setting.file for setting in self.tallies}),
            "releases": self.releases,
            "settings": len(judged),
            "intervals": sum(tally.given for tally in self.tallies.values()),
            "least coverage of a setting": min(
                (tally.held / tally.given for tally in alone.values() if tally.given), default=0.0
            ),
            "measures": sorted(overall, key=lambda line: (line["measure"], line["kind"], line["by"])),
            "settings in which the interval without noise covers less than 94.5 %": sorted(
                lowered, key=lambda line: line["floor"]
            ),
            "without a truth": sorted(self.unknown),
            "rejected settings": rejected,
            "ok": not rejected and not self.unknown and bool(judged),
        }

    def merge(self, other: "Court") -> None:
        """Take over what was judged elsewhere."""
        for setting, tally in other.tallies.items():
            self.tallies.setdefault(setting, Tally()).merge(tally)
        self.unknown |= other.unknown
        self.refusals += other.refusals
        self.releases += other.releases

    def judge(self, file: str, relation: str, asked: Asked, release: Release) -> int:
        """Judge every interval that a release states; the number of cells that had one."""
        self.releases += 1
        cells = 0
        for table in release.tables:
            ends = {("noise", "table"): tabulation.bounds(release, table)}
            if table.measure != FAMILY:
                ends["sampling", "table"] = tabulation.sampled_bounds(release, table)
            if table is release.table and not release.is_joint:
                # Of an estimate they are those of the table, and of a list they are simulated.
                ends |= inferred(release)
            stated = {key: both for key, both in ends.items() if np.isfinite(both[0]).any()}
            if not stated or table.measure in NOT_JUDGED:
                continue
            known = truth_of(asked, release, table)
            if known is None:
                self.unknown.add(f"{asked.table['measure']}: {table.measure}")
                continue
            truth, points = known
            for (kind, source), both in stated.items():
                target = truth.own if kind == "noise" else truth.of_file
                if target is None:
                    continue
                setting = Setting(
                    file=file,
                    relation=relation,
                    request=", ".join(
                        f"{key} = {value}" for key, value in asked.table.items() if key not in ("rows", "columns")
                    ),
                    measure=table.measure,
                    kind=kind,
                    by=source,
                )
                textbook = truth.textbook if kind == "sampling" else None
                self.tallies.setdefault(setting, Tally()).add(both, target, textbook, points)
            cells = max(cells, table.space.size // points)
        return cells


def inferred(release: Release) -> dict[tuple[str, str], tuple[FloatArray, FloatArray]]:
    """Both kinds of interval from the document alone, where they are given."""
    found = {}
    for kind, name in (("noise", "population"), ("sampling", "parameter")):
        try:
            made = intervals(release, kind=name)
        except Unsupported:
            continue
        if len(made.axes) == len(release.table.space.axes):
            made = made.in_order([made.axes.index(axis) for axis in release.table.space.axes])
        found[kind, "infer"] = (made.lower, made.upper)
    return found


class RequestService:
    """One stack under one relation; a new ledger is opened when the budget of one is spent."""

    def __init__(self, stack: Stack, relation: str, folder: Path, seed: str) -> None:
        self.table, self.document, self.folder = stack.table(), stack.document(relation), folder
        self.seed, self.ledgers = seed, 0
        self.curator = self._opened()

    def _opened(self) -> Curator:
        self.ledgers += 1
        name = f"{self.seed} {self.ledgers}"
        ledger = self.folder / f"{abs(hash(name))}-{self.ledgers}.sqlite"
        curator = Curator.open(self.table, self.document, ledger=ledger, policy=POLICY, rng=RecordedRandomness(name))
        curator.register(by="verify")
        return curator

    def ask(self, table: Mapping[str, Any], privacy: Mapping[str, Any]) -> Release:
        request = {"table": dict(table), "privacy": dict(privacy)}
        try:
            return self.curator.release(request)
        except BudgetExhausted:
            self.curator.close()
            self.curator = self._opened()
            return self.curator.release(request)


def parts_of(table: Mapping[str, Any], names: Sequence[str], size: int) -> Iterator[dict[str, Any]]:
    """The same request for some of the samples at a time."""
    for first in range(0, len(names), size):
        axis = {"variable": "sample", "categories": list(names[first : first + size])}
        yield {
            **table,
            **{
                key: [axis if name == "sample" else name for name in table[key]]
                for key in ("rows", "columns")
                if key in table
            },
        }


def asked_of(
    desk: RequestService, court: Court, stack: Stack, relation: str, table: dict[str, Any], privacy: dict[str, Any]
) -> int:
    """Ask for all samples at once, or in parts; how many cells had an interval."""
    asked, size = Asked(stack=stack, table=table), stack.groups
    if table["measure"] == FAMILY:
        size = FITTED
    elif table["measure"] in QUANTILES or "margins" in table:
        # Cells of a list share the noise of its coarser tables: several releases, so that it varies.
        size = LISTED
    elif "ranges" in table:
        # Ranges are planned together with the other axis.
        size = PARTS
    try:
        return _in_parts(desk, court, relation, asked, privacy, size)
    except TooLarge:
        if size <= PARTS:
            raise
    return _in_parts(desk, court, relation, asked, privacy, PARTS)


def _in_parts(
    desk: RequestService, court: Court, relation: str, asked: Asked, privacy: dict[str, Any], size: int
) -> int:
    stack, cells = asked.stack, 0
    for part in [asked.table] if size >= stack.groups else parts_of(asked.table, stack.names, size):
        found = court.judge(stack.population.file.name, relation, asked, desk.ask(part, privacy))
        cells += found
        is_enough = cells >= stack.groups and "margins" not in asked.table
        if not found or is_enough or size == FITTED:
            break
    return cells


def published(release: Release, folder: Path) -> None:
    """Saved, read back, shown, asked for its intervals, and written in every format."""
    inferred(release)
    place = dalenius.save(release, folder / "release")
    assert to_document(dalenius.load(place)) == to_document(release)
    done = CliRunner().invoke(app, ["show", str(place)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    for name, form in formats().items():
        assert form.content(release), name


def turn(listed: Sequence[Any], first: int) -> list[Any]:
    """A list from another place on."""
    first %= len(listed)
    return [*listed[first:], *listed[:first]]


def judged_file(
    court: Court, population: Population, samples: int, number: int, relations: Sequence[str], folder: Path
) -> None:
    """Every method on one file; what states no interval under one relation is not asked under the next."""
    silent: set[str] = set()
    for place, relation in enumerate(relations):
        stack = stacked(population, samples, 100 * number + RELATIONS.index(relation))
        desk = RequestService(stack, relation, folder, f"{population.file.name} {relation}")
        for listed in examples(population).values():
            wanted = -(-len(listed) // 4)
            for table, privacy in turn(listed, number):
                if str(table) in silent:
                    continue
                try:
                    found = asked_of(desk, court, stack, relation, table, privacy)
                    wanted -= bool(found)
                    silent |= set() if found else {str(table)}
                    if not place:
                        small = (
                            next(parts_of(table, stack.names, SMALL)) if "word" not in table.get("rows", ()) else table
                        )
                        published(desk.ask(small, privacy), folder)
                except DaleniusError as error:
                    court.refusals[f"{table['measure']}: {type(error).__name__} {error}"] += 1
                if not wanted:
                    break
        desk.curator.close()


def judged_alone(number: int, samples: int) -> Court:
    """One file in a process of its own."""
    court = Court()
    with TemporaryDirectory() as name:
        folder = Path(name)
        if FILES[number].path(folder).exists():
            judged_file(court, population(FILES[number], folder), samples, number, RELATIONS, folder)
    return court


def run(quick: bool = False) -> dict[str, Any]:
    """Every file; what was rejected, and what was not judged."""
    court, samples = Court(), 250 if quick else SAMPLES
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        for file, done in zip(FILES, pool.map(judged_alone, range(len(FILES)), repeat(samples)), strict=True):
            court.merge(done)
            alone = done.verdict(samples)
            for line in alone["rejected settings"]:
                print(f"verify: files: rejected {line}", file=sys.stderr)
            print(
                f"verify: files: {file.name}, {done.releases} releases, {alone['settings']} settings",
                file=sys.stderr,
                flush=True,
            )
    return court.verdict(samples)
