"""Processes that come and go beside an open ledger: nothing that was acknowledged is lost, and a lost log is noticed."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dalenius.errors import InternalError, LedgerCorrupt, LedgerMismatch
from dalenius.ledger import Ledger

SCRIPT = """
import json, sys
from dalenius.ledger import Ledger
location, folder, job = sys.argv[1:]
with Ledger.open(location, anchor=folder + "/anchor", keys=folder + "/keys") as ledger:
    if job == "note":
        ledger.declarations.note("visit", {}, by="visitor")
    print(json.dumps([[entry.seq, entry.digest] for entry in ledger.reader.entries()]))
"""


def visit(location: str, folder: Path, job: str = "look") -> dict[int, str]:
    """Lines that another process sees, which opens the ledger, closes it and ends."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, location, str(folder), job],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {int(seq): str(digest) for seq, digest in json.loads(done.stdout)}


def sell(ledger: Ledger, charge) -> dict[int, str]:
    """Release something and return every line that was acknowledged so far."""
    ledger.commit(ledger.reserve(charge), b"x")
    return {entry.seq: entry.digest for entry in ledger.reader.entries()}


def test_a_command_that_ends_beside_an_open_ledger_loses_nothing(ledger, location, tmp_path, charge):
    sell(ledger, charge("00", "1/2"))
    visit(location, tmp_path, "note")
    acknowledged = sell(ledger, charge("01", "1/2"))
    assert len(acknowledged) == 8
    assert visit(location, tmp_path) == acknowledged
    assert ledger.reader.verify().is_ok


def test_a_ledger_opened_twice_in_one_process_loses_nothing(opener, location, tmp_path, charge, ledger):
    opener().close()
    with opener() as second:
        visit(location, tmp_path)
        sell(second, charge("00"))
    visit(location, tmp_path, "note")
    acknowledged = sell(ledger, charge("01"))
    assert visit(location, tmp_path) == acknowledged


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def file_ledger(store: Path):
    with Ledger.open(store, anchor=store.parent / "anchor", keys=store.parent / "keys") as ledger:
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain", by="custodian")
        ledger.declarations.grant("people", "add-remove", 1, "1e-6", by="custodian")
        yield ledger


STRANGER = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM head').fetchall(); c.close()"
)


def test_a_program_that_drops_our_locks_is_noticed(file_ledger, store, charge):
    """Whoever reads the file in this process drops SQLite's locks on it; the log then goes with the next stranger."""
    sell(file_ledger, charge("00"))
    shutil.copy(store, store.parent / "copy.db")
    subprocess.run([sys.executable, "-c", STRANGER, str(store)], check=True)
    assert not Path(f"{store}-wal").exists()
    with pytest.raises(LedgerCorrupt, match="log"):
        sell(file_ledger, charge("01"))
    with pytest.raises(LedgerCorrupt, match="log"):
        file_ledger.reader.account("people")
    seen = visit(str(store), store.parent)
    file_ledger.close()
    # Closing what had lost its log wrote nothing over what others see.
    assert visit(str(store), store.parent) == seen
    with Ledger.open(store, anchor=store.parent / "anchor", keys=store.parent / "keys") as again:
        assert again.reader.verify().is_ok
        sell(again, charge("01"))


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
@pytest.mark.parametrize("is_removed", [True, False])
def test_a_replaced_file_fails_closed(file_ledger, store, charge, ending, is_removed):
    sell(file_ledger, charge("00"))
    file = Path(f"{store}{ending}")
    copy = store.parent / "copy"
    shutil.copy(file, copy)
    file.unlink() if is_removed else copy.replace(file)
    for work in (
        lambda: sell(file_ledger, charge("01")),
        lambda: file_ledger.declarations.note("x", {}, by="custodian"),
    ):
        with pytest.raises(LedgerCorrupt, match="replaced or removed"):
            work()


def test_a_log_that_goes_while_a_release_is_written_fails_closed(file_ledger, store, charge, monkeypatch):
    """Neither the look before the transaction nor the one after it need see it: the line is read back."""
    reservation = file_ledger.reserve(charge("00"))
    monkeypatch.setattr(type(file_ledger._store), "check", lambda self: None)
    shutil.copy(store, store.parent / "copy.db")
    subprocess.run([sys.executable, "-c", STRANGER, str(store)], check=True)
    with pytest.raises(LedgerCorrupt, match="read back"):
        file_ledger.commit(reservation, b"x")
    with pytest.raises(LedgerCorrupt, match="read back"):
        file_ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")


