"""Short runs of the attackers that are kept, and the faults that each of them must find; `verify/attackers.py` runs them long."""

import random
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest

from dalenius.audit.charges import ALLOWED
from dalenius.core import registry
from dalenius.engines import _relation
from dalenius.errors import DaleniusError, InternalError
from dalenius.testing.asking import plan_of
from dalenius_lab import planting
from dalenius_lab.attackers import at_the_data, blind_plans, coverage, grammar, hostile_lines, neighbour_fuzzer, worlds
from dalenius_lab.attackers.planted import AT_THE_DATA, FAULTS, PEEKING, Fault
from dalenius_lab.planting import planted


def test_no_request_loses_more_than_its_charge_between_neighbours() -> None:
    found = neighbour_fuzzer.Findings()
    for method in ("count", "total", "median", "maximum", "dominance"):
        part = neighbour_fuzzer.fuzz(11, 6, 6, method=method, definition="pure")
        found.triples += part.triples
        assert not part.broken, part.broken[0]
    assert found.triples > 60


@pytest.mark.parametrize(
    ("method", "definition", "keys"),
    [
        ("count", "zero_concentrated", {"table": {"keyed": True}}),
        ("count", "pure", {"table": {"sample": "1/2"}}),
        ("sample_and_aggregate", "pure", {"table": {"aggregate": "mean", "correction": "none"}}),
        ("sample_and_aggregate", "pure", {"table": {"aggregate": "median", "error": None}}),
        ("propose_test_release", "approximate", {}),
        (
            "total",
            "approximate",
            {"table": {"error": "bootstrap", "replicates": 2, "learn": None, "rows": [], "where": None}},
        ),
        ("labels", "approximate", {"privacy": {"epsilon": "2.5", "delta": "0.01"}}),
    ],
    ids=["keyed", "sample", "mean of blocks", "median of blocks", "propose-test-release", "bootstrap", "labels"],
)
def test_what_draws_more_than_noise_loses_no_more_than_its_charge(
    method: str, definition: str, keys: dict[str, dict[str, object]]
) -> None:
    plain = {"weight": None, "margins": None, "universe": None} if method == "count" else {}
    amounts = {"epsilon": "1", "delta": "1e-6"} if definition == "approximate" else {}
    fixed = {
        "table": plain | keys.get("table", {}),
        "privacy": {"mechanism": None, "strategy": None, "group": None} | amounts | keys.get("privacy", {}),
    }
    found = neighbour_fuzzer.fuzz(2, 2, 6, method=method, definition=definition, keys=fixed)
    assert found.triples >= 12 and max(found.worst.values()) > 0.1
    assert not found.broken, found.broken[0]


def test_the_attack_is_strong_enough_to_reach_the_charge() -> None:
    found = neighbour_fuzzer.fuzz(5, 8, 10, method="count", definition="zero_concentrated")
    assert 0.999 < max(found.worst.values()) <= ALLOWED


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    with fault.planted():
        found = neighbour_fuzzer.fuzz(7, 300, 12, **vars(fault.corner), is_ended_by_fault=True)
    assert found.broken


def test_everything_that_can_be_asked_is_drawn_and_planned_by_an_attacker() -> None:
    """From the registry: methods, keys, definitions, strategies, kinds of noise and steps, between every kind of neighbours."""
    assert coverage.unplanned(1, is_short=True) == []


def test_every_pair_of_modifiers_that_plans_is_drawn() -> None:
    chance, pairs = random.Random(3), coverage.attacked_pairs()
    assert len(pairs) > 10
    assert {name for pair in pairs for name in pair} == {"group", *registry.names("modifiers")}
    for pair in pairs:
        assert ("modifiers", *pair) in coverage.searched(("modifiers", *pair), chance), pair


def test_what_is_excepted_from_the_attackers_cannot_be_planned() -> None:
    chance = random.Random(2)
    assert coverage.EXCEPTED.keys() <= set(coverage.possible())
    for facet in coverage.EXCEPTED:
        assert facet not in coverage.searched(facet, chance, patience=8), facet


