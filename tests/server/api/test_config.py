"""The configuration file and the verb that serves it: mistakes are refused in one line, keys are made once."""

import socket
import stat
from pathlib import Path

import pytest
from tests.server.api.conftest import write_site
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.errors import Conflict, DocumentError
from dalenius.server.accounts import Accounts, Role
from dalenius.server.config import ServerConfig
from dalenius.server.demonstration import prepare
from dalenius.server.store import StateStore
from dalenius.server.supervisor import _bound

EXAMPLE = Path(__file__).parents[3] / "deploy" / "server.example.toml"


def test_the_shipped_example_is_valid() -> None:
    config = ServerConfig.load(EXAMPLE)
    assert config.workers == 4 and config.tick == 0.25
    assert config.path("policy.toml") == EXAMPLE.parent / "policy.toml"
    assert config.ledger_location.startswith("postgresql://")


@pytest.mark.parametrize(
    "text",
    [
        "workers = 0",
        "tick_milliseconds = 0",
        "nonsense = 1",
        "port = 70000",
        '[[datasets]]\ndocument = "d.toml"\nmode = "free"',
        "[limits]\nbody_bytes = -1",
        "not toml",
        'secure_cookies = "perhaps"',
    ],
)
def test_mistakes_are_refused_with_their_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.toml").write_text(text)
    with pytest.raises(DocumentError):
        ServerConfig.load(tmp_path / "server.toml")


def test_the_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    config = ServerConfig.of({}, tmp_path)
    key = config.key()
    assert len(key) == 32 and config.key() == key
    assert stat.S_IMODE((tmp_path / "state" / "session.key").stat().st_mode) == 0o600
    (tmp_path / "state" / "session.key").write_bytes(b"short")
    with pytest.raises(DocumentError):
        config.key()


def test_serve_refuses_missing_documents_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text('[[datasets]]\ndocument = "nope.toml"\n')
    result = CliRunner().invoke(app, ["serve", str(tmp_path / "server.toml")])
    assert isinstance(result.exception, DocumentError) and "nope.toml" in str(result.exception)
    assert isinstance(CliRunner().invoke(app, ["serve"]).exception, DocumentError)


def test_add_user_prints_a_password_that_works(tmp_path: Path) -> None:
    place = write_site(tmp_path, rows=10)
    result = CliRunner().invoke(app, ["serve", str(place), "--add-user", "maria:custodian"])
    assert result.exit_code == 0
    store = StateStore(ServerConfig.load(place).store_location)
    user = Accounts(store).verify("maria", result.stdout.strip().rpartition(" ")[2])
    assert user is not None and user.role is Role.CUSTODIAN
    store.close()


def test_the_demo_makes_its_site_once_and_renews_its_passwords(tmp_path: Path) -> None:
    place, people = prepare(tmp_path)
    assert {role for role, _ in people.values()} == {"custodian", "analyst"}
    again, renewed = prepare(tmp_path)
    assert again == place and people["analyst"][1] != renewed["analyst"][1]
    store = StateStore(ServerConfig.load(place).store_location)
    accounts = Accounts(store)
    assert accounts.verify("analyst", people["analyst"][1]) is None
    assert accounts.verify("analyst", renewed["analyst"][1]) is not None
    store.close()


def test_the_shared_socket_is_tcp_so_that_answers_do_not_wait_for_acknowledgements() -> None:
    bound = _bound("127.0.0.1", 0)
    try:
        assert bound.proto == socket.IPPROTO_TCP
        assert bound.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        bound.listen()
        with pytest.raises(Conflict):
            _bound(*bound.getsockname())
    finally:
        bound.close()
