"""Every rule of a policy on the server, for an analyst, on every method of the registry: refused, or released and kept.

One server has a data set for each rule. Tables from stored lists are in test_rules_of_lists.py.
"""

from collections.abc import Iterator

import pytest
from tests.server.api.toys import Toys, name_of, serving

from dalenius.errors import PolicyError, RequestError
from dalenius.publish.to_json import from_json
from dalenius.testing import rule_kit
from dalenius.testing.rule_kit import RULES

ROUTES = ("plain", "margins", "list", "strategy", "two")


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toys]:
    policies = {name_of(rule): rule_kit.policy_of(RULES[rule]) for rule in RULES}
    with serving(tmp_path_factory.mktemp("rules"), policies, {}) as running:
        yield running


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_is_ignored_for_an_analyst(rule: str, toys: Toys) -> None:
    name, judged = name_of(rule), 0
    curator, ledger = toys.services.desk.find(name).curator, toys.services.desk.ledger
    for method, route, document in rule_kit.routes():
        if route.split()[0] not in ROUTES:
            continue
        where, lines = f"{method}, {route}", len(ledger.entries(name))
        answer = toys.post(f"{name}/releases", document)
        try:
            plan = curator.plan(document)
        except (PolicyError, RequestError) as refusal:
            assert answer.json()["error"]["code"] == refusal.code, (where, answer.text)
            assert len(ledger.entries(name)) == lines, where
            continue
        assert answer.status_code == 200, (where, answer.text)
        assert RULES[rule].is_kept(plan, from_json(answer.content)), where
        judged += 1
    assert judged or rule == "allow.evidence"
