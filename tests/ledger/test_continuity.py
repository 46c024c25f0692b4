"""A store goes on where its anchor ends, or it is not written; a restore is a deliberate act and no new budget."""

import shutil
from pathlib import Path

import pytest

from dalenius.errors import AnchorMismatch, BudgetExhausted, LedgerCorrupt, LedgerMismatch, ParameterError
from dalenius.ledger.anchor import _TAIL, AnchorFile
from dalenius.ledger.restore import restore

TABLES = ("head", "entries", "tree", "terms", "balances", "charges", "releases", "registrations", "checks")


class Backup:
    """A copy of the store as it stands, to be put back later: what an older backup is."""

    def __init__(self, location: str, folder: Path) -> None:
        self.location, self.folder = location, folder / "backup"
        if location.startswith("postgresql"):
            self._run("DROP SCHEMA IF EXISTS backup CASCADE", "CREATE SCHEMA backup")
            self._run(*(f"CREATE TABLE backup.{name} AS TABLE dalenius.{name}" for name in TABLES))
        else:
            import sqlite3

            with sqlite3.connect(location) as connection, sqlite3.connect(self.folder) as copy:
                connection.backup(copy)

    def _run(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.location, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def put_back(self) -> None:
        """Instead of the newer store; the anchor stays."""
        if self.location.startswith("postgresql"):
            self._run("TRUNCATE " + ", ".join(f"dalenius.{name}" for name in TABLES) + " CASCADE")
            back = (f"INSERT INTO dalenius.{name} SELECT * FROM backup.{name}" for name in TABLES)
            self._run("SET session_replication_role = replica; " + "; ".join(back))
        else:
            self.remove()
            shutil.copy(self.folder, self.location)

    def put_back_in_place(self) -> None:
        """Under processes that have the store open: the files stay the same."""
        if self.location.startswith("postgresql"):
            self.put_back()
        else:
            import sqlite3

            with sqlite3.connect(self.folder) as copy, sqlite3.connect(self.location) as connection:
                copy.backup(connection)

    def remove(self) -> None:
        """The store alone is lost."""
        if self.location.startswith("postgresql"):
            self._run("DROP SCHEMA dalenius CASCADE")
        else:
            for path in Path(self.location).parent.glob(Path(self.location).name + "*"):
                path.unlink()


@pytest.fixture
def books(location, opener, charge, tmp_path):
    """A ledger that sold `aa`, was copied, and then sold `bb`."""
    with opener() as ledger:
        ledger.secret("people")
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", 1, "1e-6", by="custodian")
        ledger.declarations.quota("people", "ann", "1/2", 0, by="custodian")
        ledger.commit(ledger.reserve(charge("aa", analyst="ann")), b"first")
    copy = Backup(location, tmp_path)
    with opener() as ledger:
        ledger.commit(ledger.reserve(charge("bb")), b"second")
    return copy


def restored(location, tmp_path, note="the disk failed"):
    return restore(location, by="custodian", note=note, anchor=tmp_path / "anchor", keys=tmp_path / "keys")


def test_an_older_store_put_back_under_an_open_ledger_is_not_written(books, opener, charge):
    """The line is written to the older store, and neither anchored nor answered."""
    with opener() as ledger:
        anchored = ledger.reader.anchor.path.read_text()
        books.put_back_in_place()
        for work in (
            lambda: ledger.reserve(charge("bb")),
            lambda: ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian"),
        ):
            with pytest.raises(LedgerCorrupt, match="put back"):
                work()
        assert ledger.reader.anchor.path.read_text() == anchored
    with pytest.raises(AnchorMismatch):
        opener()


def test_lines_of_others_are_no_break(books, opener, charge):
    with opener() as first, opener() as second:
        for number in range(3):
            first.reserve(charge(f"first {number}", "1/100"))
            second.reserve(charge(f"second {number}", "1/100"))
        assert first.reader.verify().is_ok


def test_an_older_store_beside_its_newer_anchor_is_not_opened(books, opener):
    books.put_back()
    with pytest.raises(AnchorMismatch, match="older copy") as refusal:
        opener()
    assert refusal.value.code == "anchor_mismatch" and refusal.value.exit_code == 6
    # Looking is possible, and says how far it goes back.
    with opener(may_write=False) as looked:
        report = looked.reader.verify()
        assert not report.is_ok and "lines were removed" in report.problems[0]
        with pytest.raises(LedgerMismatch):
            looked.declarations.note("x", {}, by="custodian")


def test_an_empty_store_beside_a_used_anchor_is_no_new_budget(books, opener, tmp_path):
    books.remove()
    with pytest.raises(AnchorMismatch, match="store is empty"):
        opener()
    # Neither with keys of its own.
    with pytest.raises(AnchorMismatch, match="store is empty"):
        opener(keys=tmp_path / "others")
    assert not (tmp_path / "others").exists()


def test_a_store_begun_anew_or_written_meanwhile_is_not_opened(books, opener, charge, tmp_path):
    newer = (tmp_path / "anchor").read_bytes()
    (tmp_path / "anchor").unlink()
    books.remove()
    with opener() as ledger:
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
    (tmp_path / "anchor").write_bytes(newer)
    with pytest.raises(AnchorMismatch, match="begun anew"):
        opener()
    books.put_back()
    (tmp_path / "anchor").write_bytes(b"\n".join(newer.split(b"\n")[:-2]))
    with opener() as ledger:
        for key in ("cc", "dd", "ee"):
            ledger.reserve(charge(key, rho="1/100"))
    (tmp_path / "anchor").write_bytes(newer)
    with pytest.raises(AnchorMismatch, match="chain was replaced"):
        opener()


def test_a_used_store_without_its_anchor_is_not_opened(books, opener, tmp_path):
    (tmp_path / "anchor").rename(tmp_path / "elsewhere")
    with pytest.raises(AnchorMismatch, match="anchor is not at"):
        opener()
    assert not (tmp_path / "anchor").exists()
    opener(anchor=tmp_path / "elsewhere").close()
    stranger = AnchorFile.signed_with(tmp_path / "anchor", b"k" * 32)
    stranger.append("ledger", opener(may_write=False).head, "now", is_release=True)
    with pytest.raises(AnchorMismatch, match="not this ledger's anchor"):
        opener()
    with pytest.raises(AnchorMismatch, match="not this ledger's anchor"):
        restored(books.location, tmp_path)


def test_a_store_ahead_of_its_anchor_is_what_a_crash_leaves(books, opener, charge, tmp_path):
    lines = (tmp_path / "anchor").read_text().split("\n")
    (tmp_path / "anchor").write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:40])
    with opener() as ledger:
        ledger.reserve(charge("cc"))
        assert ledger.reader.verify().is_ok
    opener().close()


