"""Releases of an example on the toy files of `error_worlds`, beside what they would be without their noise.

The plan of the example runs through the gate, and each of its steps runs again without noise, with the choices that it
made: docs/decisions/0012-kits-judge-errors.md says what is true of what.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from dalenius.algebra.estimates import is_estimate
from dalenius.algebra.tabulation import bounds, sampled_bounds
from dalenius.core.contracts import AdditiveMeasurement, Measurement, Source
from dalenius.core.law import Additive, FloatArray, Joint, Thinned
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block, Outcome, Release, Table
from dalenius.core.sealed import Sealed
from dalenius.curator import gate
from dalenius.errors import RequestError
from dalenius.measurements.clipped_totals import ClippedTotals
from dalenius.measurements.residual import Residual
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.postprocess import within
from dalenius.testing import error_worlds, rule_kit
from dalenius.testing.asking import plan_of
from dalenius.testing.error_worlds import REPLICATE, REPLICATES, WORLDS

CONFIDENCE = 0.95
HOW = ("error", "replicates", "sample", "keyed")
"""Keys that say how a number is measured, and not which."""
LARGEST = {"epsilon": 100, "rho": 100}
"""A budget for which choices are hardly ever wrong."""
SILENCE = DiscreteLaplace(Fraction(12))
MOSTLY = 0.5
FITTED = "family"
"""Estimates that are fitted cell by cell, which takes long."""
SECRET = b"the secret of the kit".ljust(32)
Request = Mapping[str, Any]


@dataclass(kw_only=True)
class WatchedStep:
    """A measurement of a plan that remembers what it answered; `silent_from` is one to run again without its noise."""

    inner: Measurement
    silent_from: "WatchedStep | None" = None
    stream: str = ""
    drawn: Any = None
    exact: tuple[Sealed[Any], ...] = ()
    answer: Block | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def draw(self, rng: Any) -> Any:
        if self.silent_from is None:
            return self.inner.draw(rng)
        drawn = self.silent_from.drawn
        return [np.zeros_like(part) for part in drawn] if isinstance(drawn, list) else np.zeros_like(drawn)

    def run(self, exact: tuple[Sealed[Any], ...], drawn: Any, rng: Any) -> Outcome:
        """The answer, from a stream that can be begun again."""
        self.exact, self.drawn = exact, drawn
        self.stream = rng.bytes(16).hex() if self.silent_from is None else self.silent_from.stream
        return self.inner.run(exact, drawn, RecordedRandomness(self.stream))

    def block(self, outcome: Any) -> Block:
        self.answer = self.inner.block(outcome)
        return self.answer

    @property
    def is_additive(self) -> bool:
        """Whether noise that was drawn before is all that stands between the answer and exact sums."""
        is_plain = isinstance(self.inner, AdditiveMeasurement) and isinstance(self.drawn, np.ndarray)
        return is_plain or isinstance(self.inner, Residual | ClippedTotals)

    def silent(self) -> Block:
        again = WatchedStep(inner=self.inner, silent_from=self)
        return again.block(again.run(self.exact, again.draw(None), None))


@dataclass(kw_only=True)
class WatchedPlan:
    """A plan whose steps remember what they answered; or those of its additive steps, to be run again in silence."""

    plan: TablePlan
    again: Sequence[WatchedStep] = ()
    watched: list[WatchedStep] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plan, name)

    def steps(self) -> Generator[WatchedStep, Outcome, None]:
        if self.again:
            for step in self.again:
                self.watched.append(WatchedStep(inner=step.inner, silent_from=step))
                yield self.watched[-1]
            return
        inner = self.plan.steps()
        measurement = next(inner, None)
        while measurement is not None:
            self.watched.append(WatchedStep(inner=measurement))
            outcome = yield self.watched[-1]
            try:
                measurement = inner.send(outcome)
            except StopIteration:
                return


@dataclass(frozen=True, eq=False)
class SimulatedRelease:
    plan: TablePlan
    release: Release
    steps: tuple[WatchedStep, ...]

    def silent_blocks(self, source: Source | None = None) -> tuple[Block, ...]:
        """Exact sums of the same file or of another one, with the laws of the plan; choices as they were made."""
        again = [step for step in self.steps if step.is_additive]
        if source is None or not again:
            fresh = iter([step.silent() for step in again])
        else:
            watched = WatchedPlan(plan=self.plan, again=again)
            gate.run(
                cast(Any, watched), source, self.plan.neighbours, self.plan.reservation, RecordedRandomness("silence")
            )
            fresh = iter([cast(Block, step.answer) for step in watched.watched])
        return tuple(next(fresh) if step.is_additive else cast(Block, step.answer) for step in self.steps)

    def silent(self, source: Source | None = None) -> tuple[Table, ...]:
        return self._own if source is None else self.plan.assemble(tuple(map(silenced, self.silent_blocks(source))))

    @cached_property
    def _own(self) -> tuple[Table, ...]:
        return self.plan.assemble(tuple(map(silenced, self.silent_blocks())))

    @property
    def is_chosen(self) -> bool:
        """Whether the first table is that of a secret sample, or mostly stays the same without noise."""
        if isinstance(self.release.law, Thinned):
            return True
        shown, silent = self.release.tables[0].values, self.silent()[0].values
        is_given = ~(np.isnan(shown) & np.isnan(silent))
        return bool(is_given.any() and np.mean((shown == silent)[is_given]) > MOSTLY)


def silenced(block: Block) -> Block:
    """The block under a law that is hardly ever anything but zero."""
    return replace(block, law=Additive(SILENCE, block.law.step)) if isinstance(block.law, Additive) else block


def run(plan: TablePlan, source: Source, seed: str) -> SimulatedRelease | None:
    """A release of a plan with recorded noise, as the curator makes it; None where a step was silent."""
    watched = WatchedPlan(plan=gate.with_keys(plan, seed, SECRET))
    passed = gate.run(cast(Any, watched), source, plan.neighbours, plan.reservation, RecordedRandomness(seed))
    if passed.is_silent:
        return None
    provenance = plan.provenance(source.domain, request={}, digest="0" * 64, software="kit")
    release = Release(blocks=passed.blocks, tables=plan.assemble(passed.blocks), law=plan.law, provenance=provenance)
    return SimulatedRelease(plan=watched.plan, release=within(plan.limits, release), steps=tuple(watched.watched))


def plan(request: Request, replicates: int, *, is_sized: bool = False) -> TablePlan:
    """The plan under a policy that allows everything; of a public number of rows, if `is_sized`."""
    return plan_of(error_worlds.domain(replicates, is_sized=is_sized), request, rule_kit.policy_of(None))


@dataclass(frozen=True, kw_only=True)
class SimulationEffort:
    """Replicates of a table, of one that a method limits, of each release of a list, of what is chosen or fitted, and
    releases of what is one number; how many worlds the last two are asked in.
    """

    cells: int = REPLICATES
    limited: int = 100
    listed: int = 40
    lists: int = 3
    chosen: int = 9
    numbers: int = 10
    worlds: int = 1


QUICK = SimulationEffort()
LONG = SimulationEffort(limited=150, lists=10, chosen=150, numbers=200, worlds=3)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplicatedExample:
    """An example of a method, with replicates as cells where it takes them and one by one where not.

    Where `is_sized` the number of rows is public; with `is_alone` each replicate is a whole file.
    """

    request: Request
    size: int
    releases: int
    worlds: int
    is_cells: bool
    is_sized: bool = False
    is_alone: bool = False

    @classmethod
    def of(
        cls, measure: str, example: Request, effort: SimulationEffort = QUICK, *, is_sized: bool = False
    ) -> "ReplicatedExample":
        """With as many replicates as the method plans for and the effort allows."""
        request = {"table": {"measure": measure, **example["table"]}, "privacy": example["privacy"]}
        number = cls(
            request=request,
            size=effort.numbers,
            releases=effort.numbers,
            worlds=effort.worlds,
            is_cells=False,
            is_sized=is_sized,
        )
        if is_sized and not example["table"].get("rows"):
            # The number of all rows is public, that of a part of them is not.
            return replace(number, size=1, is_alone=True)
        few = replace(number, size=effort.chosen, releases=1, is_cells=True)
        first = few.planned()
        if first is None:
            return number
        is_exact = all(isinstance(step, AdditiveMeasurement) for step in first.measurements)
        is_fitted = isinstance(first.law, Joint) and FITTED in first.law.parameters.get("more", {})
        if is_fitted or not is_exact:
            return few
        if isinstance(first.law, Joint) and not is_estimate(first.law):
            return replace(few, size=effort.listed, releases=effort.lists, worlds=len(WORLDS))
        many = replace(few, size=effort.cells, worlds=len(WORLDS))
        return many if many.planned() is not None else replace(many, size=effort.limited)

    def planned(self) -> TablePlan | None:
        try:
            return self.plan()
        except RequestError:
            return None

    def plan(self, number: int = 0) -> TablePlan:
        """The plan of all replicates, or of one of them. Raises `RequestError` where it is refused."""
        return plan(self.asked(number), self.size, is_sized=self.is_sized)

    def asked(self, number: int = 0) -> Request:
        """The request with the replicates as an axis more, or about one of them."""
        table = dict(self.request["table"])
        if self.is_alone:
            return self.request
        if not self.is_cells:
            table["where"] = {**table.get("where", {}), REPLICATE: [str(number)]}
            return {**self.request, "table": table}
        table["rows"] = [*table.get("rows", ()), REPLICATE]
        if isinstance(table.get("margins"), list):
            table["margins"] = [[*margin, REPLICATE] for margin in table["margins"]]
        return {**self.request, "table": table}

    def plainly(self) -> "ReplicatedExample":
        """The same question for a large budget, without keys that say how it is measured."""
        table = {key: value for key, value in self.request["table"].items() if key not in HOW}
        privacy = {key: LARGEST.get(key, value) for key, value in self.request["privacy"].items()}
        return replace(self, request={"table": table, "privacy": privacy})

    def runs(self, sources: Sequence[Source], seed: str) -> Iterator[SimulatedRelease]:
        """Every release that replied; of each file in turn, or of each replicate of the first."""
        asked = self.plan() if self.has_files else None
        for number in range(self.releases):
            source = sources[number if self.has_files else 0]
            made = run(asked or self.plan(number), source, f"{seed} {number}")
            if made is not None and made.release.tables:
                yield made

    @property
    def has_files(self) -> bool:
        """Whether each release is about a file of its own."""
        return self.is_cells or self.is_alone

    def has_replicates(self, table: Table) -> bool:
        return not self.is_cells or any(axis.variable == REPLICATE for axis in table.space.axes)

    def column(self, table: Table, numbers: FloatArray) -> FloatArray:
        """Numbers of the cells of a table, by replicate and cell."""
        whole = np.asarray(numbers, dtype=np.float64).reshape(table.shape)
        place = next((k for k, axis in enumerate(table.space.axes) if axis.variable == REPLICATE), None)
        return whole.reshape(1, -1) if place is None else np.moveaxis(whole, place, 0).reshape(self.size, -1)

    def columns(self, tables: Sequence[Table], read: Callable[[Table], FloatArray]) -> list[FloatArray]:
        return [self.column(table, read(table)) for table in tables if self.has_replicates(table)]


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedTable:
    """A table of many releases: replicates in rows, the cells that each of them has in columns.

    `truth` is the value of the file and `process` that of the process behind it, NaN where there is none; `limits` what
    the plan says to be possible.
    """

    name: str
    measure: str
    values: FloatArray
    variance: FloatArray
    ends: tuple[FloatArray, FloatArray]
    truth: FloatArray
    limits: tuple[float, float] | None = None
    sampled: FloatArray | None = None
    sampled_ends: tuple[FloatArray, FloatArray] | None = None
    process: FloatArray | None = None


def in_world(example: ReplicatedExample, world: str, seed: str) -> list[SimulatedTable]:
    parts = range(example.releases if example.has_files else 1)
    if example.is_alone:
        sources = [error_worlds.counted(world, part) for part in parts]
    else:
        sources = [error_worlds.sampled(world, example.size, part, is_sized=example.is_sized) for part in parts]
    return shown(example, sources, seed, error_worlds.expected(world, example.size))


def shown(
    example: ReplicatedExample, sources: Sequence[Source], seed: str, process: Source | None = None
) -> list[SimulatedTable]:
    """Every table of the releases of an example on files, with its truths; `process` holds what the process has."""
    made = list(example.runs(sources, seed))
    if not made:
        return []
    tables = [table for table in made[0].release.tables if example.has_replicates(table)]
    claims_sampling = process is not None and any(table.sampled is not None for table in tables)
    files = [list(sources)] + ([[process] * len(sources)] if process is not None and claims_sampling else [])
    truths: list[list[FloatArray]] = [
        _stacked([example.columns(part, lambda table: table.values) for part in of_file])
        for of_file in _truths(example, made, files, seed)
    ]

    def gathered(read: Callable[[Release, Table], FloatArray]) -> list[FloatArray]:
        return _stacked([example.columns(one.release.tables, partial(read, one.release)) for one in made])

    values, variances = gathered(lambda _, t: t.values), gathered(lambda _, t: t.variance)
    if any([part.shape for part in truth] != [part.shape for part in values] for truth in truths) or not values:
        return []
    ends = _ends(example, made)
    sampled = gathered(lambda _, t: t.values * np.nan if t.sampled is None else t.sampled)
    return [
        SimulatedTable(
            name=table.name,
            measure=table.measure,
            values=values[k],
            variance=variances[k],
            ends=(ends[0][k], ends[1][k]),
            truth=truths[0][k],
            limits=made[0].plan.limits if k == 0 else None,
            sampled=None if table.sampled is None else sampled[k],
            sampled_ends=None if table.sampled is None else (ends[2][k], ends[3][k]),
            process=None if table.sampled is None or len(truths) < 2 else truths[1][k],
        )
        for k, table in enumerate(tables)
    ]


def _ends(example: ReplicatedExample, made: Sequence[SimulatedRelease]) -> list[list[FloatArray]]:
    """Lower and upper ends of every table, without and with sampling."""
    columns: list[list[list[FloatArray]]] = [[] for _ in range(4)]
    for one in made:
        tables = [table for table in one.release.tables if example.has_replicates(table)]
        four = [(*bounds(one.release, t, CONFIDENCE), *sampled_bounds(one.release, t, CONFIDENCE)) for t in tables]
        for k, parts in enumerate(columns):
            parts.append([example.column(table, ends[k]) for table, ends in zip(tables, four, strict=True)])
    return [_stacked(parts) for parts in columns]


def _stacked(parts: Sequence[Sequence[FloatArray]]) -> list[FloatArray]:
    """The same table of every release, one below the other; nothing where releases have other cells."""
    columns = list(zip(*parts, strict=False))
    if any(len({part.shape for part in column}) > 1 for column in columns):
        return []
    return [np.concatenate(column) for column in columns]


def _truths(
    example: ReplicatedExample, made: Sequence[SimulatedRelease], files: Sequence[Sequence[Source]], seed: str
) -> list[list[tuple[Table, ...]]]:
    if not made[0].is_chosen:
        places = range(len(made)) if example.has_files else [0] * len(made)
        of_others = [[one.silent(of_file[k]) for one, k in zip(made, places, strict=True)] for of_file in files[1:]]
        return [[one.silent() for one in made], *of_others]
    plainly = example.plainly()
    return [[one.release.tables for one in plainly.runs(of_file, f"{seed} truth")] for of_file in files]
