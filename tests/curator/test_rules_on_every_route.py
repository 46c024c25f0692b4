"""Every policy rule on every route of every method of the registry: refused or honoured, never ignored."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dalenius.core import registry
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError, ParameterError
from dalenius.spec.policy import AllowPart, PolicyDocument, TableRules
from dalenius.spec.request import RequestDocument
from dalenius.testing import rule_kit
from dalenius.testing.rule_kit import RULES

# Parts of a policy that say how much may be spent, by whom and when, or how numbers are shown; no plan can honour or
# leave them aside.
NO_RULES = {"population", "budget", "analysts", "default_quota", "waves", "official_share", "approval_above"}
NO_RULES |= {"sensitive", "show", "release"}


class Opening:
    """Opens curators on the kit's rows, one ledger for each policy."""

    def __init__(self, folder: Path, planner: type[Planner] = Planner) -> None:
        self.folder, self.planner, self.number = folder, planner, 0

    def __call__(self, policy: dict[str, Any]) -> Curator:
        self.number += 1
        ledger = self.folder / str(self.number) / "ledger.sqlite"
        ledger.parent.mkdir()
        curator = Curator.open(
            rule_kit.DATASET, ledger=ledger, data=rule_kit.ROWS, policy=policy, rng=RecordedRandomness(5)
        )
        curator.planner = self.planner(domain=curator.domain, policy=curator.policy)
        return curator


def test_the_kit_tries_every_rule_of_the_policy() -> None:
    fields = {f"table.{name}" for name in TableRules.model_fields}
    fields |= {f"allow.{name}" for name in AllowPart.model_fields}
    fields |= set(PolicyDocument.model_fields) - NO_RULES - {"table", "allow"}
    assert fields <= set(RULES)


def test_every_example_is_planned_without_rules(tmp_path: Path) -> None:
    with Opening(tmp_path)(rule_kit.policy_of(None)) as curator:
        for _, route, document in rule_kit.routes():
            if route.startswith("plain"):
                assert curator.plan(document).measurements


def test_every_strategy_is_planned_without_rules(tmp_path: Path) -> None:
    strategies = set()
    with Opening(tmp_path)(rule_kit.policy_of(None)) as curator:
        for _, route, document in rule_kit.routes():
            if route.startswith("strategy "):
                with suppress(DaleniusError):
                    strategies.add(curator.plan(document).strategy)
    assert strategies >= set(registry.names("plans.margins.strategies"))


@pytest.mark.parametrize("rule", RULES)
def test_no_route_ignores_a_rule(rule: str, tmp_path: Path) -> None:
    ignored, judged = rule_kit.findings(Opening(tmp_path), only=rule)
    assert [f"{f.method}, {f.route}" for f in ignored] == []
    assert judged or rule == "allow.evidence"


class LeavesStrategiesAlone(Planner):
    """Plans without a rule as soon as a request names a strategy."""

    def plan_stored(self, request: RequestDocument) -> TablePlan:
        """The planted fault."""
        if request.privacy.strategy is None:
            return super().plan_stored(request)
        allow = PolicyDocument.from_dict({"allow": {"acknowledge": list(rule_kit.OPEN)}})
        return Planner(domain=self.domain, policy=allow).plan_stored(request)


@pytest.mark.parametrize("rule", ["table.variance_cap", "table.truncation", "allow.most_cells"])
def test_a_rule_that_is_ignored_on_one_route_is_found(rule: str, tmp_path: Path) -> None:
    ignored, _ = rule_kit.findings(Opening(tmp_path, LeavesStrategiesAlone), only=rule, method="count")
    assert ignored and all(finding.route.startswith("strategy") for finding in ignored)


@pytest.mark.parametrize("other", [{"threshold": 3}, {"nonnegative": True}])
def test_unbiased_counts_cannot_be_cut(other: dict[str, Any]) -> None:
    with pytest.raises((ParameterError, DaleniusError), match="unbiased"):
        PolicyDocument.from_dict({"table": {"unbiased": True, **other}})
    assert PolicyDocument.from_dict({"table": {"unbiased": False, **other}})


def test_unbiased_is_demanded_only_where_it_is_written() -> None:
    domain_policy = rule_kit.policy_of(None)
    assert PolicyDocument.from_dict(domain_policy).table.unbiased is None
