"""Workers share the processors of a machine: each engine of a worker uses its part of them."""

import os

import pytest

from dalenius.core.domain import Categories, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.engines._threads import VARIABLE
from dalenius.engines.duckdb import DuckDBSource
from dalenius.server import supervisor
from dalenius.server.config import ServerConfig


@pytest.mark.parametrize(
    ("processors", "workers", "given", "kept"), [(8, 2, None, "4"), (2, 5, None, "1"), (8, 2, "3", "3")]
)
def test_each_worker_gets_its_share(
    processors: int, workers: int, given: str | None, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, given or "")
    if given is None:
        monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr("dalenius.server.supervisor.os.cpu_count", lambda: processors)
    monkeypatch.setattr("dalenius.server.app.preload", lambda **_: None)
    monkeypatch.setattr(supervisor, "_Supervisor", lambda *_: type("Nobody", (), {"run": lambda _: 0})())
    assert supervisor.serve(ServerConfig.model_construct(pages=False), "localhost", 0, workers) == 0
    assert os.environ[VARIABLE] == kept


@pytest.mark.parametrize(("given", "threads"), [("1", 1), ("3", 3), ("0", 1)])
def test_the_engine_keeps_to_it(given: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, given)
    variables = {"a": Variable(name="a", domain=Categories(labels=("x", "y")))}
    domain = Domain(name="d", population="p", version="1", variables=variables, neighbours=Neighbours())
    source = DuckDBSource(domain, {"a": ["x", "y"]})
    assert source._session.connection.execute("SELECT current_setting('threads')").fetchone() == (threads,)
