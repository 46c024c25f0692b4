"""Propose-test-release: exact (epsilon, delta) through requests, a statistic that brings a distance alone, and no reply as an outcome."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.exact_losses import kernel_delta
from tests.measurements.derived_laws import proposed_answers

from dalenius.core.domain import Domain
from dalenius.core.law import Additive
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import NoReply
from dalenius.core.sealed import Sealed
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError
from dalenius.inference.cells import intervals
from dalenius.measurements.propose_test_release import ProposeTestRelease
from dalenius.publish._format import document
from dalenius.shown.speech import caption
from dalenius.spec.dataset import DatasetDocument
from dalenius.statistics.interquartile import Interquartile
from dalenius.statistics.quantile import Quantile
from dalenius.testing.asking import plan_of

Ask = Callable[..., Any]
VALUES, MOST = (0, 2, 4), 5
DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {"x": {"bounds": [0, 4], "step": 1, "missing": "0"}},
}


def domain_of(relation: Relation) -> Domain:
    return DatasetDocument.from_dict(DATASET | {"unit": {"relation": str(relation)}}).domain()


def step_of(relation: Relation, **table: Any) -> ProposeTestRelease:
    request = {
        "table": {"measure": "propose_test_release", "of": "x", **table},
        "privacy": {"definition": "approximate", "epsilon": 2, "delta": "0.05"},
    }
    (step,) = plan_of(domain_of(relation), request, {}).measurements
    assert isinstance(step, ProposeTestRelease)
    return step


def pairs(relation: Relation) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All neighbours of at most five values."""
    for count in range(MOST):
        for others in combinations_with_replacement(VALUES, count):
            if relation is Relation.ADD_REMOVE:
                yield from ((others, tuple(sorted((*others, v)))) for v in VALUES)
            else:
                both = [tuple(sorted((*others, v))) for v in VALUES]
                yield from ((a, b) for a in both for b in both if a < b)


def worst_delta(step: ProposeTestRelease, relation: Relation, epsilon: Fraction) -> Fraction:
    laws: dict[tuple[int, ...], dict[Hashable, Fraction]] = {}
    worst = Fraction(0)
    for pair in pairs(relation):
        for values in pair:
            if values not in laws:
                laws[values] = proposed_answers(step, np.array(values, dtype=np.int64), reach=12)
        worst = max(worst, kernel_delta([laws[values] for values in pair], epsilon, bits=64)[0])
    return worst


TABLES: list[dict[str, Any]] = [
    {"bounds": 2},
    {"estimate": "interquartile", "bounds": 2},
    {"estimate": "quantile", "q": "1/4", "bounds": 1},
]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.get("estimate", "median"))
def test_all_neighbours_keep_to_epsilon_and_delta(relation: Relation, table: dict[str, Any]) -> None:
    step = step_of(relation, **table)
    assert step.test + step.epsilon == 2
    assert 0 < worst_delta(step, relation, Fraction(2)) <= Fraction(1, 20) + Fraction(1, 10**9)


@pytest.mark.parametrize("relation", list(Relation))
def test_a_test_or_an_answer_at_twice_its_loss_is_found(relation: Relation) -> None:
    step = step_of(relation, bounds=2)
    for fault in (replace(step, test=2 * step.test), replace(step, epsilon=2 * step.epsilon)):
        # The threshold and the bound stay those of the honest step.
        planted = Planted(**{each.name: getattr(fault, each.name) for each in fields(fault)})
        assert worst_delta(planted, relation, Fraction(2)) > Fraction(6, 100)


