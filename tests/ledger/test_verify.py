"""Tampering: a thousand random changes, every truncation, a rewritten chain; and what cannot be known."""

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from dalenius.core.budget import Cost
from dalenius.errors import LedgerCorrupt, LedgerMismatch, ParameterError
from dalenius.ledger import Ledger, schema
from dalenius.ledger.anchor import AnchorFile
from dalenius.ledger.charge import Units
from dalenius.ledger.draft import Draft, Head
from dalenius.ledger.entry import GENESIS, Entry, canonical
from dalenius.ledger.reader import LedgerReader
from dalenius.ledger.seal import Witness
from dalenius.ledger.sqlite_store import SqliteStore
from dalenius.ledger.state import State
from dalenius.ledger.store import apply
from dalenius.ledger.tree import EMPTY, HashTree
from dalenius.ledger.verify import VerifyReport, _Findings, _replay, verify_store

TABLES = ("entries", "head", "tree", "terms", "balances", "releases", "charges", "registrations", "checks")


class Intruder(SqliteStore):
    """Somebody with the file, who removes the guards, changes what he likes, and is undone afterwards.

    `copies` are whole stores as they stood after each segment.
    """

    copies: tuple[bytes, ...] = ()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """The intruder's own transaction is looked at as if it had been committed."""
        yield

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """A change that does not remain."""
        self.query("PRAGMA foreign_keys = OFF")
        self.query("PRAGMA ignore_check_constraints = ON")
        self.query("BEGIN IMMEDIATE")
        for (name,) in self.query("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            self.query(f"DROP TRIGGER {name}")
        try:
            yield
        finally:
            self.query("ROLLBACK")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ledger, Intruder]]:
    """A ledger in which a little of everything has happened."""
    import runpy

    folder = tmp_path_factory.mktemp("scene")
    make = runpy.run_path(str(Path(__file__).with_name("load.py")))["charge"]
    ledger = Ledger.open(folder / "ledger.db", lease_seconds=0.0)
    anchored, copies = ledger._writer._settled, []

    def settled(draft: Draft, signature: str) -> None:
        anchored(draft, signature)
        with closing(sqlite3.connect(folder / "ledger.db")) as connection:
            copies.append(connection.serialize())

    ledger._writer._settled = settled
    ledger.secret("people")
    ledger.declarations.register("people", "census", "1", "fingerprint", "domain", by="custodian")
    ledger.declarations.grant("people", "add-remove", "1/1000", "1e-6", by="custodian", note="first year")
    ledger.declarations.quota("people", "ann", "1/2000", "1e-6", by="custodian")
    ledger.declarations.cap("people", "age", "1/3000", 0, by="custodian")
    ledger.declarations.share("people", "1/5000", 0, by="custodian")
    ledger.declarations.approval("people", "1/4000", by="custodian")
    ledger.declarations.schedule("people", [("1", "1/1000", 0)], by="custodian")
    for number in range(12):
        reservation = ledger.reserve(make(f"key{number}", 1000 + number, "ann" if number % 2 else "bob"))
        if number % 4 != 3:
            status = ["published", "draft", "embargoed"][number % 3]
            release = ledger.commit(reservation, f"document {number}".encode(), status)
            if status == "draft":
                ledger.set_status(release.entry, "withdrawn", by="custodian")
    ledger.reserve(make("key3", 1003, "ann"))
    ledger.declarations.note("inspection", {"what": "losses"}, by="custodian", population="people")
    intruder = Intruder(folder / "ledger.db")
    intruder.copies = tuple(copies)
    yield ledger, intruder
    intruder.close()
    ledger.close()


def look(ledger: Ledger, store: SqliteStore, *, is_anchored: bool = True) -> VerifyReport:
    lines = ledger.reader.anchor.lines(ledger.reader.name) if is_anchored else None
    return verify_store(store, lines, ledger.public_key, (), witness_of(ledger, store))


