"""A small site with canaries in its data, in-process and as a real server process."""

import importlib.util
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from tests.server.conftest import QUICK

from dalenius.server.accounts import Accounts
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig
from dalenius.server.services import Services
from dalenius.server.store import StateStore

CANARIES = ("CANARY-7f3a91", "CANARY-c0ffee", "8675309123", "kanarie@example.org")
PASSWORDS = {
    "ana": ("analyst", "a long enough password"),
    "ben": ("analyst", "another long password"),
    "cus": ("custodian", "custodian password 1"),
    "dan": ("custodian", "custodian password 2"),
    "aud": ("auditor", "auditor password 123"),
}
DATASET = """
[dataset]
name = "towns"
title = "People of three towns"
population = "townspeople"
version = "1"
source = "people.csv"
[variables.town]
label = "Town"
categories = ["Aby", "Bro", "Cedar"]
[variables.town.hierarchies.coast]
"inland" = ["Aby", "Cedar"]
"coast" = ["Bro"]
[variables.sex]
label = "Sex"
categories = ["female", "male"]
[variables.age]
label = "Age group"
categories = ["0-17", "18-64", "65+"]
[variables.work]
label = "Work, in words"
categories = ["farm, forest", "=office", "none [at all]"]
sensitive = true
[variables.income]
label = "Income"
bounds = [0, 1000]
step = 1
"""
POLICY = """
population = "townspeople"
[budget]
rho = 500
delta = 1e-5
[default_quota]
rho = 100
delta = 1e-6
"""


def write_people(path: Path, rows: int = 3000, seed: int = 5, drop: int = 0) -> None:
    """People, a few of them with values that were never declared and must never be seen."""
    rng = random.Random(seed)
    lines = ["name,town,sex,age,work,income"]
    for number in range(rows):
        name = CANARIES[3] if number % 50 == 0 else f"person{number}"
        town = CANARIES[0] if number % 97 == 0 else rng.choice(["Aby", "Bro", "Cedar"])
        work = CANARIES[1] if number % 89 == 0 else rng.choice(['"farm, forest"', "=office", "none [at all]"])
        income = CANARIES[2] if number % 83 == 0 else str(rng.randrange(1000))
        lines.append(
            f"{name},{town},{rng.choice(['female', 'male'])},{rng.choice(['0-17', '18-64', '65+'])},{work},{income}"
        )
    path.write_text("\n".join(lines[: len(lines) - drop]) + "\n")


def write_site(folder: Path, *, policy: str = POLICY, rows: int = 3000, extra: str = "", top: str = "") -> Path:
    """A whole site in a folder; its configuration file."""
    folder.mkdir(parents=True, exist_ok=True)
    write_people(folder / "people.csv", rows)
    (folder / "dataset.toml").write_text(DATASET)
    (folder / "policy.toml").write_text(policy)
    place = folder / "server.toml"
    place.write_text(
        f"""
title = "Test site"
policy = "policy.toml"
secure_cookies = false
pages = false
register_on_start = true
{top}
[limits]
requests_per_minute = 1000000
anonymous_per_minute = 1000000
releases_per_minute = 1000000
sign_ins_per_minute = 1000000
[[datasets]]
document = "dataset.toml"
{extra}
"""
    )
    return place


@dataclass
class Site:
    """An application in this process."""

    place: Path
    services: Services
    client: TestClient
    headers: dict[str, dict[str, str]] = field(default_factory=dict)

    def call(self, who: str, method: str, path: str, **arguments: Any) -> httpx.Response:
        """A call with a user's token; "" calls as nobody."""
        headers = {**self.headers.get(who, {}), **arguments.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **arguments)

    def release(self, who: str, document: dict[str, Any], **arguments: Any) -> httpx.Response:
        """Ask for a release."""
        return self.call(who, "POST", "/api/v1/datasets/towns/releases", json=document, **arguments)


def document(epsilon: object = "0.5", rows: object = ("town",), **table: Any) -> dict[str, Any]:
    """A small request."""
    return {
        "table": {"rows": list(rows), **table},  # type: ignore[call-overload]
        "privacy": {"definition": "pure", "epsilon": str(epsilon)},
    }


