"""Ledgers to test on: a SQLite file, and a real PostgreSQL server on a temporary directory and a free port."""

import grp
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation
from dalenius.ledger import Charge, Ledger

if settings.default is not None and settings.default.deadline is not None:
    # A busy machine is slow now and then; that is no failure, and the same examples run every time.
    settings.register_profile("steady", deadline=None, derandomize=True)
    settings.load_profile("steady")


def binaries() -> Path | None:
    """Debian's folder of PostgreSQL programs, newest first, or wherever `initdb` is found."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if found:
        return found[-1].parent
    other = shutil.which("initdb")
    return Path(other).resolve().parent if other else None


def someone_else() -> str:
    """A user other than root, because the server refuses to be root."""
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def free_port() -> int:
    """A free port below those that the system gives to clients, so that a restart finds it free again."""
    start = 20000 + os.getpid() * 7 % 10000
    for port in range(start, start + 1000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port")


class Server:
    """A PostgreSQL server of our own, run as a user other than root."""

    def __init__(self, folder: Path) -> None:
        programs = binaries()
        if programs is None:
            pytest.skip("PostgreSQL's programs (initdb, postgres) are not installed")
        self.programs = programs
        self._has_shared = False
        self.data = folder / "data"
        self.user = someone_else() if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:
            shutil.chown(folder, self.user)
        self.port = free_port()
        self._call("initdb", "-D", self.data, "-A", "trust", "-U", "ledger", "--no-sync", "-E", "UTF8")
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def _as_user(self, name: str, *arguments: object) -> dict[str, Any]:
        command = [str(self.programs / name), *map(str, arguments)]
        group = grp.getgrgid(pwd.getpwnam(self.user).pw_gid).gr_name
        identity = {"user": self.user, "group": group, "extra_groups": []} if os.getuid() == 0 else {}
        return {"args": command, "cwd": self.data.parent, "stdout": subprocess.DEVNULL, **identity}

    def _call(self, name: str, *arguments: object) -> None:
        subprocess.run(**self._as_user(name, *arguments), stderr=subprocess.DEVNULL, check=True, timeout=120)

    def start(self) -> None:
        """Start, and wait until connections are accepted."""
        settings = ("fsync=on", "synchronous_commit=on", "max_connections=150", "shared_buffers=32MB")
        options = [part for setting in settings for part in ("-c", setting)]
        self.process = subprocess.Popen(
            **self._as_user("postgres", "-D", self.data, "-p", self.port, "-h", "127.0.0.1", "-k", self.data, *options),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        import psycopg

        for _ in range(300):
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.1)
        raise RuntimeError("the PostgreSQL server did not start")

    def kill(self) -> None:
        """SIGKILL the server and everything it started, at once."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        time.sleep(0.2)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def url(self, database: str) -> str:
        """Where a database of this server is."""
        return f"postgresql://ledger@127.0.0.1:{self.port}/{database}"

    def database(self, name: str) -> str:
        """A new, empty database."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def copy(self, name: str, other: str) -> str:
        """A new database with all that another one holds, to which nobody is connected."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{other}" TEMPLATE "{name}"')
        return self.url(other)

    def empty(self) -> str:
        """The database that most tests share, without a ledger in it: making a new one for each takes longer."""
        import psycopg

        if not self._has_shared:
            self.database("shared")
            self._has_shared = True
        with psycopg.connect(self.url("shared"), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = 'shared' AND pid <> pg_backend_pid()"
            )
            connection.execute("DROP SCHEMA IF EXISTS dalenius CASCADE")
        return self.url("shared")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for the session, in a folder that its own user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="dalenius-postgres-"))
    server = Server(folder)
    yield server
    # Its data are thrown away, so it need not put them in order first.
    server.kill()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a ledger, in either store."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    server: Server = request.getfixturevalue("server")
    return server.empty()


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_750_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Shared by the test and its ledgers."""
    return Clock()


Opener = Callable[..., Ledger]


@pytest.fixture
def opener(location: str, tmp_path: Path, clock: Clock) -> Iterator[Opener]:
    """Open the test's ledger, as often as wanted."""
    made: list[Ledger] = []

    def open_(**options: Any) -> Ledger:
        defaults: dict[str, Any] = {
            "anchor": tmp_path / "anchor",
            "keys": tmp_path / "keys",
            "clock": clock,
            "lease_seconds": 60.0,
            "wait_seconds": 0.05,
        }
        made.append(Ledger.open(location, **(defaults | options)))
        return made[-1]

    yield open_
    for ledger in made:
        ledger.close()


@pytest.fixture
def ledger(opener: Opener) -> Ledger:
    """A ledger with one registered file and a budget of rho 1, delta 1e-6."""
    ledger = opener()
    ledger.declarations.register("people", "census", "2021", "fingerprint", "domain", by="custodian")
    ledger.declarations.grant("people", "add-remove", 1, "1e-6", by="custodian")
    return ledger


CHARGE = Charge(
    population="people",
    relation=Relation.ADD_REMOVE,
    dataset="census",
    version="2021",
    key="00",
    request={"statistic": "count", "by": ["age", "sex"]},
    definition="pure",
    budget={"definition": "pure", "epsilon": "0.5"},
    cost=Cost(relation=Relation.ADD_REMOVE, rho=Fraction(1, 8), epsilon=Fraction(1, 2)),
    plan_digest="plan",
    fingerprint="fingerprint",
)


@pytest.fixture
def charge() -> Callable[..., Charge]:
    """A charge like the standard one, with changes; `rho` and `delta` are short for the cost."""

    def make(key: str = "00", rho: object = "1/8", delta: object = 0, **changes: Any) -> Charge:
        exact = Fraction(str(rho)), Fraction(str(delta))
        pure = changes.pop("epsilon", None if exact[1] else Fraction(1, 2))
        relation = Relation(changes.get("relation", Relation.ADD_REMOVE))
        cost = Cost(relation=relation, rho=exact[0], delta=exact[1], epsilon=pure)
        return replace(CHARGE, key=key, cost=cost, **changes)

    return make
