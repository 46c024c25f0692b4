"""Each statement keeps its own invariant, whoever else writes; and the small rules that nothing else would notice."""

import fcntl
import os
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation, Scope
from dalenius.errors import (
    BudgetExhausted,
    Conflict,
    InternalError,
    LedgerMismatch,
    NotAllowed,
    NotPublic,
    ParameterError,
)
from dalenius.ledger import Ledger, schema
from dalenius.ledger.account import NO_LIMIT, Balance, BalanceKey
from dalenius.ledger.charge import Units
from dalenius.ledger.complete import Complete
from dalenius.ledger.draft import Draft
from dalenius.ledger.reserve import Reserve
from dalenius.ledger.store import ConnectionLost, WriteConflict, apply, load

TOTAL = ("people", "master", "total", "")
MARK = (9, b"salt")


class Undo(Exception):
    """Nothing of a test's statement remains."""


def touched(ledger, sql, *row):
    """How many rows the statement touches, or the store's refusal."""
    found = []
    try:
        with ledger._store.transaction():
            found.extend(ledger._store.run([(sql, [row])]))
            raise Undo
    except Undo:
        return found[0]
    except WriteConflict:
        return "refused"


def test_a_payment_above_the_limit_touches_no_balance(ledger):
    most_rho, most_delta = 10**12, 10**6
    pay = lambda rho, delta: touched(ledger, schema.PAY, rho, delta, 0, 0, 1, *MARK, *TOTAL, rho, delta)  # noqa: E731
    assert pay(most_rho, most_delta) == 1
    assert pay(most_rho + 1, 0) == 0
    assert pay(0, most_delta + 1) == 0


@pytest.mark.parametrize("column", ["rho", "delta"])
def test_a_balance_cannot_hold_more_than_its_limit(ledger, column):
    sql = f"UPDATE balances SET spent_{column} = limit_{column} + ? WHERE kind = 'total' AND account = 'master'"
    assert touched(ledger, sql, 0) == 1
    assert touched(ledger, sql, 1) == "refused"
    negative = f"UPDATE balances SET spent_{column} = ? WHERE kind = 'total' AND account = 'master'"
    assert touched(ledger, negative, -1) == "refused"


def test_the_head_moves_only_from_where_it_was_read(ledger):
    seq, digest = ledger.head.seq, ledger.head.digest
    assert touched(ledger, schema.MOVE_HEAD, seq + 1, "next", b"", "", seq, digest) == 1
    assert touched(ledger, schema.MOVE_HEAD, seq + 1, "next", b"", "", seq, "f" * 64) == 0
    assert touched(ledger, schema.MOVE_HEAD, seq + 1, "next", b"", "", seq - 1, digest) == 0


def test_a_lease_is_taken_and_a_charge_completed_only_as_the_row_stands(ledger, charge):
    held = ledger.reserve(charge("aa"))
    take = lambda *row: touched(ledger, schema.TAKE_LEASE, "mine", 1.0, *MARK, *row)  # noqa: E731
    assert take("aa", held.lease, "fingerprint", "plan") == 1
    assert take("aa", "another lease", "fingerprint", "plan") == 0
    assert take("aa", held.lease, "another file", "plan") == 0
    assert take("aa", held.lease, "fingerprint", "another plan") == 0
    done = lambda *row: touched(ledger, schema.COMPLETE, *MARK, *row)  # noqa: E731
    assert done("aa", held.entry, held.lease, "fingerprint", "plan") == 1
    assert done("aa", "another entry", held.lease, "fingerprint", "plan") == 0
    assert done("aa", held.entry, "another lease", "fingerprint", "plan") == 0
    assert done("aa", held.entry, held.lease, "another file", "plan") == 0
    assert done("aa", held.entry, held.lease, "fingerprint", "another plan") == 0
    ledger.commit(held, b"document")
    assert done("aa", held.entry, held.lease, "fingerprint", "plan") == 0
    assert take("aa", held.lease, "fingerprint", "plan") == 0