def witness_of(ledger: Ledger, store: SqliteStore) -> Witness:
    """For a store that may be another one than the ledger's."""
    return Witness(ledger.reader.anchor, lambda: store.query("SELECT digest FROM entries WHERE seq = 1")[0][0])


def columns(store: SqliteStore, table: str) -> list[str]:
    return [row[1] for row in store.query(f"PRAGMA table_info({table})")]


def changed(value: Any, rng: random.Random) -> Any:
    """Something else of the same type."""
    if value is None:
        return 1
    if isinstance(value, int | float):
        return value + rng.choice([-1, 1, 1000, -(10**6)])
    raw = bytearray(value if isinstance(value, bytes) else value.encode())
    kind = rng.randrange(3)
    if kind == 0 and raw:
        place = rng.randrange(len(raw))
        raw[place] = ord(rng.choice([c for c in "0123456789abcdef" if ord(c) != raw[place]]))
    elif kind == 1 and raw:
        del raw[rng.randrange(len(raw))]
    else:
        raw.insert(rng.randrange(len(raw) + 1), ord(rng.choice("0a{")))
    return bytes(raw) if isinstance(value, bytes) else raw.decode()


def key_of(table: str) -> str:
    """What tells the rows of a table apart; SQLite numbers those of every other one."""
    return "place" if table == "tree" else "rowid"


