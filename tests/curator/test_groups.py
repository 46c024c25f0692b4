"""group = k: the guarantee holds for k units together, the account is charged for one."""

from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dalenius.audit.charges import _guaranteed
from dalenius.audit.planned import source_of
from dalenius.audit.steps import pair_of
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.exhaustive import RELATIONS, tiny_domain, worst_ratio
from dalenius_lab.attackers.grammar import POLICY

PURE = {"definition": "pure", "epsilon": "2"}
TABLES: dict[str, dict[str, Any]] = {
    "count": {"rows": ["g"]},
    "margins": {"rows": ["g"], "margins": "all", "universe": "complete"},
    "total": {"rows": ["g"], "measure": "total", "of": "x"},
    "median": {"measure": "median", "of": "x"},
    "mode": {"rows": ["g"], "measure": "mode"},
    "best": {"rows": ["g"], "measure": "best", "of": "x", "method": "permute_and_flip"},
    "refined": {"rows": ["g"], "refine": {"half": 2}},
}
ROWS = (("a", 2), ("b", 2), ("c", -1))


def request_of(table: dict[str, Any], **privacy: Any) -> dict[str, Any]:
    return {"table": table, "privacy": PURE | privacy}


def worst_of_groups(plan: TablePlan, neighbours: Neighbours, size: int) -> float:
    """The largest loss relative to the guarantee, over all data sets that differ in `size` rows; one row stands beside."""
    domain = tiny_domain(neighbours)
    units = [({"g": g, "x": x},) for g, x in ROWS]
    worst = 0.0
    for others in ((), (units[0],)):
        for left in combinations_with_replacement(units, size):
            rights: Any = combinations_with_replacement(units, size) if neighbours.is_replace else [()]
            for right in rights:
                sides = [source_of(domain, (*others, *side)) for side in (left, right)]
                pair = pair_of(plan, *sides)
                worst = max(worst, _guaranteed(plan.budget, pair), _guaranteed(plan.budget, pair.reversed()))
    return worst


@pytest.mark.parametrize("neighbours", RELATIONS[:2], ids=["add-remove", "replace"])
@pytest.mark.parametrize("name", TABLES)
def test_the_guarantee_holds_for_two_together_and_the_charge_for_one(name: str, neighbours: Neighbours) -> None:
    document = request_of(TABLES[name], group=2)
    plan = plan_of(tiny_domain(neighbours), document, POLICY)
    assert 0.2 < worst_of_groups(plan, neighbours, 2) <= 1 + 1e-7
    assert worst_ratio(document, neighbours, most=2, rows=ROWS) <= 1 + 1e-7


def test_a_group_of_two_priced_as_one_is_found() -> None:
    with patch.object(Neighbours, "grouped", lambda self, _: self):
        plan = plan_of(tiny_domain(RELATIONS[0]), request_of(TABLES["count"], group=2), POLICY)
    assert worst_of_groups(plan, RELATIONS[0], 2) > 1.9


def test_the_noise_grows_and_the_charge_falls() -> None:
    domain = tiny_domain(RELATIONS[0])
    one, three = (plan_of(domain, request_of(TABLES["count"], group=k)) for k in (1, 3))
    assert three.preview["std_error"] > 2.5 * one.preview["std_error"]
    assert three.reservation.epsilon is not None and one.reservation.epsilon is not None
    assert three.reservation.epsilon * 3 == one.reservation.epsilon


def test_the_guarantee_names_the_group_and_the_ledger_pays_for_one(tmp_path: Path) -> None:
    with Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=tmp_path / "ledger.sqlite",
        policy=rule_kit.policy_of(None),
        rng=RecordedRandomness("groups"),
    ) as curator:
        curator.register(by="custodian")
        table = {"rows": ["sex"]}
        plain = curator.release(request_of(table))
        grouped = curator.release(request_of(table, group=2))
        assert "group of 2 rows" in grouped.provenance.guarantee
        assert "group" not in plain.provenance.guarantee
        assert grouped.provenance.digest != plain.provenance.digest
        assert grouped.provenance.request["group"] == 2
        assert "group" not in plain.provenance.request
        assert float(grouped.provenance.cost["epsilon"]) == 1.0


@pytest.mark.parametrize(
    ("table", "privacy"),
    [
        ({"rows": ["g"]}, {"group": 0}),
        ({"rows": ["g"]}, {"group": "2"}),
        ({"measure": "maximum", "of": "x"}, {"definition": "individual", "group": 2}),
        ({"measure": "maximum", "of": "x", "method": "cauchy"}, {"group": 2}),
    ],
)
def test_what_is_not_proved_for_groups_is_refused(table: dict[str, Any], privacy: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        plan_of(tiny_domain(RELATIONS[0]), request_of(table, **privacy), POLICY)
