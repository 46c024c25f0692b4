"""A release through the ledger, step by step, on both stores."""

import shutil
import stat
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from dalenius.core.neighbours import Scope
from dalenius.errors import (
    ApprovalRequired,
    BudgetExhausted,
    Conflict,
    DataChanged,
    LedgerMismatch,
    NotAllowed,
    NotPublic,
    NotRegistered,
    ParameterError,
    QuotaExhausted,
    UnknownName,
)
from dalenius.ledger import Ledger
from dalenius.ledger.keys import KeyFolder


def test_a_release_is_charged_stored_and_read_back(ledger, charge):
    reservation = ledger.reserve(charge("aa"))
    assert reservation.stored is None
    assert ledger.reader.account("people").spent.rho == Fraction(1, 8)
    release = ledger.commit(reservation, b"document")
    assert (release.document, release.status, release.key) == (b"document", "published", "aa")
    assert ledger.reader.find("aa") == release == ledger.reader.release(reservation.entry)
    account = ledger.reader.account("people")
    assert account.left.rho == Fraction(7, 8)
    assert account.pure == Fraction(1, 2)
    assert account.charges == 1
    assert ledger.reader.verify().is_ok


def test_the_same_request_is_free_for_ever(ledger, charge, opener):
    first = ledger.commit(ledger.reserve(charge("aa")), b"document")
    for other in (ledger, opener()):
        again = other.reserve(charge("aa", analyst="somebody else"))
        assert again.stored is not None
        assert again.stored.document == first.document
        assert other.commit(again, b"fresh noise").document == b"document"
    assert ledger.reader.account("people").spent.rho == Fraction(1, 8)


def test_equal_answers_by_other_descriptions_are_charged(ledger, charge):
    ledger.commit(ledger.reserve(charge("aa")), b"document")
    ledger.commit(ledger.reserve(charge("bb")), b"document")
    assert ledger.reader.account("people").spent.rho == Fraction(1, 4)


def test_a_key_used_for_something_else_is_a_conflict(ledger, charge):
    ledger.commit(ledger.reserve(charge("aa")), b"document")
    with pytest.raises(Conflict):
        ledger.reserve(charge("aa", definition="zero_concentrated"))


def test_the_last_unit_can_be_spent_and_not_one_more(ledger, charge):
    ledger.reserve(charge("aa", rho="999999999999/1000000000000"))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge("bb", rho="2/1000000000000"))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge("cc", rho="1000000000001/1000000000000000000000000"))
    ledger.reserve(charge("dd", rho="1/1000000000000"))
    assert ledger.reader.account("people").left.rho == 0
    assert ledger.reader.verify().is_ok


def test_amounts_below_a_unit_are_rounded_up(ledger, charge):
    ledger.reserve(charge("aa", rho="1/3", delta="1/10000000000000"))
    account = ledger.reader.account("people")
    assert account.spent.rho == Fraction(333333333334, 10**12)
    assert account.spent.delta == Fraction(1, 10**12)
    assert account.pure is None


def test_delta_is_a_limit_of_its_own(ledger, charge):
    ledger.reserve(charge("aa", rho="1/1000", delta="1/1000000"))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge("bb", rho="1/1000", delta="1/1000000000"))


def test_a_refusal_leaves_no_trace_and_shows_no_remainder(ledger, charge):
    before = ledger.head
    with pytest.raises(BudgetExhausted) as refusal:
        ledger.reserve(charge("aa", rho=2))
    assert ledger.head == before
    assert "left" not in str(refusal.value.to_dict())


def test_quote_says_the_cost_and_spends_nothing(ledger, charge):
    before = ledger.head
    assert ledger.quote(charge("aa")).rho == Fraction(1, 8)
    with pytest.raises(BudgetExhausted):
        ledger.quote(charge("bb", rho=2))
    assert ledger.head == before
    ledger.commit(ledger.reserve(charge("aa")), b"document")
    assert ledger.quote(charge("aa")).rho == 0


def test_a_crash_wastes_the_charge_and_refunds_nothing(ledger, charge, opener, clock):
    ledger.reserve(charge("aa"))
    other = opener()
    assert other.reader.account("people").spent.rho == Fraction(1, 8)
    assert other.reader.find("aa") is None
    with pytest.raises(Conflict):
        other.reserve(charge("aa"))


