"""The number of records in a range: every neighbour on tiny data, a planted fault, answers cut to what they can be."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dalenius.core.neighbours import Neighbours
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError
from dalenius.inference.cells import intervals
from dalenius.statistics.count import Count
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers import at_the_data
from dalenius_lab.attackers.exhaustive import RELATION_NAMES, RELATIONS, tiny_domain, worst_ratio


def request_of(**keys: Any) -> dict[str, Any]:
    table = {"measure": "range_count", "of": "x", "among": {"at_least": 1}} | keys
    return {"table": table, "privacy": {"definition": "pure", "epsilon": "1.5"}}


@pytest.mark.parametrize("neighbours", RELATIONS, ids=RELATION_NAMES)
def test_no_neighbour_sees_more_than_guaranteed_and_charged(neighbours: Neighbours) -> None:
    assert 0.9 < worst_ratio(request_of(), neighbours, most=2) <= 1 + 1e-9


def test_half_the_sensitivity_is_found() -> None:
    neighbours = RELATIONS[2]
    with patch.object(Count, "sensitivity", lambda *_: Sensitivity.of_patterns(((1,),))):
        assert worst_ratio(request_of(), neighbours, most=2) > 1.9


def test_individual_answers_hold_for_every_neighbour_of_small_data() -> None:
    seen = at_the_data.fuzz(5, 80, definition="individual", method="range_count")
    assert seen.requests >= 10 and not seen.broken


def test_an_answer_is_cut_to_what_it_can_be_and_has_an_interval(tmp_path: Path) -> None:
    """No record is above ninety; at so little budget the noise is often below zero."""
    with Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=tmp_path / "ledger.sqlite",
        policy=rule_kit.policy_of(None),
        rng=RecordedRandomness("ranges"),
    ) as curator:
        curator.register(by="custodian")
        cut = 0
        for top in range(70, 90):
            table = {"measure": "range_count", "of": "age", "among": {"at_least": top}}
            release = curator.release({"table": table, "privacy": {"definition": "pure", "epsilon": "0.2"}})
            assert release.values >= 0
            cut += bool(release.adjustments)
            assert intervals(release).lower[0] >= 0
        assert cut > 0
        exact = curator.release(
            {
                "table": {"measure": "range_count", "of": "age", "among": {"at_least": 30, "at_most": 50}},
                "privacy": {"definition": "pure", "epsilon": 30},
            }
        )
        assert float(exact.values) == 9.0


@pytest.mark.parametrize(
    "keys",
    [
        {"among": None},
        {"among": ["1"]},
        {"rows": ["g"]},
        {"where": {"x": {"at_least": 0}}},
        {"among": {"at_least": 2, "at_most": 1}},
        {"of": "g"},
        {"margins": "all"},
    ],
)
def test_what_is_no_range_is_refused(keys: dict[str, Any]) -> None:
    document = request_of(**keys)
    document["table"] = {k: v for k, v in document["table"].items() if v is not None}
    with pytest.raises(DaleniusError):
        plan_of(tiny_domain(RELATIONS[0]), document)