def change_anything(store: Intruder, rng: random.Random) -> str:
    """One value of one row of one table; entries most often."""
    table = rng.choice(("entries", "entries", "entries", *TABLES))
    column = rng.choice(columns(store, table))
    place, value = rng.choice(store.query(f"SELECT {key_of(table)}, {column} FROM {table}"))
    new = changed(value, rng)
    store.query(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {key_of(table)} = ?", (new, place))
    return f"{table}.{column} of row {place}: {value!r} to {new!r}"


def remove_row(store: Intruder, rng: random.Random) -> str:
    """One row of one table."""
    table = rng.choice(TABLES)
    place = rng.choice(store.query(f"SELECT {key_of(table)} FROM {table}"))[0]
    store.query(f"DELETE FROM {table} WHERE {key_of(table)} = ?", (place,))
    return f"row {place} removed from {table}"


def forge_line(store: Intruder, rng: random.Random) -> str:
    """A line with another cost and a right digest of its own."""
    seq, line = rng.choice(store.query("SELECT seq, line FROM entries WHERE kind IN ('charge', 'grant')"))
    document = json.loads(line)
    document["body"]["units"]["rho"] += rng.choice([-1, 1, 100])
    entry = Entry.read(canonical(document))
    sql = "UPDATE entries SET line = ?, digest = ?, name = ? WHERE seq = ?"
    store.query(sql, (entry.line, entry.digest, entry.name, seq))
    return f"line {seq} forged"


def swap_lines(store: Intruder, rng: random.Random) -> str:
    """Two lines change places."""
    (one, first), (two, second) = rng.sample(store.query("SELECT seq, line FROM entries"), 2)
    store.query("UPDATE entries SET line = ? WHERE seq = ?", (second, one))
    store.query("UPDATE entries SET line = ? WHERE seq = ?", (first, two))
    return f"lines {one} and {two} swapped"


def rewrite(store: Intruder, lines: list[Entry], ledger: Ledger) -> None:
    """The whole store written anew by somebody with the keys, every table and digest consistent."""
    documents = {row[0]: bytes(row[1]) for row in store.query("SELECT entry, document FROM releases")}
    by_key = {row[0]: bytes(row[1]) for row in store.query("SELECT key, document FROM releases")}
    for table in TABLES:
        store.query(f"DELETE FROM {table}")
    store.query(schema.FIRST_HEAD, (GENESIS, b""))
    draft = Draft(State(), Head(0, GENESIS), 0.0)
    names: dict[str, str] = {}
    for old in lines:
        body = json.loads(json.dumps(old.body))
        if body.get("entry") in names:
            body["entry"] = names[body["entry"]]
        new = draft.emit(old.kind, population=old.population, by=old.by, body=body)
        names[old.name] = new.name
    draft.documents = {r.entry: by_key[r.key] for r in draft.state.releases.values()} | documents
    apply(store, draft, HashTree(EMPTY, {}), Witness(ledger.reader.anchor, lambda: ""))


def test_a_thousand_random_changes_are_detected(scene):
    ledger, intruder = scene
    # Who changes the store leaves the anchor as it is, so that its signatures are read once.
    lines = ledger.reader.anchor.lines(ledger.reader.name)

    def is_sound() -> bool:
        return verify_store(intruder, lines, ledger.public_key, (), witness_of(ledger, intruder)).is_ok

    assert is_sound()
    rng = random.Random(2024)
    kinds = [change_anything] * 7 + [remove_row, forge_line, swap_lines]
    tried = 0
    while tried < 1000:
        with intruder.at_work():
            before = intruder.query("SELECT total_changes()")[0][0]
            what = rng.choice(kinds)(intruder, rng)
            if intruder.query("SELECT total_changes()")[0][0] == before:
                continue
            tried += 1
            assert not is_sound(), what
    assert is_sound() and look(ledger, intruder).is_ok


def test_every_roll_back_is_detected_with_the_anchor(scene, tmp_path):
    ledger, intruder = scene
    assert len(intruder.copies) > 30
    for number, copy in enumerate(intruder.copies[:-1]):
        (tmp_path / f"{number}.db").write_bytes(copy)
        with closing(SqliteStore(tmp_path / f"{number}.db", may_write=False)) as older:
            assert not look(ledger, older).is_ok, number
            # Without the anchor an older state is as good as any, and the report says so.
            blind = look(ledger, older, is_anchored=False)
            assert blind.is_ok, blind.problems
            assert "removed" in blind.unknown[0]


def test_lines_cut_off_leave_a_head_that_nobody_signed(scene):
    ledger, intruder = scene
    lines = ledger.reader.entries()
    for line in lines[:-1]:
        with intruder.at_work():
            intruder.query("DELETE FROM entries WHERE seq > ?", (line.seq,))
            intruder.query("UPDATE head SET seq = ?, digest = ?", (line.seq, line.digest))
            with pytest.raises(LedgerCorrupt, match="'head'"):
                witness_of(ledger, intruder).check_all(intruder.query)


def test_a_chain_written_anew_is_detected_with_the_anchor(scene):
    ledger, intruder = scene
    lines = ledger.reader.entries()
    cheaper = [line for line in lines if not (line.kind == "charge" and line.body["key"] == "key7")]
    for forged in (lines, cheaper):
        with intruder.at_work():
            rewrite(intruder, forged, ledger)
            assert not look(ledger, intruder).is_ok
            assert look(ledger, intruder, is_anchored=False).is_ok


def test_an_auditor_verifies_with_the_public_key_and_writes_nothing(scene, charge, tmp_path):
    ledger, intruder = scene
    path, anchor = ledger._location, ledger.reader.anchor.path
    with Ledger.open(path, anchor=anchor, keys=tmp_path / "none", public_key=ledger.public_key) as auditor:
        assert auditor.reader.verify().is_ok
        assert auditor.reader.statement("people").to_dict() == ledger.reader.statement("people").to_dict()
        for write in (
            lambda: auditor.reserve(charge("new")),
            lambda: auditor.declarations.grant("people", "add-remove", 1, 0, by="auditor"),
        ):
            with pytest.raises(LedgerMismatch, match="nothing is written"):
                write()
        with intruder.at_work():
            forge_line(intruder, random.Random(1))
            assert not look(auditor, intruder).is_ok
    assert not (tmp_path / "none").exists()
    with pytest.raises(LedgerMismatch, match="folder of keys"):
        Ledger.open(path, anchor=anchor, keys=tmp_path / "none")
    with pytest.raises(LedgerMismatch, match="first line"):
        Ledger.open(path, anchor=anchor, public_key="ab" * 32)
    with pytest.raises(ParameterError):
        Ledger.open(path, anchor=anchor, public_key="not a key")


def test_a_store_written_anew_under_another_key_is_detected(scene):
    ledger, intruder = scene
    first, *rest = ledger.reader.entries()
    other = replace(first, body={**first.body, "public_key": "00" * 32})
    with intruder.at_work():
        rewrite(intruder, [other, *rest], ledger)
        report = look(ledger, intruder, is_anchored=False)
        assert any("another key" in problem for problem in report.problems)


def test_heads_kept_elsewhere_are_looked_up(scene):
    ledger, _ = scene
    assert ledger.reader.verify(heads=[ledger.head.digest]).is_ok
    assert not ledger.reader.verify(heads=["f" * 64]).is_ok


def test_the_anchor_itself_is_signed(scene, tmp_path):
    ledger, _ = scene
    good = ledger.reader.anchor.path.read_text()
    forged = tmp_path / "anchor"
    forged.write_text(good.replace('"seq":3', '"seq":4'))
    assert not ledger.reader.verify(forged).is_ok
    # The right heads under a signature made with another key.
    stranger = AnchorFile.signed_with(tmp_path / "stranger", b"x" * 32)
    for line in ledger.reader.anchor.lines(ledger.reader.name):
        stranger.append(ledger.reader.name, Head(line.seq, line.head), "now", is_release=False)
    assert not ledger.reader.verify(stranger.path).is_ok
    forged.write_text("\n".join(good.split("\n")[:-1] + stranger.path.read_text().split("\n")[-1:]))
    assert not ledger.reader.verify(forged).is_ok
    forged.write_text("")
    assert not ledger.reader.verify(forged).is_ok
    forged.write_text(good + "\nnot a line")
    assert not ledger.reader.verify(forged).is_ok
    # The last lines of an anchor can be cut off without a trace in the anchor itself: the report says so.
    forged.write_text("\n".join(good.split("\n")[:-3]))
    report = ledger.reader.verify(forged)
    assert report.is_ok
    assert any("after the last anchored head" in text for text in report.unknown)


def test_an_older_copy_of_the_file_is_detected(tmp_path, charge):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        ledger.commit(ledger.reserve(charge("aa")), b"document")
    old = path.read_bytes()
    with Ledger.open(path) as ledger:
        ledger.commit(ledger.reserve(charge("bb")), b"document")
        assert ledger.reader.verify().is_ok
    for name in (path, *tmp_path.glob("ledger.db-*")):
        name.unlink()
    path.write_bytes(old)
    with Ledger.open(path, may_write=False) as ledger:
        report = ledger.reader.verify()
    assert not report.is_ok
    assert "lines were removed" in report.problems[0]


def test_a_changed_document_is_never_answered(scene):
    ledger, _ = scene
    released = ledger.reader.releases(status="published")[0]
    thief = Intruder(Path(ledger._location))
    try:
        with thief.at_work():
            thief.query("UPDATE releases SET document = ? WHERE entry = ?", (b"other", released.entry))
            row = thief.query(
                "SELECT entry, key, document, status, '', '', digest FROM releases WHERE entry = ?", (released.entry,)
            )[0]
            with pytest.raises(Exception, match="not the one that was stored"):
                LedgerReader.checked(row)
    finally:
        thief.close()


# A chain written anew by somebody who keeps every digest right: each line must still say what is possible.


def bodies(lines: list[Entry], kind: str, change: Any) -> list[Entry]:
    """The lines, with every body of a kind changed; `change` gets a copy and may return None to leave it."""
    found = []
    for line in lines:
        body = json.loads(json.dumps(line.body))
        found.append(replace(line, body=change(body) or body) if line.kind == kind else line)
    return found


def report_on(ledger: Ledger, intruder: Intruder, lines: list[Entry]) -> tuple[str, ...]:
    with intruder.at_work():
        rewrite(intruder, lines, ledger)
        return look(ledger, intruder, is_anchored=False).problems


def test_a_forged_chain_must_still_add_up(scene):
    ledger, intruder = scene
    lines = ledger.reader.entries()
    assert report_on(ledger, intruder, lines) == ()

    def cheaper(body):
        body["units"]["rho"] -= 1

    assert "rounded up" in report_on(ledger, intruder, bodies(lines, "charge", cheaper))[0]

    def unpaid(body):
        body["balances"] = [balance for balance in body["balances"] if balance[0] != "total"]

    assert "charges no account" in report_on(ledger, intruder, bodies(lines, "charge", unpaid))[0]
    # A quota that was exceeded for a while, and raised afterwards.
    quota = next(line for line in lines if line.kind == "limit" and line.body["kind"] == "quota")
    low = replace(quota, body=quota.body | {"units": {"rho": 1, "delta": 0}})
    forged = [low if line is quota else line for line in lines] + [quota]
    assert "more than the limit of quota ann" in report_on(ledger, intruder, forged)[0]


@pytest.mark.parametrize("amount", ["rho", "delta"])
def test_a_charge_beyond_either_limit_of_the_account_is_named(scene, amount):
    ledger, _ = scene

    def dear(body):
        body["cost"][amount] = "1/100"
        body["units"] = asdict(Units.of(Cost.from_dict(body["cost"])))

    state, findings = State(), _Findings()
    for line in bodies(ledger.reader.entries(), "charge", dear):
        _replay(state, line, findings)
    assert "spends more than the limit of total" in findings[0]


def test_nothing_is_charged_or_completed_twice(scene):
    ledger, intruder = scene
    lines = ledger.reader.entries()
    for kind, problem in (("charge", "charged before"), ("release", "completed before")):
        line = next(line for line in lines if line.kind == kind)
        place = lines.index(line)
        state, findings = State(), _Findings()
        for entry in (*lines[: place + 1], line):
            _replay(state, entry, findings)
        assert problem in findings[0]
    assert intruder.query("SELECT COUNT(*) FROM entries")[0][0] == len(lines)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda line: json.dumps(json.loads(line)), "canonical form"),
        (lambda line: canonical(json.loads(line) | {"seq": 10**6}), "does not follow"),
        (lambda line: canonical(json.loads(line) | {"previous": "f" * 64}), "does not follow"),
    ],
)
def test_the_last_line_is_held_to_its_form_and_place(scene, change, problem):
    ledger, intruder = scene
    seq, line = intruder.query("SELECT seq, line FROM entries ORDER BY seq DESC LIMIT 1")[0]
    entry = Entry.read(change(line))
    with intruder.at_work():
        sql = "UPDATE entries SET line = ?, digest = ?, name = ?, previous = ? WHERE seq = ?"
        intruder.query(sql, (entry.line, entry.digest, entry.name, entry.previous, seq))
        intruder.query("UPDATE head SET digest = ?", (entry.digest,))
        problems = look(ledger, intruder, is_anchored=False).problems
        # The second is that nobody signed this head.
        assert len(problems) == 2
        assert problem in problems[0]


def test_the_head_must_be_the_last_line(scene):
    ledger, intruder = scene
    for sql in ("UPDATE head SET digest = 'f'", "UPDATE head SET seq = seq - 1"):
        with intruder.at_work():
            intruder.query(sql)
            problems = look(ledger, intruder, is_anchored=False).problems
            assert "The head names line" in problems[0]


def test_a_removed_release_is_named(scene):
    ledger, intruder = scene
    entry = ledger.reader.releases()[0].entry
    with intruder.at_work():
        intruder.query("DELETE FROM releases WHERE entry = ?", (entry,))
        problems = look(ledger, intruder, is_anchored=False).problems
        assert f"The release {entry} is recorded and not stored." in problems


def test_an_anchor_that_knows_nothing_is_a_problem(scene, tmp_path):
    ledger, _ = scene
    report = ledger.reader.verify(tmp_path / "missing")
    assert report.anchored == 0
    assert report.problems == ("The anchor knows no line of this ledger.",)
