"""Coarse first, then fine where the released counts are large: by request, priced as a whole, every neighbour on tiny data."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dalenius.core.neighbours import Neighbours
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError
from dalenius.inference.cells import intervals
from dalenius.plans.counts import refine
from dalenius.plans.priced import priced, share
from dalenius.publish import formats
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.exhaustive import RELATIONS, tiny_domain, worst_ratio

KEYS = {"rows": ["g"], "refine": {"half": 2}}
PURE = {"definition": "pure", "epsilon": "2"}


def request_of(privacy: dict[str, Any] = PURE, **keys: Any) -> dict[str, Any]:
    return {"table": KEYS | keys, "privacy": privacy}


@pytest.mark.parametrize("neighbours", RELATIONS[:2], ids=["add-remove", "replace"])
@pytest.mark.parametrize(
    "privacy", [PURE, {"definition": "zero_concentrated", "rho": "0.5"}], ids=["pure", "concentrated"]
)
def test_no_neighbour_sees_more_than_guaranteed_and_charged(privacy: dict[str, Any], neighbours: Neighbours) -> None:
    assert 0.5 < worst_ratio(request_of(privacy), neighbours, most=2) <= 1 + 1e-7


def test_a_second_step_that_takes_the_whole_budget_again_is_found() -> None:
    with patch.object(refine, "share", lambda budget, _: budget), pytest.raises(DaleniusError):
        plan_of(tiny_domain(RELATIONS[0]), request_of())
    with patch.object(refine, "share", _scaled), patch.object(refine, "priced", _priced_coarse_twice):
        assert worst_ratio(request_of(), RELATIONS[0], most=2) > 1.2


def _priced_coarse_twice(question: Any, steps: Any, *arguments: Any, **keys: Any) -> Any:
    return replace(priced(question, steps[:1] * 2, *arguments, **keys), measurements=steps)


def _scaled(budget: Any, part: Fraction) -> Any:
    return share(budget, Fraction(1, 4)) if part == Fraction(1, 4) else budget


@pytest.fixture
def curator(tmp_path: Path) -> Any:
    with Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=tmp_path / "ledger.sqlite",
        policy=rule_kit.policy_of(None),
        rng=RecordedRandomness("coarse, then fine"),
    ) as opened:
        opened.register(by="custodian")
        yield opened


def test_only_large_groups_are_shown_in_detail(curator: Any) -> None:
    """Eighteen records in one group, nine in the other; so much budget leaves no doubt which is which."""
    table = {"rows": ["region"], "refine": {"half": 14}}
    release = curator.release({"table": table, "privacy": {"definition": "pure", "epsilon": 30}})
    coarse, fine = release.tables
    assert coarse.space.axes[0].labels == ("upper", "lower")
    assert fine.space.axes[0].labels == ("north", "east")
    assert len(intervals(release)) == 2
    for form in formats().values():
        assert form.content(release)


def test_nothing_is_refunded_where_nothing_is_large(curator: Any) -> None:
    table = {"rows": ["region"], "refine": {"half": 1000}}
    document = {"table": table, "privacy": {"definition": "pure", "epsilon": 3}}
    release = curator.release(document)
    assert len(release.tables) == 1
    assert Fraction(release.provenance.cost["epsilon"]) == 3


@pytest.mark.parametrize(
    "keys",
    [
        {"refine": {"half": None}},
        {"refine": {"quarter": 2}},
        {"refine": {"half": 0}},
        {"refine": {}},
        {"refine": {"half": 2, "third": 2}},
        {"learn": 1},
        {"rows": [{"variable": "g", "level": "half"}]},
        {"rows": [{"variable": "g", "categories": ["a"]}]},
        {"rows": []},
        {"margins": "all"},
        {"refine": None, "learn": "1/4"},
    ],
)
def test_what_cannot_be_refined_is_refused(keys: dict[str, Any]) -> None:
    table = {key: value for key, value in (KEYS | keys).items() if value is not None}
    with pytest.raises(DaleniusError):
        plan_of(tiny_domain(RELATIONS[0]), {"table": table, "privacy": PURE})
