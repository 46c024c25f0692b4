"""Group commit: threads share transactions, one bad request harms nobody, any isolation level will do."""

import subprocess
import sys
import threading
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

from dalenius.errors import BudgetExhausted, InternalError, ParameterError, StorageError
from dalenius.ledger import Ledger, schema
from dalenius.ledger.administer import Note
from dalenius.ledger.draft import Draft, Submission
from dalenius.ledger.reserve import Reserve
from dalenius.ledger.store import WriteConflict, _where, apply, load


def run_together(ledger, charge, count, rho="1/1000"):
    """So many threads at once; how many were paid."""
    paid, barrier = [], threading.Barrier(count)

    def work(number):
        barrier.wait()
        with suppress(BudgetExhausted):
            paid.append(ledger.commit(ledger.reserve(charge(f"k{number}", rho=rho)), b"x").entry)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return paid


def test_waiting_requests_share_a_transaction_and_a_segment(opener, charge, tmp_path):
    ledger = opener()
    ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
    ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
    anchor = tmp_path / "anchor"
    segments = len(anchor.read_text().split())
    paid = run_together(ledger, charge, 32)
    assert len(set(paid)) == 32
    lines = [e for e in ledger.reader.entries() if e.kind in ("charge", "release")]
    assert len(lines) == 64
    # Every segment is one line of the anchor: fewer segments than lines means that some were shared.
    assert len(anchor.read_text().split()) - segments < 64
    assert ledger.reader.verify().is_ok


def test_threads_never_overspend(ledger, charge):
    paid = run_together(ledger, charge, 24, rho="1/10")
    assert len(paid) == 10
    assert ledger.reader.account("people").left.rho == 0


