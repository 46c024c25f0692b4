"""Attacks that once worked: double opening grants, hidden lines, reports that crash, peeking, and half-made states."""

import os
import sqlite3
import threading
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from dalenius.core.neighbours import Relation, Scope
from dalenius.errors import (
    ApprovalRequired,
    BudgetExhausted,
    Conflict,
    InternalError,
    LedgerCorrupt,
    LedgerMismatch,
    NotPublic,
    ParameterError,
    QuotaExhausted,
)
from dalenius.ledger import Ledger, schema
from dalenius.ledger.entry import Entry
from dalenius.ledger.opening import declare_unit, ensure_quota, open_account
from dalenius.spec.policy import AllowPart, PolicyDocument, QuotaPart, WavePart
from dalenius_lab.accounting.batch import Batch

DOMAIN = SimpleNamespace(population="people", neighbours=SimpleNamespace(relation=Relation.ADD_REMOVE, unit="person"))


# Opening an account.


def test_two_servers_that_open_an_account_grant_once(opener):
    ledgers, policy = [opener() for _ in range(4)], PolicyDocument()
    answers, barrier = [], threading.Barrier(4)

    def work(ledger):
        barrier.wait()
        answers.append(open_account(ledger.declarations, DOMAIN, policy, "custodian"))

    threads = [threading.Thread(target=work, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False, False, False, True]
    assert ledgers[0].reader.account("people").limit.rho == policy.budget.rho


def test_an_account_is_opened_with_all_its_rules_or_not_at_all(opener, charge, monkeypatch):
    from dalenius.ledger import writer

    policy, ledger = PolicyDocument().model_copy(update={"approval_above": Fraction(1, 100)}), opener()
    ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
    calls, real = [], writer.apply

    def die_after_the_first_segment(store, draft, *rest):
        calls.append(draft)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return real(store, draft, *rest)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(writer, "apply", die_after_the_first_segment)
        open_account(ledger.declarations, DOMAIN, policy, "custodian")
    open_account(ledger.declarations, DOMAIN, policy, "custodian")
    with pytest.raises(ApprovalRequired):
        ledger.reserve(charge("aa", rho=1))
    assert ledger.reader.verify().is_ok


def test_a_quota_in_one_account_does_not_open_the_other(opener, charge):
    ledger = opener()
    policy = PolicyDocument().model_copy(
        update={"default_quota": QuotaPart(rho="1/10"), "allow": AllowPart(acknowledge=("at-the-data",))}
    )
    ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
    open_account(ledger.declarations, DOMAIN, policy, "custodian")
    ledger.declarations.quota("people", "ann", "1/100", 0, by="custodian", account="data-dependent")
    ensure_quota(ledger, "people", "ann", policy)
    with pytest.raises(QuotaExhausted):
        ledger.reserve(charge("aa", rho="1/5", analyst="ann"))
    quotas = {p.key.account: p.limit_rho for p in ledger.reader.account("people").balances if p.key.name == "ann"}
    assert quotas == {"master": 10**11, "data-dependent": 10**10}


def test_a_wave_without_failures_gets_none(opener):
    ledger = opener()
    waves = (WavePart(version="2021", rho="1", delta="0"), WavePart(version="2022", rho="1"))
    open_account(ledger.declarations, DOMAIN, PolicyDocument().model_copy(update={"waves": waves}), "custodian")
    balances = {p.key.name: p.limit_delta for p in ledger.reader.account("people").balances if p.key.kind == "wave"}
    assert balances == {"2021": 0, "2022": 500_000}


def test_two_kinds_of_units_never_share_an_account(opener):
    ledgers, barrier, answers = [opener(), opener()], threading.Barrier(2), []

    def work(ledger, unit):
        domain = SimpleNamespace(
            population="people", neighbours=SimpleNamespace(relation=Relation.ADD_REMOVE, unit=unit)
        )
        look, looks = ledger.reader.entries, []

        def entries(population):
            found = look(population)
            if not looks:
                looks.append(None)
                barrier.wait(timeout=10)
            return found

        ledger.reader.entries = entries
        try:
            declare_unit(ledger, domain, "custodian")
            answers.append("accepted")
        except LedgerMismatch:
            answers.append("refused")

    threads = [threading.Thread(target=work, args=pair) for pair in zip(ledgers, ("person", "row"), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["accepted", "refused"]


# Verification answers with a report, and sees every row.


def forged() -> Entry:
    body = {
        "units": {"rho": 0, "delta": 0},
        "budget": {"rho": "0", "delta": "0"},
        "account": "master",
        "relation": "add-remove",
        "note": "never happened",
    }
    return Entry.write(
        seq=99,
        kind="grant",
        population="people",
        at="2020-01-01T00:00:00.000Z",
        by="mallory",
        body=body,
        previous="0" * 64,
    )


@pytest.mark.parametrize("place", [-(2**63), -(2**62), -1, 0, 2**62])
def test_a_line_outside_the_chain_is_noticed(ledger, charge, place):
    line = forged()
    row = (place, line.name, line.kind, line.population, line.line, line.previous, line.digest)
    with ledger._store.transaction():
        ledger._store.run([("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", [row])])
    assert not ledger.reader.verify().is_ok


TAMPERINGS = {
    "place": "INSERT INTO entries SELECT NULL, name, kind, population, line, previous, digest FROM entries LIMIT 1",
    "blob": "UPDATE entries SET line = CAST(line AS BLOB) WHERE seq = 3",
    "infinite place": """UPDATE entries SET line = replace(line, '"seq":3', '"seq":1e999') WHERE seq = 3""",
    "no fraction": """UPDATE entries SET line = replace(line, '"rho":"1/3"', '"rho":"1/0"') WHERE seq = 4""",
    "no cost": """UPDATE entries SET line = replace(line, '"cost":{', '"cost":[],"x":{') WHERE seq = 4""",
    "deep": "UPDATE entries SET line = replace(hex(zeroblob(200000)), '0', '[') WHERE seq = 3",
    "text": "UPDATE releases SET document = CAST(document AS TEXT)",
    "number": "UPDATE releases SET document = -7",
    "table": "DROP TABLE checks",
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_whatever_was_put_there_the_answer_is_a_report(tmp_path, charge, what):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        ledger.commit(ledger.reserve(charge("aa", rho="1/3")), b"document")
        intruder = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        for (name,) in intruder.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            intruder.execute(f"DROP TRIGGER {name}")
        assert intruder.execute(TAMPERINGS[what]).rowcount != 0
        intruder.close()
        assert not ledger.reader.verify().is_ok


@pytest.mark.parametrize(
    "line", ["[" * 200_000, '{"ledger":"x","seq":Infinity,"head":"","signature":"00"}', "[1]", "7"]
)
def test_whatever_stands_in_the_anchor_the_answer_is_a_report(ledger, tmp_path, line):
    with (tmp_path / "anchor").open("a") as file:
        file.write("\n" + line)
    assert not ledger.reader.verify().is_ok


def test_a_ledger_without_its_first_line_says_so(tmp_path):
    Ledger.open(tmp_path / "ledger.db").close()
    intruder = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    intruder.execute("DROP TRIGGER entries_remain")
    intruder.execute("DELETE FROM entries")
    intruder.close()
    with pytest.raises(LedgerCorrupt):
        Ledger.open(tmp_path / "ledger.db")


# Lines that would not read back.


@pytest.mark.parametrize("content", [{2: "x", 10: "y"}, {"a": [{True: 1}]}])
def test_names_that_are_not_text_are_refused(ledger, charge, content):
    for write in (
        lambda: ledger.reserve(charge("aa", request=content)),
        lambda: ledger.declarations.note("x", content, by="custodian"),
    ):
        with pytest.raises(ParameterError):
            write()
    assert ledger.reader.verify().is_ok


def test_what_is_nested_too_deeply_is_refused(ledger, charge):
    content: object = 1
    for _ in range(990):
        content = [content]
    with pytest.raises(ParameterError):
        ledger.reserve(charge("aa", request={"x": content}))


# Peeking and shares.


def test_who_completes_for_another_is_not_shown_what_is_not_public(ledger, charge):
    ledger.abandon(ledger.reserve(charge("aa", analyst="ann")))
    with pytest.raises(NotPublic):
        ledger.commit(ledger.reserve(charge("aa", analyst="bob")), b"document", "embargoed")
    assert ledger.reserve(charge("aa", analyst="ann")).stored.document == b"document"
    ledger.abandon(ledger.reserve(charge("bb", analyst="ann")))
    assert ledger.commit(ledger.reserve(charge("bb", analyst="bob")), b"public").document == b"public"


def test_a_quote_refuses_as_a_reservation_would(ledger, charge):
    ledger.abandon(ledger.reserve(charge("aa")))
    assert ledger.quote(charge("aa")).rho == 0
    for change in ({"plan_digest": "another"}, {"fingerprint": "another"}):
        for ask in (ledger.quote, ledger.reserve):
            with pytest.raises(Conflict):
                ask(charge("aa", **change))


def test_a_share_is_not_given_away_by_the_next_grant(ledger, charge):
    with pytest.raises(ParameterError, match="share"):
        ledger.declarations.share("people", 2, 0, by="custodian")
    ledger.reserve(charge("aa", rho="1/2"))
    with pytest.raises(ParameterError, match="share"):
        ledger.declarations.share("people", "3/4", 0, by="custodian")
    ledger.declarations.share("people", "1/2", 0, by="custodian")
    ledger.declarations.grant("people", "add-remove", "1/4", 0, by="custodian")
    ledger.reserve(charge("bb", rho="1/4"))
    with pytest.raises(BudgetExhausted, match="reserved for official tables"):
        ledger.reserve(charge("cc", rho="1/1000000000000"))
    assert ledger.reader.account("people").left.rho == Fraction(1, 2)


# Half-made states.


@pytest.mark.parametrize("bracket", ["transaction", "snapshot"])
def test_an_interrupt_right_after_begin_leaves_no_transaction_open(tmp_path, bracket):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        store = ledger._store
        real = store._connection

        class Interrupted:
            def execute(self, sql, *rest):
                real.execute(sql, *rest)
                if sql.startswith("BEGIN"):
                    raise KeyboardInterrupt

            def __getattr__(self, name):
                return getattr(real, name)

        store._connection = Interrupted()
        with pytest.raises(KeyboardInterrupt), getattr(store, bracket)():
            pass
        store._connection = real
        ledger.declarations.note("x", {}, by="custodian")


def test_an_interrupted_leader_does_not_interrupt_the_others(ledger, charge, monkeypatch):
    """Somebody else's interrupt is no answer: the others ask again, and find what was written or write it."""
    from dalenius.ledger import writer

    real, struck = writer.apply, threading.Event()

    def apply(store, draft, *rest):
        row = real(store, draft, *rest)
        if len(draft.lines) > 1 and not struck.is_set():
            struck.set()
            raise KeyboardInterrupt
        return row

    monkeypatch.setattr(writer, "apply", apply)
    paid, stopped = [], []

    def work(number):
        for turn in range(10):
            try:
                paid.append(ledger.reserve(charge(f"{number}-{turn}", rho="1/10000")).entry)
            except KeyboardInterrupt:
                stopped.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert struck.is_set()
    assert len(stopped) == 1
    assert len(paid) == 79
    assert ledger.reader.verify().is_ok


def test_an_anchor_line_cut_short_is_told(ledger, charge, monkeypatch):
    from dalenius.ledger import anchor

    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(anchor.os, "write", lambda descriptor, content: real(descriptor, content[:50]))
        with pytest.raises(InternalError, match="anchor was not"):
            ledger.reserve(charge("aa"))


def test_a_file_that_another_process_finishes_meanwhile_is_a_ledger(tmp_path, monkeypatch):
    from dalenius.ledger import sqlite_store

    real, others = sqlite3.connect, []

    class Slow:
        """Between our first look and the next, somebody else makes the tables."""

        def __init__(self, *place, **options):
            self.connection = real(*place, **options)

        def __getattr__(self, name):
            return getattr(self.connection, name)

        def execute(self, sql, *rest):
            found = self.connection.execute(sql, *rest)
            if "sqlite_master" in sql and not others:
                rows = found.fetchall()
                others.append(None)
                other = real(tmp_path / "ledger.db")
                other.executescript(schema.TABLES.format(**schema.SQLITE))
                other.close()
                return SimpleNamespace(fetchall=lambda: rows, fetchone=lambda: next(iter(rows), None))
            return found

    monkeypatch.setattr(sqlite_store.sqlite3, "connect", Slow)
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        assert ledger.head.seq == 1


@pytest.mark.postgres
def test_a_connection_that_was_half_prepared_is_never_used(server, tmp_path: Path, charge, monkeypatch):
    import psycopg

    from dalenius.ledger.postgres_store import PostgresStore

    location = server.empty()
    with Ledger.open(location, anchor=tmp_path / "anchor", keys=tmp_path / "keys") as ledger:
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        pid, failed = ledger._store._connection.info.backend_pid, []
        for name in ("_create", "_has_tables"):
            real = getattr(PostgresStore, name, None)

            def flaky(self, real=real):
                if not failed:
                    failed.append(1)
                    raise psycopg.errors.LockNotAvailable
                return real(self)

            monkeypatch.setattr(PostgresStore, name, flaky, raising=False)
        with psycopg.connect(location, autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
        assert ledger.reserve(charge("aa")).lease
        assert failed


# Auditors.


def test_an_auditor_makes_nothing(tmp_path):
    with pytest.raises(LedgerMismatch):
        Ledger.open(tmp_path / "nothing.db", public_key="ab" * 32)
    assert list(tmp_path.iterdir()) == []
    with (
        Ledger.open(tmp_path / "ledger.db") as ledger,
        Ledger.open(tmp_path / "ledger.db", keys=tmp_path / "none", public_key=ledger.public_key) as auditor,
        pytest.raises(LedgerMismatch),
    ):
        auditor.secret("people")
    assert not (tmp_path / "none").exists()


@pytest.mark.postgres
def test_an_auditor_needs_only_to_read(server, tmp_path: Path, charge):
    import psycopg

    location = server.empty()
    options = {"anchor": tmp_path / "anchor"}
    with Ledger.open(location, keys=tmp_path / "keys", **options) as ledger:
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        ledger.commit(ledger.reserve(charge("aa")), b"document")
        with psycopg.connect(location, autocommit=True) as admin:
            admin.execute("CREATE ROLE auditor LOGIN")
            admin.execute("GRANT USAGE ON SCHEMA dalenius TO auditor")
            admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA dalenius TO auditor")
        place = location.replace("ledger@", "auditor@")
        with Ledger.open(place, public_key=ledger.public_key, **options) as auditor:
            assert auditor.reader.verify().is_ok


def test_a_refused_opening_leaves_no_file_open(tmp_path):
    Ledger.open(tmp_path / "ledger.db").close()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(LedgerMismatch):
            Ledger.open(tmp_path / "ledger.db", keys=tmp_path / "none")
    assert len(os.listdir("/proc/self/fd")) <= before


# Never less than the truth.


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "discrete_laplace", "rate": "1", "shift": "1.9"},
        {"kind": "discrete_gaussian", "variance": "1", "shift": "1.9"},
        {"kind": "pure", "epsilon": "1", "times": 2.9},
    ],
)
def test_fractions_of_steps_and_shifts_are_refused(event):
    with pytest.raises(ParameterError, match="whole number"):
        Batch(events=(event,))


def test_words_guarantee_no_more_than_numbers(ledger, charge):
    ledger.reserve(charge("aa", epsilon=Fraction("0.500049")))
    words = ledger.reader.odometer("people").sentences()
    assert "(0.5001, 0)" in words[0]
    assert "at most 1.649 times" in words[2]


def test_declarations_out_of_range_are_refused(ledger):
    for declare in (
        lambda: ledger.declarations.approval("people", "1e300", by="custodian"),
        lambda: ledger.declarations.approval("people", -1, by="custodian"),
        lambda: ledger.declarations.schedule("people", [], by="custodian", account="nonsense"),
    ):
        with pytest.raises(ParameterError):
            declare()


def test_a_quota_or_cap_holds_in_every_account_or_the_account_refuses(ledger, charge):
    own = {"account": "data-dependent", "definition": "bootstrap", "scope": Scope.OBSERVED_ROWS}
    ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian", account="data-dependent")
    ledger.declarations.quota("people", "ann", "0.02", 0, by="custodian")
    ledger.declarations.cap("people", "income", "0.02", 0, by="custodian")
    for number, who in enumerate([{"analyst": "ann"}, {"variables": ("income",)}]):
        refused = charge(f"a{number}", rho="1/2", **own, **who)
        for ask in (ledger.quote, ledger.reserve):
            with pytest.raises((QuotaExhausted, BudgetExhausted), match="data-dependent account") as refusal:
                ask(refused)
            assert refusal.value.detail["account"] == "data-dependent"
    assert ledger.reader.account("people").other_charges["data-dependent"] == 0
    # Nobody limited Ben: both accounts pay him alike.
    assert ledger.reserve(charge("bb", rho="1/8", analyst="ben", **own)).lease
    ledger.quota_in_every_account("people", "ann", "1/4", 0, by="custodian")
    assert ledger.reserve(charge("cc", rho="1/8", analyst="ann", **own)).lease
    with pytest.raises(QuotaExhausted, match="does not cover"):
        ledger.reserve(charge("dd", rho="1/4", analyst="ann", **own))
    assert ledger.reader.verify().is_ok


def test_a_quota_in_every_account_leaves_accounts_without_a_budget_alone(ledger):
    assert [entry.body["account"] for entry in ledger.quota_in_every_account("people", "ann", 1, 0, by="c")] == [
        "master"
    ]


def test_a_quota_that_cannot_pay_is_said_before_anybody_is_asked_to_approve(ledger, charge):
    ledger.declarations.quota("people", "ann", "0.02", 0, by="custodian")
    ledger.declarations.approval("people", "0.01", by="custodian")
    for ask in (ledger.quote, ledger.reserve):
        with pytest.raises(QuotaExhausted):
            ask(charge("aa", rho="1/2", analyst="ann"))
        with pytest.raises(ApprovalRequired):
            ask(charge("bb", rho="1/64", analyst="ann"))


def test_another_unit_is_not_advised_to_take_a_second_budget(ledger):
    def declared(unit):
        neighbours = SimpleNamespace(relation=Relation.ADD_REMOVE, unit=unit)
        return SimpleNamespace(population="people", neighbours=neighbours)

    declare_unit(ledger, declared("person"), "custodian")
    with pytest.raises(LedgerMismatch, match="declare the same") as refusal:
        declare_unit(ledger, declared("row"), "custodian")
    assert "second budget" in str(refusal.value) and "population of its own" not in str(refusal.value)
