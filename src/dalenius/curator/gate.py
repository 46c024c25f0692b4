"""The one door between exact values and releases.

Everything below this line of the program is exact and sealed; everything that leaves has passed a measurement whose
worst case was charged before the first row was read. Read this file to audit that claim:

1. `run` refuses to start without a reservation that covers the plan.
2. Each step is priced again, and the running sum may never exceed the reservation. The steps of a batch, which are all
   fixed in advance, are priced together as one event, by the same function that priced the reservation.
3. Noise with a public scale is drawn before the data are read.
4. Nothing about the content of the data can choose between two error messages: after the first fetch there is one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalenius.core.budget import Cost
from dalenius.core.contracts import FunctionStep, KeyedStep, ListingSource, Measurement, OneScanSource, Plan, Source
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import BatchPlan, TablePlan
from dalenius.core.query import LabelsQuery, Query, RowsQuery, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, NoReply
from dalenius.core.sealed import Sealed
from dalenius.engines import rows_of
from dalenius.errors import AfterCharge, InternalError
from dalenius.ledger.composition import compose

Stage = Callable[[str], None]


@dataclass(frozen=True)
class GateResult:
    """Measured blocks by step, in order; None where a step gave no reply."""

    by_step: tuple[Block | None, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for block in self.by_step if block is not None)

    @property
    def is_silent(self) -> bool:
        return None in self.by_step


def with_keys(plan: TablePlan, fingerprint: str, secret: bytes) -> TablePlan:
    """The plan whose steps know the population's secret where their noise is a function of it; no plan itself does."""
    steps = tuple(
        step.with_secret(fingerprint=fingerprint, secret=secret) if isinstance(step, KeyedStep) else step
        for step in plan.measurements
    )
    is_same = all(new is old for new, old in zip(steps, plan.measurements, strict=True))
    return plan if is_same else replace(plan, measurements=steps)


def with_functions(plan: TablePlan, functions: Mapping[str, Any], stage: Stage) -> TablePlan:
    """The plan whose steps know the custodian's own functions; no request document can bring one."""
    if not functions_of(plan):
        return plan
    steps = tuple(
        step.with_functions(functions, stage) if isinstance(step, FunctionStep) else step for step in plan.measurements
    )
    return replace(plan, measurements=steps)


def functions_of(plan: TablePlan) -> tuple[str, ...]:
    """Digests of the custodian's own functions that a plan would run."""
    steps = (step for step in plan.measurements if isinstance(step, FunctionStep))
    return tuple(dict.fromkeys(name for step in steps for name in step.functions))


def run(
    plan: Plan,
    source: Source,
    neighbours: Neighbours,
    reserved: Cost,
    rng: RandomSource,
    *,
    entry: str = "",
    stage: Stage = lambda _: None,
) -> GateResult:
    """Drive a plan step by step against one reservation that is already on disk."""
    if not plan.reservation.fits(reserved):
        raise InternalError("The reservation does not cover the plan; nothing was read.")
    try:
        return _drive(plan, source, neighbours, reserved, rng, stage)
    except Exception:
        pass
    # Raised outside the handler, so that nothing of the cause hangs on it.
    raise AfterCharge(entry)


def _drive(
    plan: Plan, source: Source, neighbours: Neighbours, reserved: Cost, rng: RandomSource, stage: Stage
) -> GateResult:
    by_step: list[Block | None] = []
    taken: list[Measurement] = []
    summed: Cost | None = None
    steps = plan.steps()
    measurement: Measurement | None = next(steps, None)
    while measurement is not None:
        taken.append(measurement)
        cost = measurement.profile(neighbours).cost()
        summed = cost if summed is None else summed + cost
        if not summed.fits(reserved) and not _begins_batch(plan, taken, neighbours, reserved):
            raise InternalError("A step would exceed the reservation.")
        stage("drawing noise")
        drawn = measurement.draw(rng)
        stage("measuring")
        exact = _fetch(source, measurement.needs)
        outcome = measurement.run(exact, drawn, rng)
        by_step.append(None if isinstance(outcome, NoReply) else measurement.block(outcome))
        try:
            measurement = steps.send(outcome)
        except StopIteration:
            measurement = None
    return GateResult(tuple(by_step))


def _begins_batch(plan: Plan, taken: Sequence[Measurement], neighbours: Neighbours, reserved: Cost) -> bool:
    """Whether the steps so far are the beginning of a batch that as a whole stays within the reservation.

    Who sees a beginning sees no more than who sees the whole.
    """
    if not isinstance(plan, BatchPlan) or len(taken) > len(plan.measurements):
        return False
    if not all(step is listed for step, listed in zip(taken, plan.measurements, strict=False)):
        return False
    return compose([step.profile(neighbours) for step in plan.measurements], reserved.delta).fits(reserved)


def _fetch(source: Source, queries: Sequence[Query]) -> tuple[Sealed[Any], ...]:
    """The exact aggregates of one step; several tables, or several lists, by one scan where the engine can."""
    tables = [query for query in queries if isinstance(query, TableQuery)]
    if len(tables) == len(queries) > 1 and isinstance(source, OneScanSource):
        return source.tables(tables)
    lists = [query for query in queries if isinstance(query, ValuesQuery)]
    if len(lists) == len(queries) > 1 and isinstance(source, ListingSource):
        return source.lists(lists)
    return tuple(fetched(source, query) for query in queries)


def fetched(source: Source, query: Query) -> Sealed[Any]:
    """The exact aggregate that a query names."""
    if isinstance(query, LabelsQuery):
        return source.labels(query)
    if isinstance(query, RowsQuery):
        return rows_of(source, query)
    if isinstance(query, SizesQuery):
        return source.sizes(query)
    return source.table(query) if isinstance(query, TableQuery) else source.values(query)
