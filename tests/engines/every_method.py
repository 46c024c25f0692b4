"""What every method asks of an engine, found by running its examples on the memory engine with recorded noise."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.engines.stacked_data import table_queries, value_queries

from dalenius.core import registry
from dalenius.core.contracts import Source
from dalenius.core.plan import TablePlan
from dalenius.core.query import LabelsQuery, Query, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.spec.load import load_dataset, load_policy
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

SECRET = bytes(32)
DOMAIN = load_dataset(rule_kit.DATASET).domain()


class Asked(MemorySource):
    """The memory engine, with a list of what it was asked."""

    queries: list[Query]

    def table(self, query: TableQuery) -> Sealed[Any]:
        self.queries.append(query)
        return super().table(query)

    def values(self, query: ValuesQuery) -> Sealed[Any]:
        self.queries.append(query)
        return super().values(query)

    def sizes(self, query: SizesQuery) -> Sealed[Any]:
        self.queries.append(query)
        return super().sizes(query)

    def labels(self, query: LabelsQuery) -> Sealed[Any]:
        self.queries.append(query)
        return super().labels(query)


@dataclass(frozen=True)
class Run:
    """One example of a method: its plan, what came through the gate, and what the engine was asked."""

    name: str
    plan: TablePlan
    values: list[list[int]]
    queries: tuple[Query, ...]


def answered(plan: TablePlan, source: Source) -> list[list[int]]:
    """What comes through the gate, with recorded noise."""
    passage = gate.run(
        gate.with_keys(plan, "fingerprint", SECRET),
        source,
        plan.neighbours,
        plan.reservation,
        RecordedRandomness("every method"),
    )
    return [block.values.tolist() for block in passage.blocks]


@cache
def runs(most: int | None = None) -> tuple[Run, ...]:
    """Every example of every method, or the first ones."""
    return tuple(_runs(most))


def _runs(most: int | None) -> Iterator[Run]:
    policy = load_policy(rule_kit.policy_of(None))
    for name, method in registry.every("methods").items():
        for example in method.examples[:most]:
            request = {"table": {"measure": name, **example["table"]}, "privacy": example["privacy"]}
            plan = plan_of(DOMAIN, request, policy)
            source = Asked(DOMAIN, rule_kit.ROWS, SECRET)
            source.queries = []
            yield Run(name, plan, answered(plan, source), tuple(source.queries))


def kinds_beyond_the_kit() -> dict[tuple[object, ...], Query]:
    """A question of every kind that some method asks and the stacked data sets do not; parts of statements are put together freely."""
    asked = {_kind(query): query for run in runs(1) for query in run.queries}
    tables = table_queries()
    # Sizes are asked for of each clipped table.
    sizes = [SizesQuery(table=q, clips=(q.clip,)) for q in tables if q.clip is not None]
    checked = {_kind(query) for query in (*tables, *sizes, *value_queries(), LabelsQuery(variable="word"))}
    return {kind: query for kind, query in asked.items() if kind not in checked}


def _kind(query: Query) -> tuple[object, ...]:
    if isinstance(query, LabelsQuery):
        return ("labels",)
    if isinstance(query, ValuesQuery):
        return ("values", bool(query.where))
    if isinstance(query, SizesQuery):
        return ("sizes", *_kind(query.table))
    factors = len(query.function.variables)
    return ("table", query.aggregate, factors, bool(query.halvings), bool(query.where), query.clip is None)