class Planted(ProposeTestRelease):
    """A step whose noise is half of what it should be, at the threshold of the honest one."""

    @property
    def threshold(self) -> int:
        """Of a test that loses one."""
        return replace(self, test=Fraction(1)).threshold if self.test != 1 else super().threshold


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("kind", [Quantile, Interquartile])
@pytest.mark.parametrize("bound", [1, 2, 3])
def test_a_distance_is_a_distance(relation: Relation, kind: type[Any], bound: int) -> None:
    """Zero wherever a neighbour's answer is farther than the bound, and apart by at most one between neighbours."""
    neighbours = Neighbours(relation=relation)
    statistic = kind(query=ValuesQuery(value="x"), low=0, high=4)
    for pair in pairs(relation):
        here, there = (np.array(values, dtype=np.int64) for values in pair)
        first, second = (statistic.distance(values, bound, neighbours) for values in (here, there))
        assert abs(first - second) <= 1
        if abs(statistic.value(here) - statistic.value(there)) > bound:
            assert first == second == 0


def test_the_distance_of_a_median_is_exact_under_replace() -> None:
    neighbours = Neighbours(relation=Relation.REPLACE)
    median = Quantile(query=ValuesQuery(value="x"), low=0, high=4)
    everything = list(combinations_with_replacement(range(5), 4))

    def apart(first: Sequence[int], second: Sequence[int]) -> int:
        rest = list(second)
        for value in first:
            if value in rest:
                rest.remove(value)
        return len(rest)

    wide = [x for x in everything if median.local(np.array(x), neighbours) > 1]
    for x in everything:
        assert median.distance(np.array(x), 1, neighbours) == min(apart(x, y) for y in wide)


@dataclass(frozen=True)
class UpperHalf:
    """How many values lie in the upper half, over four: added here by its value and its distance alone."""

    query: ValuesQuery

    def value(self, values: Any) -> int:
        """Doubled where fewer than two values lie there, so that one record moves it by more than one."""
        count = int((np.asarray(values) > 2).sum())
        return count if count >= 2 else 2 * count

    def distance(self, values: Any, bound: int, neighbours: Neighbours) -> int:
        """From zero to one, and from one to none, is a step of two."""
        count = int((np.asarray(values) > 2).sum())
        return max(count - 1, 0)


@pytest.mark.parametrize("relation", list(Relation))
def test_a_statistic_is_added_by_its_distance_alone(relation: Relation) -> None:
    step = replace(step_of(relation, bounds=1), statistic=UpperHalf(ValuesQuery(value="x")))
    assert worst_delta(step, relation, Fraction(2)) <= Fraction(1, 20) + Fraction(1, 10**9)


def test_no_reply_has_the_probability_that_was_planned() -> None:
    step = step_of(Relation.REPLACE, bounds=2)
    # Each of these is one over one plus a, times a power of a, where a = exp(-1).
    assert step.silence(0) == pytest.approx(1 - exp(-step.threshold - 1) / (1 + exp(-1)))
    assert 1 - step.silence(0) <= 0.05 < exp(1) * (1 - step.silence(0))
    assert step.silence(step.sure) <= 0.01 < step.silence(step.sure - 1)
    values, rng, runs = np.array([2] * 4, dtype=np.int64), RecordedRandomness("silence"), 4000
    silent = sum(isinstance(step.run((Sealed(values),), step.draw(rng), rng), NoReply) for _ in range(runs))
    planned = step.silence(step.statistic.distance(values, 2, step.neighbours))
    assert 0.01 < planned < 0.99
    assert abs(silent / runs - planned) < 6.2 * (planned * (1 - planned) / runs) ** 0.5


def test_the_answer_and_its_error(ask: Ask) -> None:
    (table,) = ask("approximate", 12, measure="propose_test_release", of="income", bounds=4, delta="1e-3")
    assert abs(table.values[0] - 50) <= 5
    # Half of epsilon for an answer that one record moves by at most four steps of one: a rate of 3/2.
    assert table.variance[0] == pytest.approx(2 * exp(-1.5) / (1 - exp(-1.5)) ** 2)


