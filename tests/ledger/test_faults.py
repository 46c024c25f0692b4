"""What a disk, a database or a caller does wrong is refused in words, with the code that says whose fault it is."""

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from weakref import WeakSet

import pytest

from dalenius.errors import LedgerCorrupt, LedgerMismatch, ParameterError, StorageError, UnknownName
from dalenius.ledger import Ledger, Reservation
from dalenius.ledger.known_files import KnownFiles
from dalenius.ledger.ledger import connect
from dalenius.ledger.reader import LedgerReader
from dalenius.ledger.stopping import stopped
from dalenius.ledger.store import ConnectionLost

MILLIONTH = Fraction(1, 10**6)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A closed ledger with a budget."""
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain", by="custodian")
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
    return tmp_path / "ledger.db"


def test_a_database_that_is_no_ledger_is_not_looked_at(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(LedgerMismatch, match="not a ledger"):
        connect(str(tmp_path / "other.db"), may_write=False)
    (tmp_path / "text.db").write_text("These are no accounts of a database. " * 40)
    with pytest.raises(LedgerMismatch, match="cannot be opened as a ledger"):
        connect(str(tmp_path / "text.db"))


def test_damaged_pages_are_a_broken_ledger(store: Path) -> None:
    whole = store.read_bytes()
    store.write_bytes(whole[:4096] + b"x" * (len(whole) - 4096))
    with pytest.raises(LedgerCorrupt, match="damaged") as refusal:
        Ledger.open(store)
    assert refusal.value.exit_code == 6


def test_pages_damaged_under_an_open_ledger_are_a_broken_ledger(store: Path) -> None:
    with Ledger.open(store) as ledger:
        for _ in range(5):
            ledger.declarations.note("x", {"text": "y" * 40_000}, by="custodian")
    with Ledger.open(store) as ledger:
        first = 40 * 4096
        # Another process writes, whose descriptors drop no lock of this one.
        spoil = "import sys; f = open(sys.argv[1], 'r+b'); f.seek(int(sys.argv[2])); f.write(b'x' * int(sys.argv[3]))"
        size = store.stat().st_size - first
        subprocess.run([sys.executable, "-c", spoil, str(store), str(first), str(size)], check=True)
        with pytest.raises(LedgerCorrupt, match="damaged"):
            ledger.reader.entries()


def test_a_dropped_table_is_a_broken_ledger(location, opener) -> None:
    ledger = opener()
    ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
    if "://" in location:
        import psycopg

        with psycopg.connect(location, autocommit=True) as connection:
            connection.execute("DROP TABLE dalenius.balances CASCADE")
    else:
        with sqlite3.connect(location) as connection:
            connection.execute("DROP TABLE balances")
    with pytest.raises(LedgerCorrupt):
        ledger.reader.account("people")


def test_a_folder_that_cannot_be_reached_is_a_refusal_of_the_disk(store: Path, monkeypatch) -> None:
    from dalenius.ledger import sqlite_files

    with Ledger.open(store) as ledger, monkeypatch.context() as fault:

        def refuse(path: object) -> os.stat_result:
            raise PermissionError(13, "Permission denied")

        fault.setattr(sqlite_files.os, "stat", refuse)
        with pytest.raises(StorageError, match="Permission denied") as refusal:
            ledger.reader.account("people")
        assert refusal.value.exit_code == 7
    (store.parent / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be opened"):
        Ledger.open(store.parent / "file" / "ledger.db")
    (store.parent / "folder").mkdir()
    with pytest.raises(StorageError, match="cannot be opened"):
        Ledger.open(store.parent / "folder")


def test_a_log_that_cannot_be_emptied_is_left_for_the_next(store: Path) -> None:
    lock = os.open(f"{store}.lock", os.O_RDWR)
    import fcntl

    ledger = Ledger.open(store)
    ledger.declarations.note("x", {}, by="custodian")
    fcntl.flock(lock, fcntl.LOCK_EX)
    ledger.close()
    os.close(lock)
    with Ledger.open(store) as again:
        assert [entry.kind for entry in again.reader.entries()][-1] == "note"


def test_what_is_in_use_when_the_process_ends_is_left_alone(store: Path, monkeypatch) -> None:
    from dalenius.ledger import sqlite_store

    ledger = Ledger.open(store)
    idle, busy = ledger._read_store, ledger._store
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with busy._turn:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    for one in (idle, busy):
        one.close_if_idle()
    assert idle._is_closed and not busy._is_closed
    done.set()
    thread.join()
    ledger.close()
    with monkeypatch.context() as own:
        own.setattr(sqlite_store, "_open_stores", WeakSet())
        forgotten = Ledger.open(store)
        sqlite_store._close_all()
        assert forgotten._read_store._is_closed and forgotten._store._is_closed


@pytest.mark.postgres
def test_a_database_says_what_it_refuses(server, tmp_path: Path, charge) -> None:
    location = server.empty()
    with pytest.raises(LedgerMismatch, match="no ledger in this database"):
        connect(location, may_write=False)
    with Ledger.open(location, anchor=tmp_path / "a", keys=tmp_path / "k") as ledger:
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        ledger._store._cursor.execute("SET default_transaction_read_only = on")
        with pytest.raises(StorageError, match="ReadOnlySqlTransaction"):
            ledger.declarations.note("x", {}, by="custodian")
    with pytest.raises(StorageError, match="was closed"):
        ledger.reader.account("people")
    assert "password" not in repr(ledger) and "PostgreSQL" in repr(ledger)


def test_names_that_the_ledger_does_not_know_are_refused(ledger, charge) -> None:
    with pytest.raises(UnknownName, match="no release"):
        ledger.reader.release("nothing")
    with pytest.raises(UnknownName, match="no release"):
        ledger.set_status("nothing", "withdrawn", by="custodian")
    stored = ledger.commit(ledger.reserve(charge("00")), b"x")
    with pytest.raises(UnknownName, match="status"):
        ledger.set_status(stored.entry, "lost", by="custodian")
    head = ledger.head
    assert ledger.set_status(stored.entry, stored.status, by="custodian") == stored and ledger.head == head
    with pytest.raises(UnknownName, match="status"):
        ledger.commit(ledger.reserve(charge("01")), b"x", status="lost")
    with pytest.raises(UnknownName, match="format"):
        ledger.reader.export("parquet")
    with pytest.raises(UnknownName, match="population"):
        ledger.declarations.quota("nobody", "ana", 1, 0, by="custodian")
    with pytest.raises(ParameterError, match="itself"):
        ledger.declarations.overlap("people", "people", "custodian")
    for change, about in (({"account": "back"}, "account"), ({"key": ""}, "key"), ({"population": ""}, "population")):
        with pytest.raises(ParameterError, match=about):
            charge(**({"key": "02"} | change))
    assert set(ledger.left) == {"people"} and ledger.reader.verify(is_anchored=False).is_ok


def test_a_request_that_is_completed_elsewhere_is_quoted_at_its_full_cost(ledger, charge) -> None:
    ledger.reserve(charge("00"))
    assert ledger.quote(charge("00")).rho == Fraction(1, 8)


def test_a_known_file_is_remembered_for_one_population(ledger, opener) -> None:
    ledger.known_files("people").keep("print", (1, 2))
    assert opener().known_files("people").holds("print", (1, 2))
    assert not ledger.known_files("others").holds("print", (1, 2))


def test_a_known_file_is_remembered_by_who_may_write(tmp_path: Path) -> None:
    known = KnownFiles(tmp_path, b"s" * 32, may_write=True)
    assert not known.holds("print", (1, 2))
    known.keep("print", (1, 2))
    assert known.holds("print", (1, 2)) and not known.holds("print", (1, 3))
    assert not KnownFiles(tmp_path, b"t" * 32, may_write=True).holds("print", (1, 2))
    before = list(tmp_path.iterdir())
    KnownFiles(tmp_path, b"s" * 32, may_write=False).keep("other", (1, 2))
    assert list(tmp_path.iterdir()) == before


def test_a_stopped_release_says_what_was_charged(ledger, charge) -> None:
    def note(lease: str, key: str = "00") -> str:
        (text,) = stopped(KeyboardInterrupt(), ledger, charge(key), lease).__notes__
        return str(text)

    assert note("nothing") == "Nothing was charged."
    reservation: Reservation = ledger.reserve(charge("00"))
    assert "charge stands (rho 0.125" in note(reservation.lease)
    ledger.commit(ledger.reserve(charge("01")), b"x")
    assert "is stored" in note("gone", "01")
    ledger.close()
    assert "ledger show" in note("gone", "01")


def test_a_database_that_stays_away_is_told_after_a_while(ledger, monkeypatch) -> None:
    from dalenius.ledger import reader

    def away() -> None:
        raise ConnectionLost("The connection to the ledger's database was lost.")

    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s))
    monkeypatch.setattr(reader, "time", clock)
    with pytest.raises(StorageError, match="cannot be reached"):
        ledger.reader.retry(away)
    assert 1 < now[0] < 2


def test_a_database_that_goes_away_is_no_damage(opener, ledger, monkeypatch) -> None:
    """A connection that breaks while a ledger is verified is made anew; while it is opened, that is told."""
    from dalenius.ledger import verify

    original, calls = verify.load_all, []

    def flaky(store: object) -> object:
        calls.append(store)
        if len(calls) == 1:
            raise ConnectionLost("The connection to the ledger's database was lost.")
        return original(store)

    monkeypatch.setattr(verify, "load_all", flaky)
    assert ledger.reader.verify().is_ok and len(calls) == 2

    def away(store: object) -> None:
        raise ConnectionLost("The connection to the ledger's database was lost.")

    monkeypatch.setattr("dalenius.ledger.ledger.read_head", away)
    with pytest.raises(StorageError, match="cannot be reached"):
        opener()


@pytest.mark.postgres
def test_a_release_is_read_back_from_the_database_that_others_see(server, tmp_path: Path, charge) -> None:
    """A database that acknowledges and is then replaced by an older copy, as after a failover, releases nothing."""
    location = server.database("first")
    with Ledger.open(location, anchor=tmp_path / "a", keys=tmp_path / "k") as ledger:
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain", by="custodian")
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
    server.copy("first", "older")
    with Ledger.open(location, anchor=tmp_path / "a", keys=tmp_path / "k") as ledger:
        ledger._store._location = server.url("older")
        with pytest.raises(LedgerCorrupt, match="could not be read back"):
            ledger.commit(ledger.reserve(charge("00")), b"x")
        ledger._store._location = location
    with closing(connect(location, may_write=True)) as store:
        store._location = "postgresql://ledger@127.0.0.1:1/none"
        with pytest.raises(ConnectionLost), store.fresh():
            pass
        # A transaction in which nothing is asked sends nothing, and ends.
        with store.transaction():
            pass
        assert store.query("SELECT 1") == [(1,)]


def test_a_stored_document_that_became_text_is_damage_and_no_fault_of_ours() -> None:
    with pytest.raises(LedgerCorrupt, match="not the one that was stored"):
        LedgerReader.checked(("entry", "key", "{}", "published", "people", "", "0" * 64))
