"""The cell with the best total by name: every neighbour on tiny data, planted faults, both ends."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dalenius.core.neighbours import Neighbours
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.rationals import plain
from dalenius.curator.curator import Curator
from dalenius.measurements.selections import cells
from dalenius.shown.answers import columns
from dalenius.spec.canonical import canonical
from dalenius.spec.request import RequestDocument
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.exhaustive import RELATION_NAMES, RELATIONS, tiny_domain, worst_ratio

WAYS = ("exponential", "permute_and_flip")
MOVES = (("a", 2), ("b", 2), ("c", -1))


def request_of(way: str, which: str = "largest", **privacy: Any) -> dict[str, Any]:
    table = {"rows": ["g"], "measure": "best", "of": "x", "method": way, "which": which}
    return {"table": table, "privacy": {"definition": "pure", "epsilon": "1.5"} | privacy}


@pytest.mark.parametrize("neighbours", RELATIONS, ids=RELATION_NAMES)
@pytest.mark.parametrize("which", ["largest", "smallest"])
@pytest.mark.parametrize("way", WAYS)
def test_no_neighbour_sees_more_than_guaranteed_and_charged(way: str, which: str, neighbours: Neighbours) -> None:
    assert 0.2 < worst_ratio(request_of(way, which), neighbours, most=2, rows=MOVES) <= 1 + 1e-9


@pytest.mark.parametrize("way", WAYS)
def test_a_row_that_leaves_one_cell_for_another_is_not_counted_once(way: str) -> None:
    right = cells.steepness
    with patch.object(cells, "steepness", lambda scores, neighbours: right(scores, neighbours) / 2):
        assert worst_ratio(request_of(way), RELATIONS[1], most=3, rows=MOVES) > 1.1


def test_the_largest_and_the_smallest_are_named(tmp_path: Path) -> None:
    with Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=tmp_path / "ledger.sqlite",
        policy=rule_kit.policy_of(None),
        rng=RecordedRandomness("a choice"),
    ) as curator:
        curator.register(by="custodian")
        for which, label in (("largest", "south"), ("smallest", "north")):
            table = {"rows": ["region"], "measure": "best", "of": "income", "which": which}
            release = curator.release({"table": table, "privacy": {"definition": "pure", "epsilon": 20}})
            assert release.table.space.axes[0].labels == (label,)
            assert columns(release, release.table)["region"] == [label]


def test_the_larger_is_the_default_and_one_request() -> None:
    domain = tiny_domain(RELATIONS[0])
    said = request_of("exponential")
    silent = {"table": {k: v for k, v in said["table"].items() if k != "which"}, "privacy": said["privacy"]}
    first, second = (canonical(RequestDocument.from_dict(document), domain).digest for document in (said, silent))
    assert first == second


def test_the_rate_follows_the_declared_bounds() -> None:
    step: Any = plan_of(tiny_domain(RELATIONS[1]), request_of("exponential")).measurements[0]
    # A row of 2 may leave one cell for another: their difference changes by 4.
    assert plain(step.rate) == "0.375"
