"""Every rule of a policy on the server, for an analyst, on every method of the registry: refused, or released and kept.

One server has a data set for each rule. The examples of a method are taken in turn, one for each rule and route; all of them are
tried without a server in tests/curator/test_rules_on_every_route.py. Tables from stored lists are in test_rules_of_lists.py.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


Asked = tuple[str, str, dict[str, Any]]


def in_turn(rule: str) -> tuple[list[Asked], list[Asked]]:
    """One example of every method on each route, or more where there are more of them than rules, and the others."""
    every = [(method, route.split()[0], document) for method, route, document in rule_kit.routes()]
    every = [asked for asked in every if asked[1] in ROUTES]
    examples = Counter((method, route) for method, route, _ in every)
    place: Counter[tuple[str, str]] = Counter()
    first, others, turn = [], [], list(RULES).index(rule)
    for method, route, document in every:
        number = place[method, route]
        has_turn = number % len(RULES) == turn % min(examples[method, route], len(RULES))
        (first if has_turn else others).append((method, route, document))
        place[method, route] += 1
    return first, others


def test_every_example_is_taken_for_some_rule() -> None:
    taken = [asked for rule in RULES for asked in in_turn(rule)[0]]
    assert all(asked in taken for asked in in_turn(next(iter(RULES)))[1])


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_is_ignored_for_an_analyst(rule: str, toys: Toys) -> None:
    name, judged = name_of(rule), 0
    curator, ledger = toys.services.desk.find(name).curator, toys.services.desk.ledger
    first, others = in_turn(rule)
    for method, route, document in (*first, *others):
        if judged and (method, route, document) in others:
            break
        where, lines = f"{method}, {route}", len(ledger.reader.entries(name))
        answer = toys.post(f"{name}/releases", document)
        try:
            plan = curator.plan(document)
        except (PolicyError, RequestError) as refusal:
            assert answer.json()["error"]["code"] == refusal.code, (where, answer.text)
            assert len(ledger.reader.entries(name)) == lines, where
            continue
        assert answer.status_code == 200, (where, answer.text)
        assert RULES[rule].is_kept(plan, from_json(answer.content)), where
        judged += 1
    assert judged or rule == "allow.evidence"


def test_a_rule_that_the_server_ignores_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: mechanisms that the policy does not open are used."""
    monkeypatch.setattr("dalenius.spec.policy.PolicyDocument.allows", lambda *_: True)
    rule = RULES["allow.mechanisms"]
    with serving(tmp_path, {"toys": rule_kit.policy_of(rule)}, {}) as toys:
        curator = toys.services.desk.find("toys").curator
        _, _, document = next(asked for asked in rule_kit.routes() if asked[:2] == ("median", "plain 0"))
        answer = toys.post("toys/releases", document)
        assert answer.status_code == 200
        assert not rule.is_kept(curator.plan(document), from_json(answer.content))