def test_a_second_name_of_the_file_is_refused(file_ledger, store, charge):
    """SQLite names the log after the store: under two names there would be two logs."""
    os.link(store, store.parent / "other.db")
    with pytest.raises(LedgerMismatch, match="second name"):
        Ledger.open(store.parent / "other.db", anchor=store.parent / "anchor", keys=store.parent / "keys")
    with pytest.raises(LedgerMismatch, match="second name"):
        sell(file_ledger, charge("00"))
    (store.parent / "other.db").unlink()
    sell(file_ledger, charge("00"))


def test_a_link_leads_to_the_same_ledger_with_its_anchor_and_keys(tmp_path, charge):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "ledger.db")
    with Ledger.open(tmp_path / "link.db") as first, Ledger.open(tmp_path / "real" / "ledger.db") as second:
        first.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        assert second.head == first.head and second.public_key == first.public_key
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"real", "link.db"}


def test_a_relative_place_stays_where_it_was_opened(tmp_path, monkeypatch, charge):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    with Ledger.open("ledger.db", anchor="heads", keys="keys") as ledger:
        monkeypatch.chdir(tmp_path / "b")
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain", by="custodian")
        ledger.declarations.grant("people", "add-remove", 1, "1e-6", by="custodian")
        ledger.secret("people")
        sell(ledger, charge("00"))
        assert ledger.reader.verify().is_ok
    assert list((tmp_path / "b").iterdir()) == []


FORK = """
import os, sys
from dalenius.errors import InternalError
from dalenius.ledger import Ledger
place, folder = sys.argv[1:]
places = {"anchor": folder + "/anchor", "keys": folder + "/keys"}
ledger = Ledger.open(place, **places)
ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
child = os.fork()
if child == 0:
    refused = 0
    for work in (lambda: ledger.reader.account("people"), lambda: ledger.declarations.note("x", {}, by="a")):
        try:
            work()
        except InternalError as error:
            refused += "fork" in str(error)
    ledger.close()
    try:
        Ledger.open(place, **places).close()
    except InternalError as error:
        refused += "fork" in str(error)
    Ledger.open(folder + "/other.db").close()
    sys.exit(refused)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
ledger.declarations.note("x", {}, by="custodian")
assert ledger.reader.verify().is_ok
sys.exit(status)
"""


def test_a_forked_process_neither_uses_nor_reopens_what_its_parent_opened(location, tmp_path):
    """SQLite believes that the child holds the parent's locks, so that a ledger opened there would lose its log."""
    done = subprocess.run(
        [sys.executable, "-c", FORK, location, str(tmp_path)], capture_output=True, text=True, check=False
    )
    # A database server tells its connections apart, so that the child may open one of its own.
    assert done.returncode == (2 if "://" in location else 3), done.stderr


def test_closing_brings_every_line_into_the_one_file(file_ledger, store, charge):
    acknowledged = sell(file_ledger, charge("00"))
    with Ledger.open(store, anchor=store.parent / "anchor", keys=store.parent / "keys") as stays:
        file_ledger.close()
        lone = store.parent / "lone.db"
        # Copied by another process, whose closing drops no lock of this one.
        subprocess.run(["cp", str(store), str(lone)], check=True)
        assert Path(f"{store}-wal").stat().st_size == 0
        with sqlite3.connect(lone) as copy:
            lines = copy.execute("SELECT seq, digest FROM entries").fetchall()
        assert dict(lines) == acknowledged
        sell(stays, charge("01"))


def test_a_reader_in_the_middle_keeps_the_log_until_it_is_done(file_ledger, store, charge):
    acknowledged = sell(file_ledger, charge("00"))
    reader = sqlite3.connect(store, isolation_level=None)
    reader.execute("BEGIN")
    before = reader.execute("SELECT count(*) FROM entries").fetchall()
    file_ledger.declarations.note("x", {}, by="custodian")
    file_ledger.close()
    assert reader.execute("SELECT count(*) FROM entries").fetchall() == before
    reader.close()
    seen = visit(str(store), store.parent)
    assert acknowledged.items() < seen.items() and len(seen) == len(acknowledged) + 1


def test_a_closed_ledger_is_closed(file_ledger):
    file_ledger.close()
    file_ledger.close()
    with pytest.raises(InternalError, match="was closed"):
        file_ledger.reader.account("people")