@cache
def hashed(password: str) -> str:
    """One hash of each password is enough for all tests."""
    return str(QUICK.hash(password))


def make_users(store: StateStore) -> dict[str, dict[str, str]]:
    """The users, and a token header for each."""
    headers, accounts = {}, Accounts(store)
    for name, (role, password) in PASSWORDS.items():
        user = accounts.find(name) or accounts.create(name, role, None)
        store.write("UPDATE users SET password = ? WHERE name = ?", hashed(password), name)
        headers[name] = {"Authorization": f"Bearer {accounts.create_token(user, 'test')}"}
    return headers


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Builds sites for tests that change what others rely on."""
    opened: list[TestClient] = []

    def make(folder: str = "site", is_registered: bool = True, **arguments: Any) -> Site:
        place = write_site(tmp_path / folder, **{"top": "tick_milliseconds = 20\n", **arguments})
        config = ServerConfig.load(place).model_copy(update={"register_on_start": is_registered})
        app = create_app(config)
        services: Services = app.state.services
        if is_registered:
            services.desk.register_all(by="test")
        client = TestClient(app, raise_server_exceptions=False)
        client.__enter__()
        opened.append(client)
        return Site(place, services, client, make_users(services.store))

    yield make
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site that the tests of a module share."""
    place = write_site(tmp_path_factory.mktemp("site"), top="tick_milliseconds = 20\n")
    app = create_app(ServerConfig.load(place))
    app.state.services.desk.register_all(by="test")
    with TestClient(app, raise_server_exceptions=False) as client:
        yield Site(place, app.state.services, client, make_users(app.state.services.store))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Live:
    """A real server process with its workers, its log in a file."""

    def __init__(self, place: Path, workers: int = 1) -> None:
        self.place = place
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = place.parent / "log.jsonl"
        self._stream = self.log.open("ab")
        command = [sys.executable, "-m", "dalenius.cli.main", "serve", str(place), "--port", str(self.port)]
        started = time.monotonic()
        self.process = subprocess.Popen(
            [*command, "--workers", str(workers)], stdout=self._stream, stderr=self._stream, start_new_session=True
        )
        for _ in range(400):
            try:
                if httpx.get(f"{self.url}/readyz", timeout=2).status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.05)
        else:
            raise RuntimeError(self.log.read_text()[-2000:])
        self.seconds_to_start = time.monotonic() - started

    def worker_pids(self) -> list[int]:
        """Processes that the server forked to answer requests."""
        place = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return sorted(int(pid) for pid in place.read_text().split())

    def stop(self, patience: float = 40.0) -> int:
        """Ask it to end, and wait for that; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self._stream.close()
        return int(self.process.returncode)


def users_of(place: Path) -> dict[str, dict[str, str]]:
    """Make the users of a site that no process serves yet."""
    store = StateStore(ServerConfig.load(place).store_location)
    headers = make_users(store)
    store.close()
    return headers


@pytest.fixture
def make_live(tmp_path: Path) -> Iterator[Callable[..., Live]]:
    """Starts servers; they are stopped when the test ends."""
    started: list[Live] = []

    def make(place: Path, workers: int = 1) -> Live:
        live = Live(place, workers)
        started.append(live)
        return live

    yield make
    for live in started:
        live.stop()


def postgres_module() -> ModuleType:
    """The ledger tests' PostgreSQL server, loaded from its file."""
    place = Path(__file__).parents[2] / "ledger" / "conftest.py"
    spec = importlib.util.spec_from_file_location("ledger_conftest", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_no_canary(*texts: str | bytes) -> None:
    """Nothing of the planted values is in any of the texts."""
    for text in texts:
        content = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        for canary in CANARIES:
            assert canary not in content
        assert "Traceback" not in content


def error_code(response: httpx.Response) -> str:
    """The stable code; fails where the answer is not of the one error shape."""
    body = json.loads(response.content)
    assert set(body) == {"error"} and set(body["error"]) == {"code", "message", "detail"}
    return str(body["error"]["code"])
