"""An older or missing ledger beside its newer anchor is refused on every route: release, register, serve, in-process."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.curator.curator import Curator
from dalenius.errors import AnchorMismatch, NotRegistered
from dalenius.server.config import ServerConfig
from dalenius.server.services import Services

RUNNER = CliRunner()


def invoke(*arguments: object) -> str:
    done = RUNNER.invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def sold(office: Path) -> Path:
    """An office whose ledger was copied before its only release."""
    invoke("register", office / "dataset.toml", "--ledger", office / "ledger.sqlite")
    shutil.copy(office / "ledger.sqlite", office / "older.sqlite")
    invoke("release", office / "request.toml", "--ledger", office / "ledger.sqlite")
    (office / "server.toml").write_text(
        'title = "Office"\nledger = "ledger.sqlite"\nsecure_cookies = false\n[[datasets]]\ndocument = "dataset.toml"\n'
    )
    return office


def remove_store(office: Path) -> None:
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"):
        (office / name).unlink(missing_ok=True)


def test_an_older_store_is_written_on_no_route(sold: Path) -> None:
    remove_store(sold)
    shutil.copy(sold / "older.sqlite", sold / "ledger.sqlite")
    ledger = ("--ledger", sold / "ledger.sqlite")
    for verb in (("release", sold / "request.toml"), ("register", sold / "dataset.toml")):
        with pytest.raises(AnchorMismatch, match="older copy"):
            invoke(*verb, *ledger)
    with pytest.raises(AnchorMismatch, match="older copy"):
        Services(ServerConfig.load(sold / "server.toml"))
    with pytest.raises(AnchorMismatch, match="older copy"):
        Curator.open(sold / "dataset.toml", ledger=sold / "ledger.sqlite")
    assert "counts every budget as spent" in str(
        RUNNER.invoke(app, ["release", str(sold / "request.toml"), *map(str, ledger)]).exception
    )
    said = invoke("ledger", "restore", *ledger, "--note", "the disk failed")
    assert "Counted as spent" in said
    assert "counted as spent" in invoke("ledger", "show", *ledger)
    assert "The ledger holds" in invoke("ledger", "verify", *ledger)


def test_a_deleted_store_gives_no_fresh_budget_on_any_route(sold: Path) -> None:
    remove_store(sold)
    ledger = ("--ledger", sold / "ledger.sqlite")
    with pytest.raises(NotRegistered):
        invoke("release", sold / "request.toml", *ledger)
    with pytest.raises(AnchorMismatch, match="store is empty"):
        invoke("register", sold / "dataset.toml", *ledger)
    with pytest.raises(AnchorMismatch, match="store is empty"):
        Services(ServerConfig.load(sold / "server.toml"))
    with pytest.raises(AnchorMismatch, match="store is empty"):
        Curator.open(sold / "dataset.toml", ledger=sold / "ledger.sqlite")


def test_an_anchor_kept_elsewhere_is_named(sold: Path, tmp_path: Path) -> None:
    kept = tmp_path / "elsewhere"
    (sold / "ledger.sqlite.anchor").rename(kept)
    ledger = ("--ledger", sold / "ledger.sqlite")
    with pytest.raises(AnchorMismatch, match="anchor is not at"):
        invoke("release", sold / "request.toml", *ledger)
    invoke("release", sold / "request.toml", *ledger, "--anchor", kept)
    invoke("register", sold / "dataset.toml", *ledger, "--anchor", kept)
