"""Tables from stored lists under every rule of a policy: kept or refused, and what is refused is not sold a second time.

One server has the lists of the kit under every rule, as a data set and population of its own each. Lists are released under
the rule, and once more before it: the server is then started again with the rule adopted.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.api.toys import Toys, name_of, serving

from dalenius.core.plan import TablePlan
from dalenius.core.release import Release, Status
from dalenius.ledger.policy import adopt
from dalenius.publish.to_json import from_json
from dalenius.spec.policy import PolicyDocument
from dalenius.testing import rule_kit
from dalenius.testing.rule_kit import ALL, RULES

ONE = {"definition": "approximate", "epsilon": 4, "delta": "1e-4"}
LISTS: dict[str, dict[str, Any]] = {
    "one table": {"table": {"rows": ["sex", "region"]}, "privacy": ONE},
    "margins": {"table": {"rows": ["sex", "region"], "margins": "all"}, "privacy": ALL},
    "levels": {"table": {"rows": ["sex", "region"], "margins": [["sex", "region"], ["region.half"]]}, "privacy": ALL},
    "zeros": {"table": {"rows": ["sex", "status"]}, "privacy": ONE},
}
"""Lists that are released once; the tables of `SUMS` are asked of each of them."""
SUMS: dict[str, dict[str, Any]] = {
    "whole": {"table": {"rows": ["sex", "region"]}, "privacy": ONE},
    "turned": {"table": {"rows": ["region"], "columns": ["sex"]}, "privacy": ONE},
    "part": {"table": {"rows": ["sex"], "where": {"region": "north"}}, "privacy": ONE},
    "sum": {"table": {"rows": ["sex"]}, "privacy": ONE},
    "level": {"table": {"rows": [{"variable": "region", "level": "half"}]}, "privacy": ONE},
    "total": {"table": {}, "privacy": ONE},
    "margins": {"table": {"rows": ["sex"], "columns": ["region"], "margins": "all"}, "privacy": ALL},
    "zeros": {"table": {"rows": ["sex", "status"]}, "privacy": ONE},
    "strategy": {"table": {"rows": ["sex", "region"]}, "privacy": ONE | {"strategy": "split"}},
    "mechanism": {"table": {"rows": ["sex"]}, "privacy": ONE | {"mechanism": "staircase"}},
}
# Under these rules a number has the noise of one draw; judges of plans cannot see that cells were added up.
OF_ONE_DRAW = ("table.truncation", "table.maximum_entropy")
# Rules that no table of the kit's lists keeps.
NEVER_KEPT = ("allow.evidence", "allow.most_cells", "table.sparse")
# Nothing that was released before one of these rules keeps it.
NEVER_KEPT_LATER = ("table.threshold", "table.nonnegative", *OF_ONE_DRAW)


def lists_of(rule: str) -> list[str]:
    """Every list for rules on what is shown; two for rules on how it is made."""
    return list(LISTS) if rule.startswith("table.") else ["one table", "margins"]


KINDS = {name_of(rule, kind): (rule, kind) for rule in RULES for kind in lists_of(rule)}
DOCUMENTS = {name: LISTS[kind] for name, (_, kind) in KINDS.items()}
POLICIES = {name: rule_kit.policy_of(RULES[rule]) for name, (rule, _) in KINDS.items()}


def release_before(folder: Path, names: Iterable[str]) -> None:
    """Release lists under a policy without rules, then adopt the rule of each data set."""
    open_policies = dict.fromkeys(names, rule_kit.policy_of(None))
    with serving(folder, open_policies, DOCUMENTS) as earlier:
        desk = earlier.services.desk
        for name in open_policies:
            policy = PolicyDocument.from_dict(POLICIES[name])
            adopt(desk.ledger, desk.find(name).curator.domain, policy, by="test")


@pytest.fixture(scope="module", params=["under the rule", "before the rule"])
def toys(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toys]:
    folder = tmp_path_factory.mktemp("lists")
    if request.param == "before the rule":
        release_before(folder, KINDS)
    with serving(folder, POLICIES, DOCUMENTS) as running:
        yield running


def is_kept(rule: str, plan: TablePlan, answer: Release, stored: Release) -> bool:
    if rule not in OF_ONE_DRAW:
        return RULES[rule].is_kept(plan, answer)
    cells = {value for table in stored.tables for value in table.values.tolist()}
    return {value for table in answer.tables for value in table.values.tolist()} <= cells


def stored_list(toys: Toys, name: str) -> Release | None:
    view = toys.services.lists.view(toys.services.desk.find(name))
    return None if view is None else from_json(toys.services.desk.ledger.reader.release(view.entry).document)


@pytest.mark.parametrize("rule", RULES)
def test_a_table_from_a_list_keeps_every_rule_or_is_refused_at_both_doors(
    rule: str, toys: Toys, request: pytest.FixtureRequest
) -> None:
    judged, desk = 0, toys.services.desk
    for kind in lists_of(rule):
        name = name_of(rule, kind)
        stored, lines = stored_list(toys, name), len(desk.ledger.reader.entries(name))
        if stored is None:
            continue
        for asked, document in SUMS.items():
            where = f"{kind}, {asked}"
            answer = toys.post(f"{name}/tables", document)
            if answer.status_code == 200:
                judged += 1
                plan = desk.find(name).curator.plan(LISTS[kind])
                assert is_kept(rule, plan, from_json(answer.content), stored), where
            elif (code := answer.json()["error"]["code"]) in ("not_allowed", "conflict", "too_large"):
                # The list holds it, so that it is neither free nor for sale.
                assert toys.post(f"{name}/releases", document).json() == answer.json(), where
                if code == "not_allowed":
                    assert answer.json()["error"]["detail"]["list"] == stored.provenance.ledger_entry, where
                    assert answer.json()["error"]["detail"]["rule"], where
        assert len(desk.ledger.reader.entries(name)) == lines, kind
    is_later = "before the rule" in request.node.name
    assert bool(judged) != (rule in (*NEVER_KEPT, *(NEVER_KEPT_LATER if is_later else ())))


def test_a_list_is_bought_once_whatever_rules_come(toys: Toys) -> None:
    services = toys.services
    for name, served in services.desk.served.items():
        stored = stored_list(toys, name)
        if stored is not None:
            assert services.lists.release(served) == stored.provenance.ledger_entry
            assert sum(line.kind == "charge" for line in services.desk.ledger.reader.entries(name)) == 1


def test_a_list_that_the_custodian_withdraws_holds_nothing(tmp_path: Path) -> None:
    """The way out of a list that a later rule closed: a decision of the custodian, seen in the ledger."""
    name = name_of("table.threshold", "margins")
    release_before(tmp_path, [name])
    with serving(tmp_path, {name: POLICIES[name]}, DOCUMENTS) as toys:
        services, stored = toys.services, stored_list(toys, name)
        assert stored is not None
        earlier = stored.provenance.ledger_entry
        assert toys.post(f"{name}/releases", SUMS["sum"]).json()["error"]["detail"]["rule"] == "threshold"
        services.desk.ledger.set_status(earlier, Status.WITHDRAWN, by="cus")
        assert toys.post(f"{name}/releases", SUMS["sum"]).status_code == 200
        assert services.lists.release(services.desk.find(name)) != earlier
        assert toys.post(f"{name}/tables", SUMS["whole"]).status_code == 200


def test_a_sum_beyond_the_variance_cap_is_neither_free_nor_for_sale(tmp_path: Path) -> None:
    """Six cells of variance v each: a cap of 4 v lets sums of three be shown, and not their total."""
    document = {"table": {"rows": ["sex", "region"]}, "privacy": {"definition": "pure", "epsilon": 1}}
    variance = 1.8413  # of discrete Laplace noise at epsilon 1
    policy = rule_kit.policy_of(None) | {"table": {"variance_cap": str(4 * variance)}}
    with serving(tmp_path, {"toys": policy}, {"toys": document}) as toys:
        by_sex = {"table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": 5}}
        total = {"table": {}, "privacy": {"definition": "pure", "epsilon": 5}}
        free = from_json(toys.post("toys/tables", by_sex).content)
        assert free.table.variance.tolist() == pytest.approx([3 * variance] * 2, rel=1e-4)
        for door in ("tables", "releases"):
            refusal = toys.post(f"toys/{door}", total).json()["error"]
            assert refusal["code"] == "not_allowed" and refusal["detail"]["rule"] == "variance_cap"
            assert "release" in refusal["message"] and free.provenance.ledger_entry in refusal["message"]
        lines = toys.services.desk.ledger.reader.entries("toys")
        assert sum(line.kind == "charge" for line in lines) == 1


def test_the_judge_sees_a_rule_that_lists_ignore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalenius.server.reading.check", lambda *_, **__: None)
    name = name_of("table.truncation", "one table")
    with serving(tmp_path, {name: POLICIES[name]}, DOCUMENTS) as toys:
        stored = stored_list(toys, name)
        assert stored is not None
        plan = toys.services.desk.find(name).curator.plan(DOCUMENTS[name])
        kept = {
            asked: is_kept(
                "table.truncation", plan, from_json(toys.post(f"{name}/tables", SUMS[asked]).content), stored
            )
            for asked in ("whole", "turned", "part", "sum", "total")
        }
    assert kept == {"whole": True, "turned": True, "part": True, "sum": False, "total": False}
