"""Opening a ledger: many at once, keys, anchors, and what is refused."""

import os
import stat
import threading
from pathlib import Path

import pytest

from dalenius.errors import InternalError, LedgerMismatch, StorageError
from dalenius.ledger import Ledger
from dalenius.ledger.administer import Note
from dalenius.ledger.anchor import AnchorFile
from dalenius.ledger.draft import Head
from dalenius.ledger.keys import KeyFolder


def test_many_open_a_new_ledger_at_the_same_moment(location, tmp_path):
    opened, barrier = [], threading.Barrier(12)

    def work():
        barrier.wait()
        opened.append(Ledger.open(location, anchor=tmp_path / "anchor", keys=tmp_path / "keys"))

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 12
    assert len({ledger.reader.name for ledger in opened}) == 1
    assert [entry.kind for entry in opened[0].reader.entries()] == ["open"]
    secrets = set()
    threads = [threading.Thread(target=lambda k=k: secrets.add(k.secret("people"))) for k in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(secrets) == 1
    assert opened[0].reader.verify().is_ok
    for ledger in opened:
        ledger.close()


def test_every_file_is_private(tmp_path, charge):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.secret("people")
        for path in (p for p in tmp_path.rglob("*") if p.is_file()):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    assert stat.S_IMODE((tmp_path / "ledger.db.keys").stat().st_mode) == 0o700


def test_another_database_is_refused(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(LedgerMismatch, match="not a ledger"):
        Ledger.open(tmp_path / "other.db")


def test_an_unreachable_server_is_refused_without_its_password():
    with pytest.raises(StorageError) as refusal:
        Ledger.open("postgresql://somebody:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(refusal.value)


def test_a_forked_process_must_open_its_own(tmp_path):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger._writer._pid = os.getpid() + 1
        with pytest.raises(InternalError, match="open it there"):
            ledger.declarations.note("x", {}, by="custodian")


def test_keys_are_made_once_and_damage_is_noticed(tmp_path: Path):
    folder = KeyFolder(tmp_path / "keys")
    assert folder.find("a") is None
    key = folder.get_or_make("a")
    assert folder.get_or_make("a") == key == KeyFolder(tmp_path / "keys").find("a")
    assert folder.get_or_make("b") != key
    assert len(list((tmp_path / "keys").iterdir())) == 2
    next((tmp_path / "keys").iterdir()).write_bytes(b"short")
    with pytest.raises(LedgerMismatch):
        [folder.find(name) for name in "ab"]


def test_a_key_that_is_written_in_part_is_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = KeyFolder(tmp_path / "keys")
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda descriptor, content: len(content) - 1)
        with pytest.raises(LedgerMismatch, match="no room"):
            folder.get_or_make("a")
    assert folder.find("a") is None
    assert len(folder.get_or_make("a")) == 32


def test_a_second_opening_line_is_not_written(ledger):
    """Two that open a new ledger at the same moment: the second finds that it is open."""
    head = ledger.head
    again = Note(kind="open", population="", by="", body={"public_key": "another"})
    assert ledger.submit(again) is None
    assert ledger.head == head


def test_anchor_lines_speak_for_themselves(tmp_path: Path):
    anchor = AnchorFile.signed_with(tmp_path / "anchor", b"k" * 32)
    assert anchor.lines("ledger") == []
    for seq in (1, 3, 2):
        anchor.append("ledger", Head(seq, f"{seq:064x}"), "now", is_release=seq == 3)
    lines = anchor.lines("ledger")
    assert [(line.seq, line.is_signed) for line in lines] == [(1, True), (3, True), (2, True)]
    assert not any(line.is_signed for line in anchor.lines("another ledger"))
    assert not any(line.is_signed for line in AnchorFile.signed_with(tmp_path / "anchor", b"x" * 32).lines("ledger"))
    # A line cut short by a power failure does not spoil the one after it.
    with (tmp_path / "anchor").open("a") as file:
        file.write('\n{"head":"00')
    anchor.append("ledger", Head(4, "4" * 64), "now", is_release=True)
    assert [line.is_signed for line in anchor.lines("ledger")] == [True, True, True, False, True]
    # What somebody else wrote there is passed over when the last line is looked for.
    texts = (tmp_path / "anchor").read_text().splitlines()
    last = anchor.furthest([*texts, "{nothing}", '{"seq":"x"}', '{"seq":9}'])
    assert last is not None and last.seq == 4


@pytest.mark.parametrize("kept", [1, 5, 40, 150, -1])
def test_a_power_failure_in_the_anchor_is_told_and_is_no_forgery(tmp_path: Path, kept: int):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        path = ledger.reader.anchor.path
        whole = path.read_text()
        *before, last = whole.split("\n")
        path.write_text("\n".join([*before, last[:kept]]))
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        report = ledger.reader.verify()
        assert report.is_ok, report.problems
        assert any("cut short" in text for text in report.unknown)
        # What is not the beginning of a line was put there by somebody.
        path.write_text(path.read_text() + "\n{nothing")
        assert not ledger.reader.verify().is_ok


def test_an_anchor_that_begins_late_is_told(tmp_path: Path):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.reader.anchor.path.unlink()
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        report = ledger.reader.verify()
        assert report.is_ok
        assert any("begins at line 2" in text for text in report.unknown)