def test_status_limits_and_terms_change_only_from_what_was_seen(ledger, charge):
    entry = ledger.commit(ledger.reserve(charge("aa")), b"document", "draft").entry
    assert touched(ledger, schema.SET_STATUS, "published", *MARK, entry, "draft") == 1
    assert touched(ledger, schema.SET_STATUS, "published", *MARK, entry, "embargoed") == 0
    limit = lambda rho, was, delta=10**6: touched(  # noqa: E731
        ledger, schema.SET_LIMIT, rho, delta, *MARK, *TOTAL, was, 10**6, rho, delta
    )
    assert limit(2 * 10**12, 10**12) == 1
    assert limit(2 * 10**12, 10**12 + 1) == 0
    assert limit(10**12 // 8 - 1, 10**12) == 0
    assert touched(ledger, schema.PUT_TERMS, "people", "add-remove", 5, 0, *MARK) == 1
    assert touched(ledger, schema.PUT_TERMS, "people", "replace", 5, 0, *MARK) == 0


def test_a_statement_that_touches_too_little_rolls_the_batch_back(ledger, charge, opener):
    """The balance was emptied behind our back, and nothing else: only the count of touched rows can tell."""
    other = opener()
    late = Reserve.of(charge("bb", rho="3/4"), "lease", 60.0)
    state, head, tree = load(other._read_store, late.needs, other.reader.witness)
    draft = Draft(state, head, 0.0)
    late.decide(draft)
    with ledger._store.transaction():
        ledger._store.run([("UPDATE balances SET spent_rho = limit_rho WHERE kind = 'total'", [()])])
    with pytest.raises(WriteConflict, match="UPDATE"), other._store.transaction():
        apply(other._store, draft, tree, other._writer._witness)
    assert other.head == draft.head
    assert other.reader.query(schema.CHARGES_TABLE.select) == []


def test_a_store_without_a_lock_still_takes_one_of_two_writers(ledger, charge, opener):
    """Two drafts from the same head, one after the other: the second finds the head moved."""
    other = opener()
    drafts = []
    for key in ("aa", "bb"):
        command = Reserve.of(charge(key), f"lease {key}", 60.0)
        state, head, tree = load(other._read_store, command.needs, other.reader.witness)
        drafts.append((Draft(state, head, 0.0), tree))
        command.decide(drafts[-1][0])
    # The places of the lines are free for the second, so that only the head stands in its way.
    drafts[1][0].lines[0] = replace(drafts[1][0].lines[0], seq=99)
    with other._store.transaction():
        apply(other._store, *drafts[0], other._writer._witness)
    with pytest.raises(WriteConflict), other._store.transaction():
        apply(other._store, *drafts[1], other._writer._witness)


# Reserve and complete.


def test_a_lease_ends_at_its_moment(ledger, charge, opener, clock):
    slow = ledger.reserve(charge("aa"))
    clock.now += 60
    assert opener().reserve(charge("aa")).lease != slow.lease


@pytest.mark.parametrize("change", [{"version": "2022"}, {"population": "others"}, {"dataset": "panel"}])
def test_a_key_is_never_answered_for_other_data(ledger, charge, change):
    ledger.declarations.register("people", "census", "2022", "fingerprint", "domain")
    ledger.declarations.register("people", "panel", "2021", "fingerprint", "domain")
    ledger.commit(ledger.reserve(charge("aa")), b"document")
    with pytest.raises(Conflict, match="something else"):
        ledger.reserve(charge("aa", **change))


def test_who_lost_the_answer_finds_the_own_charge_again(ledger, charge):
    command = Reserve.of(charge("aa"), "lease", 60.0)
    first, _ = ledger._writer.submit(command)
    head = ledger.head
    again, _ = ledger._writer.submit(command)
    assert (again.entry, again.lease) == (first.entry, "lease")
    assert ledger.head == head


def test_a_reservation_is_completed_as_it_was_made(ledger, charge):
    reservation = ledger.reserve(charge("aa"))
    for change in ({"plan_digest": "another"}, {"fingerprint": "another"}, {"lease": "another"}):
        with pytest.raises(Conflict):
            ledger.commit(replace(reservation, **change), b"document")
    with pytest.raises(LedgerMismatch):
        ledger.commit(replace(reservation, entry="another"), b"document")
    assert ledger.reader.find("aa") is None
    assert ledger.commit(reservation, b"document").document == b"document"


def test_a_late_holder_is_not_shown_what_is_not_public(ledger, charge, clock):
    slow = ledger.reserve(charge("aa", analyst="ann"))
    clock.now += 61
    ledger.commit(ledger.reserve(charge("aa", analyst="ann")), b"document", "embargoed")
    assert ledger.commit(slow, b"late").document == b"document"
    with pytest.raises(NotPublic):
        ledger.commit(replace(slow, analyst="bob"), b"late")


def test_a_charge_made_with_recorded_randomness_stays_refused(ledger, charge):
    """The charge says so, whatever the caller of commit says."""
    reservation = ledger.reserve(charge("aa", is_tainted=True, is_public_data=True))
    state, head, _ = load(ledger._read_store, Complete(reservation, b"", "published").needs, ledger.reader.witness)
    state.charges["aa"] = state.charges["aa"]._replace(is_public_data=False)
    with pytest.raises(NotAllowed):
        Complete(reservation, b"document", "published").decide(Draft(state, head, 0.0))


# Amounts.


def test_every_amount_of_a_cost_is_rounded_up():
    third = Fraction(1, 3 * 10**12)
    cost = Cost(relation=Relation.ADD_REMOVE, rho=third, delta=third, epsilon=third)
    assert Units.of(cost) == Units(1, 1, 1)


@pytest.mark.parametrize("name", ["rho", "delta", "epsilon"])
@pytest.mark.parametrize("amount", [Fraction(-1), Fraction(10**5) + Fraction(1, 10**12)])
def test_costs_out_of_range_are_refused(charge, name, amount):
    amounts = {"rho": Fraction(1), "delta": Fraction(0), "epsilon": Fraction(1)} | {name: amount}
    with pytest.raises(ParameterError):
        replace(charge("aa"), cost=Cost(relation=Relation.ADD_REMOVE, **amounts))


def test_a_cost_under_another_relation_is_refused(charge):
    with pytest.raises(ParameterError, match="computed under"):
        replace(charge("aa"), cost=Cost(relation=Relation.REPLACE, rho=Fraction(1)))


def test_limits_are_rounded_down(ledger, charge):
    ledger.declarations.grant("people", "add-remove", "1/3", "1/3000000", by="custodian")
    account = ledger.reader.account("people")
    assert account.limit.rho == 1 + Fraction(333333333333, 10**12)
    assert account.limit.delta == Fraction(1, 10**6) + Fraction(333333, 10**12)
    ledger.declarations.approval("people", "1/3", by="custodian")
    with pytest.raises(Exception, match="second person"):
        ledger.reserve(charge("aa", rho="333333333334/1000000000000"))


@pytest.mark.parametrize("amounts", [(-1, 0), (0, -1), (1001, 0), (0, 2)])
def test_grants_out_of_range_are_refused(ledger, amounts):
    before = ledger.head
    for declare in (
        lambda: ledger.declarations.grant("people", "add-remove", *amounts, by="custodian"),
        lambda: ledger.declarations.quota("people", "ann", *amounts, by="custodian"),
    ):
        with pytest.raises(ParameterError):
            declare()
    assert ledger.head == before


def test_a_limit_below_what_was_spent_keeps_both_amounts():
    balance = Balance(BalanceKey(*TOTAL), 10, 10).after(Units(4, 3)).with_limit(1, 1)
    assert (balance.limit_rho, balance.limit_delta) == (4, 3)


def test_official_data_dependent_releases_are_counted(ledger, charge):
    ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian", account="data-dependent")
    ledger.reserve(
        charge("aa", account="data-dependent", scope=Scope.ACTUAL_DATA, definition="at-the-data", is_official=True)
    )
    assert ledger.reader.account("people").other_charges["data-dependent"] == 1


def test_a_share_counts_failures_as_well(ledger, charge):
    ledger.declarations.share("people", 0, "1e-6", by="custodian")
    with pytest.raises(BudgetExhausted, match="reserved for official tables"):
        ledger.reserve(charge("aa", rho="1/1000", delta="1/1000000000000"))
    ledger.reserve(charge("aa", rho="1/1000", delta="1/1000000", is_official=True))
    with pytest.raises(ParameterError, match="waves"):
        ledger.declarations.schedule("people", [("2021", "1/2", "6e-7"), ("2022", "1/2", "6e-7")], by="custodian")


# Durability and the anchor.


def test_the_stores_settings_are_durable(ledger, location):
    if "://" in location:
        assert ledger._store.query("SHOW synchronous_commit")[0][0] == "on"
        return
    for store in (ledger._store, ledger._read_store):
        assert [store.query(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous", "foreign_keys")] == [
            "wal",
            2,
            1,
        ]


def test_writers_of_a_file_queue_at_its_lock(tmp_path):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        lock = os.open(tmp_path / "ledger.db.lock", os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=lambda: ledger.declarations.note("x", {}, by="custodian"))
        thread.start()
        thread.join(timeout=0.3)
        assert thread.is_alive()
        assert ledger.head.seq == 1
        os.close(lock)
        thread.join(timeout=30)
        assert ledger.head.seq == 2


def test_a_release_is_answered_after_its_head_is_synchronised(ledger, charge, monkeypatch):
    from dalenius.ledger import anchor

    done, real = [], anchor.os.fsync
    monkeypatch.setattr(anchor.os, "fsync", lambda fd: (done.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd)))
    ledger.commit(ledger.reserve(charge("aa")), b"document")
    assert done == [str(ledger.reader.anchor.path)]


def test_a_head_is_anchored_only_once_it_is_on_disk(ledger, charge, opener, monkeypatch):
    from dalenius.ledger.anchor import AnchorFile

    other, seen, real = opener(), [], AnchorFile.append

    def append(self, name, head, *rest, **options):
        seen.append(other.head == head)
        real(self, name, head, *rest, **options)

    monkeypatch.setattr(AnchorFile, "append", append)
    ledger.commit(ledger.reserve(charge("aa")), b"document")
    assert seen == [True, True]


def test_an_anchor_that_cannot_be_written_is_told(ledger, charge, monkeypatch):
    from dalenius.ledger.anchor import AnchorFile

    def full(*_, **__):
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(AnchorFile, "append", full)
        with pytest.raises(InternalError, match="anchor was not"):
            ledger.reserve(charge("aa"))
    # It was written once, nothing is repeated, and the next segment's head covers it.
    assert ledger.reader.account("people").charges == 1
    ledger.reserve(charge("bb"))
    assert ledger.reader.verify().is_ok


# The writer and the custodian.


def test_what_may_have_been_written_is_not_written_again(ledger, charge, monkeypatch):
    """The answer of COMMIT was lost: a reservation finds its own charge again, a grant is not repeated."""
    from dalenius.ledger import writer

    real, calls = writer.Writer._settle, []

    def lost(self, batch):
        real(self, batch)
        calls.append(batch)
        if len(calls) == 1:
            raise ConnectionLost

    with monkeypatch.context() as patch:
        patch.setattr(writer.Writer, "_settle", lost)
        with pytest.raises(InternalError, match="Look at the statement"):
            ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        assert len(calls) == 1
        calls.clear()
        assert ledger.reserve(charge("aa")).lease
        assert len(calls) == 2
    assert ledger.reader.account("people").limit.rho == 2
    assert ledger.reader.account("people").charges == 1
    assert ledger.reader.verify().is_ok


def test_an_answer_names_the_head_it_was_written_under(ledger, charge):
    reservation = ledger.reserve(charge("aa"))
    assert reservation.head == ledger.head.digest
    line = ledger.reader.entries()[-1]
    # The head of a segment is sealed, so that it can be printed; the name of a line says nothing of the state.
    assert (line.digest, line.name) == (reservation.head, reservation.entry)
    assert line.state and not reservation.head.startswith(reservation.entry)


def test_a_published_release_is_only_ever_withdrawn(ledger, charge):
    entry = ledger.commit(ledger.reserve(charge("aa")), b"document").entry
    for status in ("draft", "embargoed"):
        with pytest.raises(Conflict):
            ledger.set_status(entry, status, by="custodian")
    hidden = ledger.commit(ledger.reserve(charge("bb")), b"document", "embargoed").entry
    with pytest.raises(Conflict):
        ledger.set_status(hidden, "draft", by="custodian")


def test_a_secret_is_on_disk_before_it_is_used(tmp_path, monkeypatch):
    from dalenius.ledger import keys

    done, real = [], keys.os.fsync
    monkeypatch.setattr(keys.os, "fsync", lambda fd: (done.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd)))
    keys.KeyFolder(tmp_path / "keys").get_or_make("a")
    assert len(done) == 2
    assert Path(done[0]).parent == tmp_path / "keys"
    assert done[1] == str(tmp_path / "keys")


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_names_that_a_store_cannot_hold_are_refused(ledger, charge, name):
    for write in (
        lambda: ledger.reserve(charge("aa", analyst=name)),
        lambda: ledger.declarations.grant(name, "add-remove", 1, 0, by="custodian"),
        lambda: ledger.declarations.grant("people", "add-remove", 1, 0, by=name),
        lambda: ledger.declarations.register("people", name, "1", "fingerprint", "domain"),
    ):
        with pytest.raises(ParameterError, match="name holds"):
            write()
    assert ledger.reader.account("people").charges == 0
    assert ledger.reader.verify().is_ok


def test_a_pure_sum_that_outgrows_its_column_is_no_longer_stated(ledger, charge):
    balance = Balance(key=BalanceKey("people", "master", "total", ""), spent_epsilon=NO_LIMIT - 5)
    assert balance.after(Units(0, 0, 5)).spent_epsilon == NO_LIMIT
    after = balance.after(Units(0, 0, 6))
    assert (after.spent_epsilon, after.impure) == (NO_LIMIT - 5, 1)
