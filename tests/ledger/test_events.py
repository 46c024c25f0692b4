"""Events: what a charge says was done covers the exact loss between neighbours, and nothing is said where it is not known."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dalenius.audit.planned import source_of
from dalenius.audit.steps import pair_of
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TablePlan
from dalenius.core.profile import PrivacyProfile, Shift
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.ledger.events import events_in, events_of_charge, loss_of
from dalenius.mechanisms.custom_utility import CustomUtility
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of
from dalenius_lab.accounting.batch import Batch
from dalenius_lab.attackers.exhaustive import ROWS, neighbouring_pairs, tiny_domain
from dalenius_lab.attackers.grammar import POLICY

GAUSSIAN = {"definition": "zero_concentrated", "rho": "0.15"}
PURE = {"definition": "pure", "epsilon": "1"}
EPSILONS = (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2))


def planned(privacy: dict[str, Any], neighbours: Neighbours, **table: Any) -> TablePlan:
    return plan_of(tiny_domain(neighbours), {"table": {"rows": ["g"]} | table, "privacy": privacy}, POLICY)


def events_of_plan(plan: TablePlan) -> tuple[Any, ...]:
    return events_in([step.profile(plan.neighbours) for step in plan.measurements])


def largest_share(plan: TablePlan, neighbours: Neighbours) -> float:
    """The largest exact delta(epsilon) between neighbours of at most two units, relative to what the events allow."""
    domain, loss = tiny_domain(neighbours), loss_of(events_of_plan(plan))
    names, allowed = list(domain.variables), [float(loss.delta(e)) for e in EPSILONS]
    share = 0.0
    for sides in neighbouring_pairs(ROWS, 2, neighbours):
        units = [tuple(tuple(dict(zip(names, row, strict=True)) for row in u) for u in side) for side in sides]
        pair = pair_of(plan, *(source_of(domain, side) for side in units))
        exact = [max(pair.delta(float(e)) - 1e-12, 0.0) for e in EPSILONS]
        share = max(share, *(d / max(a, 1e-12) for d, a in zip(exact, allowed, strict=True)))
    return share


@pytest.mark.parametrize(
    ("relation", "privacy", "table"),
    [
        ("add-remove", GAUSSIAN, {}),
        ("add-remove", GAUSSIAN, {"margins": "all", "universe": "complete"}),
        ("replace", GAUSSIAN, {}),
        ("replace", PURE, {}),
    ],
)
def test_the_events_cover_the_loss_between_all_neighbours_and_no_more(relation, privacy, table) -> None:
    relation = Relation(relation)
    neighbours = Neighbours(relation=relation)
    plan = planned(privacy, neighbours, **table)
    assert 0.99 < largest_share(plan, neighbours) <= 1 + 1e-9
    # Each priced by its own loss they cost what is charged, but for the rounding.
    alone = Batch(events=events_of_plan(plan), relation=relation).cost()
    assert float(alone.rho) == pytest.approx(float(plan.reservation.rho), rel=0.01)


def test_steps_of_several_moves_or_of_another_kind_say_nothing() -> None:
    assert events_of_plan(planned(GAUSSIAN, Neighbours(unit="person", max_rows=2))) == ()
    assert events_of_plan(planned(PURE, Neighbours(), measure="mode")) == ()


def test_noise_that_is_not_symmetric_is_no_event_and_read_from_none() -> None:
    """Its two losses differ, and an event states one."""
    for losses, is_said in (((2, 0, 2), True), ((2, 0, 3), False)):
        law = CustomUtility.of(1, losses)
        step = PrivacyProfile(relation=Relation.ADD_REMOVE, shifts=((Shift(law, 1),),))
        assert bool(events_in([step])) is is_said
        event = {"kind": "noise", "mechanism": law.name, "parameters": law.parameters, "shift": 1}
        if is_said:
            assert Batch(events=(event,)).events == (event,)
            continue
        with pytest.raises(Unsupported, match="not symmetric"):
            Batch(events=(event,))


def test_a_negative_number_in_an_event_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon must not be negative"):
        Batch(events=({"kind": "pure", "epsilon": "-1/10"},))


def test_a_line_says_its_events_or_its_pure_epsilon_or_nothing() -> None:
    cost = {"rho": "1/2", "delta": "0", "epsilon": None}
    assert events_of_charge({"cost": cost, "events": []}) is None
    assert events_of_charge({"cost": cost | {"epsilon": "1"}}) == ({"kind": "pure", "epsilon": "1"},)
    named = {"kind": "pure", "epsilon": "2"}
    assert events_of_charge({"cost": cost, "events": [named]}) == (named,)


def test_equal_events_are_composed_together_and_too_many_kinds_are_refused() -> None:
    thrice = loss_of([{"kind": "pure", "epsilon": "1/10", "times": 2}, {"kind": "pure", "epsilon": "1/10"}])
    assert thrice == loss_of([{"kind": "pure", "epsilon": "1/10", "times": 3}], most=1)
    with pytest.raises(TooLarge):
        loss_of([{"kind": "pure", "epsilon": e} for e in ("1/10", "1/5")], most=1)


def test_a_release_writes_its_noise_into_the_ledger_and_the_odometer_reads_it(tmp_path: Path) -> None:
    with Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=tmp_path / "ledger.sqlite",
        policy=rule_kit.policy_of(None),
        rng=RecordedRandomness("events"),
    ) as curator:
        curator.register(by="custodian")
        curator.release({"table": {"rows": ["sex"]}, "privacy": GAUSSIAN})
        (line,) = [entry.body for entry in curator.ledger.reader.entries() if entry.kind == "charge"]
        (event,) = line["events"]
        assert (event["mechanism"], event["shift"], event["times"]) == ("discrete_gaussian", 1, 1)
        reading = curator.ledger.reader.odometer(curator.domain.population)
        assert reading.fixed.basis == "loss" and 0.13 < reading.power < 0.1364


def test_a_charge_keeps_its_events(ledger, charge):
    events = ({"kind": "discrete_laplace", "rate": "0.1", "shift": 1, "times": 50},)
    ledger.reserve(charge("aa", events=events))
    assert tuple(ledger.reader.entries("people")[-1].body["events"]) == events
