"""Every rule of a policy on the server, for an analyst, on every method of the registry: refused or honoured."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.server.api.conftest import Site, make_users, write_site

from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError
from dalenius.publish.to_json import from_json
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius.testing import rule_kit
from dalenius.testing.rule_kit import RULES

ROUTES = ("plain 0", "margins 0", "strategy 0")


def site_of(folder: Path, policy: dict[str, Any]) -> Site:
    """The kit's rows on a site of their own."""
    place = write_site(folder, rows=1, top="tick_milliseconds = 5\n")
    document = rule_kit.DATASET | {"dataset": rule_kit.DATASET["dataset"] | {"source": "toys.csv"}}
    (folder / "dataset.json").write_text(json.dumps(document))
    (folder / "policy.json").write_text(json.dumps(policy))
    with (folder / "toys.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rule_kit.ROWS)
        writer.writerows(zip(*rule_kit.ROWS.values(), strict=True))
    place.write_text(
        place.read_text().replace("dataset.toml", "dataset.json").replace("policy.toml", "policy.json")
    )
    app = create_app(ServerConfig.load(place))
    app.state.services.desk.register_all(by="test")
    return Site(
        place,
        app.state.services,
        TestClient(app, raise_server_exceptions=False),
        make_users(app.state.services.store),
    )


def planner_of(policy: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    domain = DatasetDocument.from_dict(rule_kit.DATASET).domain()
    planner = Planner(domain=domain, policy=PolicyDocument.from_dict(policy))
    return lambda document: planner.plan(RequestDocument.from_dict(document))


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_is_ignored_for_an_analyst(rule: str, tmp_path: Path) -> None:
    policy = rule_kit.policy_of(RULES[rule])
    site, plan_of = site_of(tmp_path / "site", policy), planner_of(policy)
    with site.client:
        for method, route, document in rule_kit.routes():
            if route not in ROUTES:
                continue
            where = f"{method}, {route}"
            answer = site.call("ana", "POST", "/api/v1/datasets/toys/plan", json=document)
            is_refused = answer.status_code >= 400 or answer.json()["refusal"] is not None
            try:
                plan = plan_of(document)
            except DaleniusError:
                assert is_refused, where
                continue
            assert not is_refused, (where, answer.text)
            if route == "plain 0":
                released = site.call("ana", "POST", "/api/v1/datasets/toys/releases", json=document)
                assert released.status_code == 200, (where, released.text)
                assert RULES[rule].is_kept(plan, from_json(released.content)), where
