"""The door: priced before data are read, one message afterwards, steps that depend on answers and never on data."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.core.budget import Cost
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds, Categories, CellSpace, Domain, Hierarchy, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TablePlan
from dalenius.core.query import Clip, LabelsQuery, Norm, RowsQuery, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.curator import gate
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.errors import AfterCharge, InternalError, NotPublic
from dalenius.measurements.noisy import Noisy
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics.count import Count
from dalenius.testing.asking import plan_of

LABELS = ("a1", "a2", "b1", "b2")
CATEGORIES = Categories(labels=LABELS)
VARIABLE = Variable(
    name="v",
    domain=CATEGORIES,
    hierarchies=(Hierarchy.of("letter", {"a": ("a1", "a2"), "b": ("b1", "b2")}, CATEGORIES),),
)
NEIGHBOURS = Neighbours()
DOMAIN = Domain(name="d", population="p", version="1", variables={"v": VARIABLE}, neighbours=NEIGHBOURS)
AXIS = Axis(variable="v", labels=LABELS, codes=(0, 1, 2, 3))
QUERY = TableQuery(space=CellSpace((AXIS,)))


def source(*values: str) -> MemorySource:
    return MemorySource(DOMAIN, {"v": list(values)})


@dataclass
class Watched:
    """A source that notes when it is read, and may hold a broken content."""

    inner: Any
    log: list[str]
    is_broken: bool = False
    domain: Domain = field(default=DOMAIN)

    def table(self, query: TableQuery) -> Sealed[Any]:
        self.log.append("read")
        if self.is_broken:
            raise ValueError("row 17 holds a secret value")
        return self.inner.table(query)


@dataclass(frozen=True)
class Listed:
    measurements: tuple[Any, ...]
    reservation: Cost
    definition: str = "pure"

    def steps(self) -> Any:
        for measurement in self.measurements:  # noqa: UP028 - outcomes are sent in
            yield measurement


def noisy(epsilon: int = 1) -> Noisy:
    return Noisy("table", Count(QUERY), DiscreteLaplace(Fraction(epsilon)))


def cost(*measurements: Noisy) -> Cost:
    first, *rest = (m.profile(NEIGHBOURS).cost() for m in measurements)
    for other in rest:
        first = first + other
    return first


def test_a_plan_larger_than_its_reservation_reads_nothing() -> None:
    log: list[str] = []
    plan = Listed((noisy(2),), cost(noisy(2)))
    with pytest.raises(InternalError, match="nothing was read"):
        gate.run(plan, Watched(source("a1"), log), NEIGHBOURS, cost(noisy(1)), RecordedRandomness(1))
    assert log == []


def test_a_plan_that_understates_itself_is_stopped_before_the_step() -> None:
    log: list[str] = []
    plan = Listed((noisy(1), noisy(1)), cost(noisy(1)))
    with pytest.raises(AfterCharge):
        gate.run(plan, Watched(source("a1"), log), NEIGHBOURS, cost(noisy(1)), RecordedRandomness(1))
    assert log == ["read"]


def test_an_error_below_the_gate_says_one_thing_only() -> None:
    plan = Listed((noisy(),), cost(noisy()))
    with pytest.raises(AfterCharge) as caught:
        gate.run(plan, Watched(source("a1"), [], True), NEIGHBOURS, cost(noisy()), RecordedRandomness(1), entry="e")
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "17" not in str(caught.value) and caught.value.message == AfterCharge("x").message


def test_noise_is_drawn_before_data_are_read() -> None:
    log: list[str] = []

    class Noted(RecordedRandomness):
        def bytes(self, count: int) -> bytes:
            log.append("draw")
            return super().bytes(count)

    plan = Listed((noisy(),), cost(noisy()))
    gate.run(plan, Watched(source("a1"), log), NEIGHBOURS, cost(noisy()), Noted(1))
    assert log.index("read") > max(i for i, what in enumerate(log) if what == "draw")


def test_structural_zeros_are_exactly_zero_and_all_else_is_perturbed() -> None:
    space = CellSpace((AXIS,), frozenset({(1,)}))
    measurement = Noisy("t", Count(TableQuery(space=space)), DiscreteLaplace(Fraction(1, 100)))
    plan = Listed((measurement,), cost(measurement))
    passage = gate.run(plan, source("a1"), NEIGHBOURS, plan.reservation, RecordedRandomness(5))
    values = passage.blocks[0].values
    assert values[1] == 0
    assert np.count_nonzero(values[[0, 2, 3]]) == 3  # scale 100: an unperturbed cell would be 0 or 1


def refinement(threshold: int) -> TablePlan:
    table = {"rows": ["v"], "refine": {"letter": threshold}, "learn": "1/2"}
    return plan_of(DOMAIN, {"table": table, "privacy": {"definition": "pure", "epsilon": 8}})


def test_the_second_step_follows_the_first_answer() -> None:
    plan = refinement(20)
    data = source(*["a1"] * 30, *["a2"] * 20, "b1")
    passage = gate.run(plan, data, NEIGHBOURS, plan.reservation, RecordedRandomness(2))
    coarse, fine = passage.blocks
    assert coarse.space.axes[0].labels == ("a", "b")
    assert fine.space.axes[0].labels == ("a1", "a2")  # b stays merged: its released count is small
    assert abs(fine.values - [30, 20]).max() < 10


def test_no_second_step_is_not_refunded() -> None:
    plan = refinement(1000)
    passage = gate.run(plan, source("a1"), NEIGHBOURS, plan.reservation, RecordedRandomness(2))
    assert len(passage.blocks) == 1
    assert plan.reservation.epsilon == 8


@pytest.mark.parametrize("relation", list(Relation))
def test_the_two_step_procedure_loses_no_more_than_it_reserves(relation: Relation) -> None:
    """Exact output probabilities of (coarse, refined groups, fine) on neighbouring tables, truncated to a window."""
    neighbours = Neighbours(relation=relation)
    plan = refinement(2)
    rate = 4.0
    reserved = float(
        sum((Noisy("x", Count(QUERY), DiscreteLaplace(Fraction(4))).profile(neighbours).epsilon or 0) for _ in range(2))
    )
    assert [step.mechanism.parameters["rate"] for step in plan.measurements] == [4, 4]

    def log_loss(exact: tuple[int, ...], other: tuple[int, ...]) -> float:
        # Given the coarse answer the refined set is fixed, so the loss is that of two Laplace steps on the same window.
        worst = 0.0
        coarse = [(exact[0] + exact[1], other[0] + other[1]), (exact[2] + exact[3], other[2] + other[3])]
        for x in range(-6, 12):
            for y in range(-6, 12):
                loss = sum(rate * (abs(v - b) - abs(v - a)) for v, (a, b) in zip((x, y), coarse, strict=True))
                groups = [g for g, v in enumerate((x, y)) if v >= 2]
                fine = [(exact[2 * g + i], other[2 * g + i]) for g in groups for i in range(2)]
                loss += sum(rate * abs(a - b) for a, b in fine)
                worst = max(worst, loss)
        return worst

    moved = (1, 2, 1, 0) if relation is Relation.ADD_REMOVE else (0, 2, 2, 0)
    assert log_loss((1, 2, 2, 0), (1, 2, 1, 0)) <= reserved + 1e-9
    assert log_loss((1, 2, 1, 0), moved) <= reserved + 1e-9
    assert log_loss((1, 2, 2, 0), (1, 2, 1, 0)) >= 7.9  # tight under add-remove: 4 + 4


def test_sealed_values_do_not_show_themselves() -> None:
    import copy
    import json
    import pickle

    box = Sealed(np.array([41, 42]))
    assert "42" not in repr(box) and "42" not in str([box])
    for attempt in (
        lambda: pickle.dumps(box),
        lambda: copy.deepcopy(box),
        lambda: copy.copy(box),
        lambda: bool(box),
        lambda: box == Sealed(np.array([41, 42])),
        lambda: hash(box),
        lambda: f"{box:d}",
        lambda: np.asarray(box),
        lambda: int(box),  # type: ignore[call-overload]
    ):
        with pytest.raises(NotPublic):
            attempt()
    with pytest.raises((TypeError, NotPublic)):
        json.dumps(box)


@pytest.mark.parametrize("engine", [MemorySource, DuckDBSource])
def test_everything_that_steps_need_is_fetched_in_their_order(engine: Any) -> None:
    """Whether an engine reads several tables, or lists, in one pass or one by one."""
    number = Variable(name="x", domain=Bounds(lower=Fraction(0), upper=Fraction(9), missing="0"))
    text = Variable(name="t", domain=Categories(labels=("known", "other"), unseen="other"), is_unlisted=True)
    domain = replace(DOMAIN, variables={"v": VARIABLE, "x": number, "t": text})
    data = {"v": ["a1", "a1", "b2"], "x": [3, 1, 7], "t": ["known", "new", "new"]}
    held = engine(domain, data, b"secret")
    lists = [ValuesQuery(value="x", where=(Filter(variable="v", codes=(code,)),)) for code in (0, 3)]
    clipped = replace(QUERY, clip=Clip(norm=Norm.L1, limit=1))
    whole = TableQuery(space=CellSpace(()))
    rows = RowsQuery(variables=("x",))
    for queries, expected in (
        ((QUERY, whole), [[2, 0, 0, 1], [3]]),
        (lists, [[1, 3], [7]]),
        ((whole, lists[0]), [[3], [1, 3]]),
        ((rows,), [[[1], [3], [7]]]),
        ((LabelsQuery(variable="t"),), [[["new", 2]]]),
        ((SizesQuery(table=clipped, clips=(clipped.clip,)),), [[3, 0]]),
    ):
        sealed = gate._fetch(held, queries)
        found = [np.array(each.open_below_the_gate(), dtype=object).tolist() for each in sealed]
        assert [sorted(each) if queries == (rows,) else each for each in found] == expected