def test_no_reply_is_charged_printed_and_stored(tmp_path: Path) -> None:
    with Curator.open(
        DATASET,
        data={"x": [0, 4]},
        ledger=tmp_path / "ledger.sqlite",
        policy={"budget": {"rho": 90, "delta": "0.1"}},
        rng=RecordedRandomness("no reply"),
    ) as curator:
        curator.register(by="custodian")
        before = curator.ledger.reader.account("p").spent
        release = curator.release(
            {
                "table": {"measure": "propose_test_release", "of": "x", "bounds": 2},
                "privacy": {"definition": "approximate", "epsilon": 2, "delta": "1e-12"},
            }
        )
        assert curator.ledger.reader.account("p").spent != before
    whole = document()
    assert release.tables == () and whole.read is not None
    assert whole.read(whole.content(release)).tables == ()
    assert "no reply" in repr(release)


def test_the_answer_of_a_cascade_has_the_noise_of_the_bound_that_passed(ask: Ask) -> None:
    shown = ask("approximate", 24, measure="propose_test_release", of="income", bounds=[1, 4, 40], delta="1e-3")
    answer, bound = shown
    passed = float(bound.values[0])
    assert (answer.measure, bound.measure) == ("propose_test_release", "bound")
    assert passed in (1, 4, 40) and abs(answer.values[0] - 50) <= 5
    # Half of epsilon for an answer that one record moves by at most the bound that passed.
    base = exp(-12 / passed)
    assert answer.variance[0] == pytest.approx(2 * base / (1 - base) ** 2)


def test_a_cascade_is_charged_once_and_says_which_bound_passed(tmp_path: Path) -> None:
    request = {
        "table": {"measure": "propose_test_release", "of": "x", "bounds": [1, 2]},
        "privacy": {"definition": "approximate", "epsilon": 20, "delta": "1e-3"},
    }
    alone = {**request, "table": {"measure": "propose_test_release", "of": "x", "bounds": 2}}
    with Curator.open(
        DATASET,
        data={"x": [0, 2, 2, 2, 2, 2, 2, 2, 2, 4]},
        ledger=tmp_path / "ledger.sqlite",
        policy={"budget": {"rho": 900, "delta": "0.1"}},
        rng=RecordedRandomness("cascade"),
    ) as curator:
        curator.register(by="custodian")
        plan = curator.plan(request)
        assert plan.reservation == curator.plan(alone).reservation
        assert plan.preview["bounds"] == ["1", "2"] and len(plan.preview["sure_from"]) == 2
        release = curator.release(request)
    whole = document()
    assert whole.read is not None
    again = whole.read(whole.content(release))
    (block,), (answer, bound) = again.blocks, again.tables
    passed = str(block.parameters["bound"])
    assert float(bound.values[0]) == float(passed) and passed in ("1", "2")
    law = block.law
    assert isinstance(law, Additive)
    half = law.half_width(0.95)
    assert "as it was chosen" in caption(again, bound) and "noise, 95 %" in caption(again, answer)
    told = intervals(again, kind="population")
    assert told.upper[0] - told.lower[0] == 2 * half
    assert answer.std_error[0] == pytest.approx(law.std_error)


@pytest.mark.parametrize(
    "wrong",
    [
        {"bounds": [2, 1]},
        {"bounds": [1, 1]},
        {"bounds": [1, 200]},
        {"bounds": [0, 1]},
        {"bounds": list(range(1, 20))},
        {"bounds": [1, "x"]},
        {"bounds": []},
        {"bounds": 0},
        {"bounds": -3},
        {"bounds": 200},
        {"bounds": None},
        {"estimate": "mean"},
        {"estimate": "quantile"},
        {"estimate": "quantile", "q": 1},
        {"q": "1/4"},
        {"rows": ["sex"]},
        {"of": "sex"},
        {"definition": "pure", "delta": None},
        {"definition": "zero_concentrated", "delta": None},
    ],
)
def test_what_means_nothing_is_refused(ask: Ask, wrong: dict[str, Any]) -> None:
    asked = {"measure": "propose_test_release", "of": "income", "bounds": 4, "delta": "1e-6"} | wrong
    definition = asked.pop("definition", "approximate")
    with pytest.raises(DaleniusError):
        ask(definition, 1, **{key: value for key, value in asked.items() if value is not None})
