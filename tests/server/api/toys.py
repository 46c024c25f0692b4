"""A server that serves the rule kit's rows (or others) many times over, each time under another policy: a population of its own each.

The rows lie in a file of a form that only a planted engine reads, which is quick to open, and shows that the documents of a
server find an engine by what it accepts.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi.testclient import TestClient
from tests.architecture.plants import ENGINE

from dalenius.core import registry
from dalenius.errors import DaleniusError
from dalenius.server.accounts import Accounts
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig
from dalenius.server.services import Services
from dalenius.testing import rule_kit
from dalenius_lab.planting import planted

LIMITS = {
    "requests_per_minute": 10**6,
    "anonymous_per_minute": 10**6,
    "releases_per_minute": 10**6,
    "waiting_per_user": 10**6,
}


@dataclass(frozen=True)
class Toys:
    """A running server, its services, and an analyst's way to call it."""

    services: Services
    client: TestClient
    token: str

    @property
    def headers(self) -> dict[str, str]:
        """Of an analyst."""
        return {"Authorization": f"Bearer {self.token}"}

    def post(self, path: str, document: Mapping[str, Any]) -> httpx.Response:
        """As an analyst, on /api/v1/datasets."""
        return self.client.post(f"/api/v1/datasets/{path}", json=dict(document), headers=self.headers)


def name_of(*words: str) -> str:
    """A name for a data set."""
    return "-".join(words).replace(".", "-").replace(" ", "-")


@contextmanager
def serving(
    folder: Path,
    policies: Mapping[str, Mapping[str, Any]],
    lists: Mapping[str, Any],
    declared: Mapping[str, Any] = rule_kit.DATASET,
    rows: Mapping[str, Any] = rule_kit.ROWS,
) -> Iterator[Toys]:
    """Data sets by name, each under its policy and with its list if it has one; registered, lists released."""
    (folder / "toys.columns").write_text(json.dumps(rows))
    entries = []
    for name, policy in policies.items():
        own = {**declared["dataset"], "name": name, "population": name, "source": "toys.columns"}
        (folder / f"{name}.json").write_text(json.dumps({**declared, "dataset": own}))
        (folder / f"{name}.policy.json").write_text(json.dumps(policy))
        entry = {"document": f"{name}.json", "policy": f"{name}.policy.json"}
        if name in lists:
            (folder / f"{name}.list.json").write_text(json.dumps(lists[name]))
            entry["list"] = f"{name}.list.json"
        entries.append(entry)
    settings = {"tick_milliseconds": 5, "pages": False, "secure_cookies": False, "limits": LIMITS}
    config = ServerConfig.of(settings | {"datasets": entries}, folder)
    is_planted = "columns" in registry.names("engines")
    with nullcontext() if is_planted else planted("engines", "columns", ENGINE):
        app = create_app(config)
        services: Services = app.state.services
        accounts = Accounts(services.store)
        user = accounts.find("ana") or accounts.create("ana", "analyst", None)
        services.desk.register_all(by="test")
        for served in services.desk.served.values():
            # A list that the policy refuses is not released; its data set is served without one.
            with suppress(DaleniusError):
                services.lists.release(served)
        with TestClient(app, raise_server_exceptions=False) as client:
            yield Toys(services, client, accounts.create_token(user, "test"))