def test_a_crash_before_the_first_head_is_anchored_is_no_loss(location, opener, tmp_path, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(AnchorFile, "append", killed)
        opener()
    assert not (tmp_path / "anchor").exists()
    with opener() as ledger:
        assert ledger.head.seq == 1


def test_only_the_end_of_a_long_anchor_is_read(books, opener, charge, tmp_path):
    with opener() as ledger:
        while (tmp_path / "anchor").stat().st_size < 2 * _TAIL:
            ledger.declarations.note("look", {"what": "x"}, by="custodian")
        texts = ledger.reader.anchor.last_lines()
        assert sum(map(len, texts)) < _TAIL and len(texts) > 100
        furthest = ledger.reader.anchor.furthest(texts)
        assert (furthest.seq, furthest.head) == (ledger.head.seq, ledger.head.digest)
    opener().close()
    books.put_back()
    with pytest.raises(AnchorMismatch, match="older copy"):
        opener()


def test_a_restore_is_a_line_and_leaves_nothing_to_spend(books, opener, charge, location, tmp_path):
    with pytest.raises(ParameterError, match="nothing to restore"):
        restored(location, tmp_path)
    books.put_back()
    with pytest.raises(ParameterError, match="needs a `note`"):
        restored(location, tmp_path, note=" ")
    first, forfeited = restored(location, tmp_path)
    assert (first.kind, first.body["note"]) == ("restore", "the disk failed")
    assert first.body["anchored"]["seq"] > first.body["store"]["seq"]
    assert forfeited.body["cost"] == {"rho": "0.875", "delta": "0.000001"}
    with opener() as ledger:
        assert ledger.reader.verify().is_ok
        account = ledger.reader.account("people")
        assert account.left.rho == 0 and account.spent.rho == 1 and account.pure is None
        with pytest.raises(BudgetExhausted):
            ledger.reserve(charge("bb"))
        assert ledger.reserve(charge("aa")).stored.document == b"first"
        line = ledger.reader.statement("people").lines[-1]
        assert (line.kind, line.rho, line.left_rho) == ("forfeit", "0.875", "0")
        # What the custodian answers for is a grant of their own; quotas count what may have been spent.
        ledger.declarations.grant("people", "add-remove", "1/8", 0, by="custodian")
        assert ledger.reserve(charge("bb", rho="1/16")).lease
    assert len(list(tmp_path.glob("anchor.until-*"))) == 1
    opener().close()


def test_a_restore_interrupted_at_any_step_is_repeated_and_gives_nothing(
    books, opener, location, tmp_path, monkeypatch
):
    import os

    books.put_back()
    real, calls = os.replace, []

    def dies(number):
        def replace(*places):
            calls.append(places)
            if len(calls) == number:
                raise KeyboardInterrupt
            real(*places)

        return replace

    for number in (1, 2):
        calls.clear()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "replace", dies(number))
            restored(location, tmp_path)
        with pytest.raises(AnchorMismatch):
            opener()
    restored(location, tmp_path)
    with opener() as ledger:
        assert ledger.reader.account("people").left.rho == 0
        assert ledger.reader.verify().is_ok


def test_a_lost_anchor_is_begun_anew_by_the_same_verb(books, opener, location, tmp_path):
    (tmp_path / "anchor").unlink()
    lines = restored(location, tmp_path)
    assert [line.kind for line in lines] == ["restore"] and lines[0].body["anchored"] is None
    with opener() as ledger:
        assert ledger.reader.account("people").left.rho == ledger.reader.account("people").limit.rho * 3 / 4
        report = ledger.reader.verify()
        assert report.is_ok and any("begins at line" in text for text in report.unknown)