def test_an_expired_lease_is_taken_over_without_a_new_charge(ledger, charge, opener, clock):
    slow = ledger.reserve(charge("aa"))
    clock.now += 61
    other = opener()
    fresh = other.reserve(charge("aa"))
    assert fresh.entry == slow.entry
    assert fresh.lease != slow.lease
    assert other.reader.account("people").spent.rho == Fraction(1, 8)
    # Slow is not dead: the first holder comes back before the second has finished.
    with pytest.raises(Conflict):
        ledger.commit(slow, b"first noise")
    other.commit(fresh, b"second noise")
    # And once more after it: it is answered what is stored, not what it drew.
    assert ledger.commit(slow, b"first noise").document == b"second noise"
    assert ledger.reader.verify().is_ok


def test_a_lease_that_ran_out_still_completes_if_nobody_took_it(ledger, charge, clock):
    slow = ledger.reserve(charge("aa"))
    clock.now += 1000
    assert ledger.commit(slow, b"document").document == b"document"


def test_after_a_failure_the_lease_can_be_let_go(ledger, charge):
    failed = ledger.reserve(charge("aa"))
    assert ledger.abandon(failed)
    assert not ledger.abandon(failed)
    again = ledger.reserve(charge("aa"))
    assert again.entry == failed.entry
    with pytest.raises(Conflict):
        ledger.commit(failed, b"too late")
    assert not ledger.abandon(failed)
    assert ledger.commit(again, b"document").document == b"document"
    assert ledger.reader.account("people").spent.rho == Fraction(1, 8)
    assert ledger.reader.verify().is_ok


def test_completion_only_on_the_same_plan(ledger, charge, clock):
    ledger.reserve(charge("aa"))
    clock.now += 61
    with pytest.raises(Conflict):
        ledger.reserve(charge("aa", plan_digest="another plan"))


def test_completion_only_on_the_same_data(ledger, charge, clock):
    ledger.reserve(charge("aa"))
    clock.now += 61
    with pytest.raises(Conflict):
        ledger.reserve(charge("aa", fingerprint="another file"))


def test_a_waiting_request_gets_the_release_of_the_other(ledger, charge, opener):
    reservation = ledger.reserve(charge("aa"))
    other = opener(wait_seconds=20.0)
    got = []
    thread = threading.Thread(target=lambda: got.append(other.reserve(charge("aa"))))
    thread.start()
    ledger.commit(reservation, b"document")
    thread.join()
    assert got[0].stored.document == b"document"


def test_a_foreign_reservation_is_refused(ledger, charge, tmp_path):
    elsewhere = Ledger.open(tmp_path / "other.db")
    elsewhere.declarations.register("people", "census", "2021", "fingerprint", "domain")
    elsewhere.declarations.grant("people", "add-remove", 1, 0, by="custodian")
    with pytest.raises(LedgerMismatch):
        ledger.commit(elsewhere.reserve(charge("aa")), b"document")
    elsewhere.close()


# Registration.


def test_registration_ties_a_file_to_its_version(ledger):
    again = ledger.declarations.register("people", "census", "2021", "fingerprint", "domain", by="custodian")
    assert again == ledger.reader.registration("census", "2021")
    assert ledger.reader.registration("census", "2022") is None
    with pytest.raises(DataChanged):
        ledger.declarations.register("people", "census", "2021", "another", "domain")
    with pytest.raises(Conflict):
        ledger.declarations.register("people", "census", "2021", "fingerprint", "another")


def test_a_new_version_brings_no_budget(ledger, charge):
    ledger.reserve(charge("aa", rho=1))
    ledger.declarations.register("people", "census", "2022", "newer", "domain")
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge("bb", version="2022", fingerprint="newer"))
    with pytest.raises(LedgerMismatch):
        ledger.declarations.register("new people", "census", "2023", "newest", "domain")


def test_only_registered_and_unchanged_files_are_charged(ledger, charge):
    with pytest.raises(NotRegistered):
        ledger.reserve(charge("aa", version="1999"))
    with pytest.raises(DataChanged):
        ledger.reserve(charge("aa", fingerprint="another file"))
    with pytest.raises(LedgerMismatch):
        ledger.reserve(charge("aa", population="others"))


def test_relations_are_never_mixed(ledger, charge):
    with pytest.raises(LedgerMismatch):
        ledger.reserve(charge("aa", relation="replace"))
    with pytest.raises(LedgerMismatch):
        ledger.declarations.grant("people", "replace", 1, 0, by="custodian")


def test_without_a_grant_nothing_is_paid(opener, charge):
    ledger = opener()
    ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge("aa"))
    with pytest.raises(UnknownName):
        ledger.reader.account("people")