def test_a_method_that_the_attackers_cannot_ask_for_is_noticed() -> None:
    """A key that no request of theirs writes, and a method that is refused without it."""
    text = '''
        """A count that needs a key."""

        from dataclasses import replace

        from dalenius.errors import Unsupported
        from dalenius.methods.count import COUNT
        from dalenius.spec.document import Part

        __all__ = ["NEEDY"]


        class Parameters(Part):
            section = "[table] of a needy count"
            needed: str | None = None


        def _plan(question):
            if question.parameter("needed") is None:
                raise Unsupported("needed is needed.")
            return COUNT.plan(question)


        NEEDY = replace(COUNT, name="needy", Parameters=Parameters, plan=_plan)
    '''
    chance, wanted = random.Random(3), [("definition", "needy", "pure"), ("key", "needy", "needed")]
    with planted("methods", "needy", text):
        assert set(wanted) <= set(coverage.possible())
        assert not any(facet in coverage.searched(facet, chance, patience=3) for facet in wanted)


def test_lists_of_margins_are_planned_often_enough_to_be_attacked() -> None:
    chance, drawn, planned = random.Random(3), 0, 0
    while drawn < 40:
        world, request = worlds.world_of(chance), grammar.request_of(chance, method_name="count")
        if "margins" in request["table"]:
            drawn += 1
            request["privacy"] = {"definition": "zero_concentrated", "rho": "0.5"}
            with suppress(DaleniusError):
                planned += bool(plan_of(world.domain, request, grammar.POLICY))
    assert planned > drawn / 3


def test_a_corner_in_which_everything_is_refused_is_an_error() -> None:
    with pytest.raises(InternalError, match="refused"):
        neighbour_fuzzer.fuzz(1, 1, method="count", definition="pure", keys={"table": {"rows": ["nothing"]}})


def test_noise_that_follows_the_data_keeps_its_guarantee_at_the_data() -> None:
    found = at_the_data.fuzz(3, 80)
    assert found.pairs > 500
    assert not found.broken, found.broken[0]
    assert max(found.worst.values()) == pytest.approx(1)
    mean = at_the_data.fuzz(3, 30, definition="individual", method="mean")
    assert mean.requests and not mean.broken and max(mean.worst.values()) == pytest.approx(1)


@pytest.mark.parametrize("fault", AT_THE_DATA, ids=str)
def test_a_planted_fault_at_the_data_is_found(fault: Fault) -> None:
    with fault.planted():
        found = at_the_data.fuzz(3, 150, definition=fault.corner.definition, method=fault.corner.method)
    assert found.broken


def test_a_hostile_line_counts_as_one_row_at_most_and_moves_no_other(tmp_path: Path) -> None:
    found = hostile_lines.fuzz(2, 8, tmp_path)
    assert found.counted >= 5
    assert not found.broken, found.broken[0]
    # One more delimiter at the end of a line hides nothing: the line is one row to every reader.
    ended = hostile_lines.Hostile(lines=(b"f,n,1", b"m,s,2"), line=b"f,n,1,", place=0)
    assert hostile_lines.judged(ended, tmp_path) is None


def test_a_reader_that_lets_one_line_hide_others_is_found(tmp_path: Path) -> None:
    case = hostile_lines.Hostile(lines=(b"f,n,1", b"m,s,2"), line=b' "f,n,3', place=0)
    assert hostile_lines.judged(case, tmp_path) == "refused"
    with patch.object(_relation, "_opens_no_quotation_late", lambda path, delimiter: True):
        assert hostile_lines.judged(case, tmp_path) == "other rows moved"


def test_plans_look_at_documents_alone(tmp_path: Path) -> None:
    """Of requests of the whole grammar; `verify/blind_plans.py` asks for three hundred times as many."""
    found = blind_plans.fuzz(12, 2, 10, tmp_path)
    assert not found.broken, found.broken[0]
    assert found.planned >= 8 and found.released > 10 and {kind for _, kind in found.kinds} == {"amount", "accuracy"}


def test_verbs_and_previews_look_at_documents_alone(tmp_path: Path) -> None:
    found = blind_plans.routes(1, 3, tmp_path)
    assert not found.broken, found.broken[0]
    assert found.planned >= 4 and found.released >= 4


@pytest.mark.parametrize("fault", PEEKING, ids=str)
def test_a_plan_that_looks_at_more_than_documents_is_found(fault: planting.Fault, tmp_path: Path) -> None:
    with fault.planted():
        assert blind_plans.fuzz(1, 12, 2, tmp_path, is_ended_by_fault=True).broken