def test_a_batch_with_something_unforeseen_is_settled_one_by_one(ledger, charge, monkeypatch):
    from dalenius.ledger import reserve

    original = reserve.Reserve.decide

    def broken(self, draft):
        if self.charge.key == "k3":
            raise ZeroDivisionError
        return original(self, draft)

    monkeypatch.setattr(reserve.Reserve, "decide", broken)
    threads, failures = [], []

    def work(number):
        try:
            ledger.reserve(charge(f"k{number}", rho="1/1000"))
        except ZeroDivisionError:
            failures.append(number)

    for number in range(8):
        threads.append(threading.Thread(target=work, args=(number,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [3]
    assert ledger.reader.account("people").charges == 7
    assert ledger.reader.verify().is_ok


def test_what_json_cannot_hold_is_refused_before_the_queue(ledger, charge):
    with pytest.raises(ParameterError):
        ledger.reserve(charge("aa", request={"bounds": Fraction(1, 3)}))


def test_an_interrupted_batch_leaves_nothing(ledger, charge, monkeypatch):
    """WriteConflict in the middle of the statements: everything is rolled back and redone."""
    from dalenius.ledger import writer

    original, calls = writer.apply, []

    def flaky(store, draft, *rest):
        row = original(store, draft, *rest)
        calls.append(len(draft.lines))
        if len(calls) < 3:
            raise WriteConflict
        return row

    monkeypatch.setattr(writer, "apply", flaky)
    ledger.reserve(charge("aa"))
    assert calls == [1, 1, 1]
    assert ledger.reader.account("people").charges == 1
    assert ledger.reader.verify().is_ok


def test_a_ledger_that_never_gets_its_turn_says_so(ledger, charge, monkeypatch):
    from dalenius.ledger import writer

    def never(*_):
        raise WriteConflict

    monkeypatch.setattr(writer, "apply", never)
    monkeypatch.setattr(writer, "_ATTEMPTS", 3)
    with pytest.raises(InternalError, match="nothing was written"):
        ledger.reserve(charge("aa"))
    assert ledger.reader.account("people").charges == 0


def test_a_stale_view_is_caught_by_the_statements(ledger, charge, opener):
    """Somebody else spends between our look and our statements: the conditions notice, not a lock."""
    other = opener()
    late = Reserve.of(charge("bb", rho="3/4"), "lease", 60.0)
    stale, head, tree = load(other._read_store, late.needs, other.reader.witness)
    ledger.reserve(charge("aa", rho="1/2"))
    draft = Draft(stale, head, 0.0)
    late.decide(draft)
    with pytest.raises(WriteConflict), other._store.transaction():
        apply(other._store, draft, tree, other._writer._witness)
    assert ledger.reader.account("people").spent.rho == Fraction(1, 2)
    assert ledger.reader.verify().is_ok


@pytest.mark.postgres
def test_a_statement_skipped_by_an_error_is_not_believed_to_be_prepared(server):
    from dalenius.ledger.postgres_store import PostgresStore

    store = PostgresStore(server.empty())
    query = (schema.TERMS_TABLE.select + " WHERE population = ?", ("people",))
    for _ in range(10):
        with pytest.raises(Exception, match="zero"), store.snapshot():
            store.query_all([("SELECT 1 / 0", ()), query])
        with store.snapshot():
            assert store.query_all([query, query]) == [[], []]
    store.close()


@pytest.mark.postgres
@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_no_isolation_level_is_relied_upon(server, tmp_path: Path, charge, isolation):
    from dalenius.ledger.postgres_store import PostgresStore

    location = server.empty()
    ledgers = [Ledger.open(location, anchor=tmp_path / "anchor", keys=tmp_path / "keys") for _ in range(4)]
    for ledger in ledgers:
        ledger._store.close()
        ledger._writer._store = ledger._store = PostgresStore(location, isolation)
    ledgers[0].declarations.register("people", "census", "2021", "fingerprint", "domain")
    ledgers[0].declarations.grant("people", "add-remove", "1/10", 0, by="custodian")
    paid, failures = [], []

    def work(ledger, number):
        for turn in range(10):
            try:
                paid.append(ledger.reserve(charge(f"{number}-{turn}", rho="1/200")).entry)
            except BudgetExhausted:
                pass
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(ledger, n)) for n, ledger in enumerate(ledgers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(set(paid)) == len(paid) == 20
    assert ledgers[0].reader.account("people").left.rho == 0
    assert ledgers[0].reader.verify().is_ok
    for ledger in ledgers:
        ledger.close()


@pytest.mark.parametrize("moment", ["waiting", "gathering"])
def test_an_interrupted_waiter_does_not_block_the_others(ledger, charge, monkeypatch, moment):
    """The thread that was appointed to lead is interrupted before it does, or while it waits for company."""
    from dalenius.ledger.draft import Submission

    original, interrupted = Submission.wait, threading.Event()

    def wait(self, seconds=-1):
        was_woken = original(self, seconds)
        if (moment == "gathering") is (seconds > 0) and not self.is_done and not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt
        return was_woken

    monkeypatch.setattr(Submission, "wait", wait)
    paid, stopped = [], []

    def work(number):
        try:
            for turn in range(20):
                paid.append(ledger.reserve(charge(f"{number}-{turn}", rho="1/10000")).entry)
        except KeyboardInterrupt:
            stopped.append(number)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert interrupted.is_set()
    assert len(stopped) == 1
    assert (
        ledger.reader.account("people").charges
        == len(paid)
        == 160
        - 20 * len(stopped)
        + sum(
            e.body["key"].startswith(f"{n}-")
            for n in stopped
            for e in ledger.reader.entries("people")
            if e.kind == "charge"
        )
    )
    assert ledger.reader.verify().is_ok


@pytest.mark.postgres
def test_a_writer_that_stops_in_the_middle_does_not_block_for_ever(server, tmp_path: Path, charge):
    import psycopg

    location = server.empty()
    with Ledger.open(location, anchor=tmp_path / "anchor", keys=tmp_path / "keys") as ledger:
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        for store in (ledger._store, ledger._read_store):
            store.query("SELECT set_config('lock_timeout', '200ms', false)")
        stopped = psycopg.connect(location)
        stopped.execute("SELECT 1 FROM dalenius.head FOR UPDATE")
        threading.Timer(1.0, stopped.close).start()
        assert ledger.reserve(charge("aa")).lease
        assert ledger.reader.account("people").charges == 1
        assert ledger.reader.verify().is_ok


_CLOSED_UNDER_WRITERS = """
import sys, threading
from dalenius.errors import StorageError
from dalenius.ledger import Ledger

for number in range(25):
    ledger, refused, begun = Ledger.open(f"{sys.argv[1]}/{number}.sqlite"), [], threading.Event()

    def work():
        while True:
            try:
                ledger.declarations.note("people", {"kind": "x"}, by="custodian")
                ledger.reader.entries()
                begun.set()
            except StorageError as error:
                return refused.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait()
    ledger.close()
    for thread in threads:
        thread.join(30)
    assert len(refused) == 3 and all("was closed" in str(error) for error in refused), refused
    assert Ledger.open(f"{sys.argv[1]}/{number}.sqlite").reader.verify().is_ok
print("ok")
"""


def test_a_ledger_closed_under_its_writers_refuses_them(tmp_path):
    # In a process of its own: what is looked for here is a crash of the interpreter.
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _CLOSED_UNDER_WRITERS, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_a_log_that_its_own_ledger_removed_is_no_damage(tmp_path):
    """A writer that was about to compare the files when the ledger was closed is told that."""
    ledger = Ledger.open(tmp_path / "ledger.db")
    ledger.declarations.note("x", {}, by="custodian")
    ledger.close()
    with pytest.raises(StorageError, match="was closed"):
        ledger._store.check()


def test_an_anchor_that_fails_is_told_to_those_whose_lines_were_written(ledger, charge, monkeypatch):
    """Of two in one batch the refused one keeps its refusal: nothing of it was written."""
    jobs = tuple(Submission(Reserve.of(charge(key, rho=rho), key, 60.0)) for key, rho in (("aa", "1/2"), ("bb", "2")))
    monkeypatch.setattr(ledger._writer, "_settled", lambda *_: 1 / 0)
    ledger._writer._settle(jobs)
    assert [type(job.error) for job in jobs] == [StorageError, BudgetExhausted]
    assert ledger.reader.account("people").spent.rho == Fraction(1, 2)


def test_what_a_batch_only_looked_at_is_not_written_again(ledger, charge):
    """A stored release and a secret that is known, in one segment with a new charge."""
    stored = ledger.commit(ledger.reserve(charge("aa")), b"x")
    ledger.secret("people")
    again = Note(kind="secret", population="people", body={"check": "another"}, by="")
    commands = (Reserve.of(charge("aa"), "a", 60.0), again, Reserve.of(charge("bb"), "b", 60.0))
    jobs, lines = tuple(map(Submission, commands)), len(ledger.reader.entries())
    ledger._writer._settle(jobs)
    assert jobs[0].result[0].entry == stored.entry and jobs[0].result[0].lease == ""
    assert jobs[1].result[0] == ledger.reader.check_value("people") != "another"
    assert [entry.kind for entry in ledger.reader.entries()][lines:] == ["charge"]
    assert ledger.reader.verify().is_ok


def test_many_rows_are_looked_for_in_several_queries():
    queries = list(_where("rows", "SELECT 1", ("a", "b"), {(str(n), "x") for n in range(401)}))
    assert [sql.count("a = ?") for _, sql, _ in queries] == [200, 200, 1]
    assert len({value for _, _, values in queries for value in values[::2]}) == 401
    assert list(_where("rows", "SELECT 1", ("a",), ())) == []


def test_who_is_interrupted_while_gathering_is_waited_for_no_longer(ledger, charge):
    writer, job = ledger._writer, Submission(Reserve.of(charge("aa"), "a", 60.0))
    writer._gathering = job
    writer._leave(job)
    assert writer._gathering is None
    ledger.reserve(charge("bb"))
    assert [entry.body["key"] for entry in ledger.reader.entries() if entry.kind == "charge"] == ["bb"]


def test_who_comes_just_as_patience_ends_still_wakes_the_leader(ledger, charge):
    """The last one takes the lead's place in the gathering and then opens its gate; a gate left open would let it through too early."""
    writer, job = ledger._writer, Submission(Reserve.of(charge("aa"), "a", 60.0))
    waits = []

    def wait(seconds=-1):
        waits.append(seconds)
        if len(waits) == 1:
            writer._gathering = None
            job.wake()
            return False
        return Submission.wait(job, seconds)

    job.wait = wait
    writer._usual = 5
    writer._gather(job)
    assert len(waits) == 2 and not Submission.wait(job, 0)