# Limits inside the account.


def test_a_quota_binds_inside_the_cap_and_counts_the_past(ledger, charge):
    ledger.reserve(charge("aa", analyst="ann"))
    ledger.declarations.quota("people", "ann", "1/4", "1e-6", by="custodian")
    ledger.reserve(charge("bb", analyst="ann"))
    with pytest.raises(QuotaExhausted) as refusal:
        ledger.reserve(charge("cc", analyst="ann"))
    assert refusal.value.detail["quota"]["left"]["rho"] == "0"
    ledger.reserve(charge("cc", analyst="bob"))
    assert ledger.reader.verify().is_ok


def test_a_refused_analyst_reads_what_is_left_of_the_quota_and_that_it_lacks_delta(ledger, charge):
    ledger.declarations.quota("people", "ann", "1/4", 0, by="custodian")
    with pytest.raises(QuotaExhausted, match=r"Left: rho 0\.25, delta 0; needed: rho 0\.5, delta 0\.") as refusal:
        ledger.reserve(charge("aa", rho="1/2", analyst="ann"))
    assert "without delta" not in str(refusal.value)
    with pytest.raises(QuotaExhausted, match="set without delta, which this definition needs"):
        ledger.reserve(charge("aa", rho="1/8", delta="1e-7", analyst="ann"))


def test_a_quota_below_what_was_spent_closes(ledger, charge):
    ledger.reserve(charge("aa", analyst="ann"))
    ledger.declarations.quota("people", "ann", "1/100", 0, by="custodian")
    with pytest.raises(QuotaExhausted):
        ledger.reserve(charge("bb", rho="1/1000000", analyst="ann"))
    assert ledger.reader.verify().is_ok


def test_a_share_is_kept_for_official_tables(ledger, charge):
    ledger.reserve(charge("aa", rho="1/8"))
    ledger.declarations.share("people", "3/4", 0, by="custodian")
    ledger.reserve(charge("bb", rho="1/8"))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge("cc", rho="1/8"))
    ledger.reserve(charge("dd", rho="3/4", is_official=True))
    assert ledger.reader.account("people").left.rho == 0
    assert ledger.reader.verify().is_ok


def test_a_sensitive_variable_has_a_cap(ledger, charge):
    ledger.declarations.cap("people", "illness", "1/8", 0, by="custodian")
    ledger.reserve(charge("aa", variables=("age", "illness")))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge("bb", rho="1/1000", variables=("illness",)))
    ledger.reserve(charge("cc", variables=("age",)))


def test_large_charges_need_a_second_person(ledger, charge):
    ledger.declarations.approval("people", "1/10", by="custodian")
    with pytest.raises(ApprovalRequired):
        ledger.reserve(charge("aa", analyst="ann"))
    with pytest.raises(ApprovalRequired):
        ledger.reserve(charge("aa", analyst="ann", approved_by="ann"))
    ledger.reserve(charge("aa", analyst="ann", approved_by="bob"))
    ledger.reserve(charge("bb", rho="1/10", analyst="ann"))
    assert ledger.reader.verify().is_ok


def test_a_schedule_spreads_the_budget_over_waves(ledger, charge):
    with pytest.raises(ParameterError):
        ledger.declarations.schedule("people", [("2021", "3/4", 0), ("2022", "3/4", 0)], by="custodian")
    ledger.declarations.schedule("people", [("2021", "1/8", 0), ("2022", "1/2", 0)], by="custodian")
    ledger.declarations.register("people", "census", "2022", "newer", "domain")
    ledger.declarations.register("people", "census", "2023", "newest", "domain")
    ledger.reserve(charge("aa"))
    with pytest.raises(
        BudgetExhausted,
        match=r"version '2021', rho 0.125, delta 0 in all, does not cover this request. Needed: rho 0.001",
    ):
        ledger.reserve(charge("bb", rho="1/1000"))
    ledger.reserve(charge("cc", rho="1/2", version="2022", fingerprint="newer"))
    with pytest.raises(BudgetExhausted, match="schedule"):
        ledger.reserve(charge("dd", rho="1/1000", version="2023", fingerprint="newest"))
    assert ledger.reader.verify().is_ok


def test_data_dependent_releases_have_their_own_account(ledger, charge):
    data_dependent = {"account": "data-dependent", "scope": Scope.ACTUAL_DATA, "definition": "at-the-data"}
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge("aa", **data_dependent))
    ledger.declarations.grant("people", "add-remove", 2, 0, by="custodian", account="data-dependent")
    ledger.reserve(charge("aa", rho="3/2", **data_dependent))
    account = ledger.reader.account("people")
    assert account.spent.rho == 0
    assert account.limit.rho == 1
    assert account.other_charges["data-dependent"] == 1
    assert "does not cover" in account.warnings[0]
    # A DP release may be charged there, never the reverse.
    ledger.reserve(charge("bb", account="data-dependent"))
    with pytest.raises(NotAllowed):
        charge("cc", scope=Scope.OBSERVED_ROWS)
    assert ledger.reader.verify().is_ok


# Status, taint, secrets, notes.


@pytest.mark.parametrize("status", ["draft", "embargoed"])
def test_what_is_not_public_is_not_served_to_others(ledger, charge, status):
    entry = ledger.commit(ledger.reserve(charge("aa", analyst="ann")), b"document", status).entry
    assert ledger.reader.find("aa") is None
    assert ledger.reserve(charge("aa", analyst="ann")).stored.document == b"document"
    with pytest.raises(NotPublic):
        ledger.reserve(charge("aa", analyst="bob"))
    ledger.set_status(entry, "published", by="custodian")
    assert ledger.reserve(charge("aa", analyst="bob")).stored.document == b"document"
    ledger.set_status(entry, "withdrawn", by="custodian")
    for analyst in ("ann", "bob"):
        with pytest.raises(NotPublic):
            ledger.reserve(charge("aa", analyst=analyst))
    assert ledger.reader.account("people").spent.rho == Fraction(1, 8)
    with pytest.raises(Conflict):
        ledger.set_status(entry, "published", by="custodian")
    assert [r.status for r in ledger.reader.releases("people")] == ["withdrawn"]
    assert ledger.reader.releases(status="published") == []
    assert ledger.reader.verify().is_ok


def test_recorded_randomness_only_for_public_data(ledger, charge):
    with pytest.raises(NotAllowed):
        charge("aa", is_tainted=True)
    ledger.commit(ledger.reserve(charge("aa", is_tainted=True, is_public_data=True)), b"document")
    reservation = ledger.reserve(charge("bb"))
    with pytest.raises(NotAllowed):
        ledger.commit(reservation, b"document", is_tainted=True)


def test_secrets_are_private_files_made_once(ledger, opener, tmp_path):
    secret = ledger.secret("people")
    assert len(secret) == 32
    assert opener().secret("people") == secret
    assert ledger.secret("others") != secret
    for path in Path(tmp_path / "keys").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret.hex() not in ledger.reader.export("jsonl")


def test_a_lost_or_foreign_secret_is_noticed(ledger, opener, tmp_path):
    ledger.secret("people")
    with pytest.raises(LedgerMismatch, match="folder of keys"):
        opener(keys=tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()
    name, signer = "population/people", KeyFolder(tmp_path / "keys").path("anchor")
    lost = KeyFolder(tmp_path / "lost")
    lost.folder.mkdir()
    shutil.copy(signer, lost.folder)
    with pytest.raises(LedgerMismatch, match="missing"):
        opener(keys=lost.folder).secret("people")
    lost.get_or_make(name)
    with pytest.raises(LedgerMismatch, match="does not belong"):
        opener(keys=lost.folder).secret("people")


def test_notes_are_lines(ledger):
    ledger.declarations.note("inspection", {"what": "losses"}, by="custodian", population="people")
    assert ledger.reader.entries("people")[-1].body == {"kind": "inspection", "payload": {"what": "losses"}}


def test_an_ordinary_database_is_not_a_ledger(tmp_path):
    (tmp_path / "text").write_text("not a database, and long enough to be looked at " * 100)
    with pytest.raises(LedgerMismatch):
        Ledger.open(tmp_path / "text")


def test_lines_and_documents_cannot_be_edited_by_mistake(ledger, charge):
    ledger.commit(ledger.reserve(charge("aa")), b"document")
    for sql in (
        "UPDATE entries SET kind = 'note'",
        "DELETE FROM entries",
        "UPDATE releases SET digest = entry",
        "DELETE FROM releases",
    ):
        with pytest.raises(Exception, match="never"), ledger._store.transaction():
            ledger._store.run([(sql, [()])])
    with pytest.raises(Exception), ledger._store.transaction():  # noqa: B017 - each store has its own
        ledger._store.run([("UPDATE balances SET spent_rho = limit_rho + 1", [()])])
    assert ledger.reader.verify().is_ok
