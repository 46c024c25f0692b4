"""Populations that share some persons: both accounts pay for every release about either, from the first one on."""

import contextlib
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dalenius.core.budget import MASTER
from dalenius.curator.curator import Curator
from dalenius.errors import (
    ApprovalRequired,
    BudgetExhausted,
    Conflict,
    LedgerMismatch,
    NotRegistered,
    QuotaExhausted,
    UnknownName,
)
from dalenius.ledger import Ledger
from dalenius.ledger.account import TOTAL

REQUEST = {"table": {"rows": ["x"]}, "privacy": {"definition": "zero_concentrated", "rho": "1/10"}}
DATA = {"x": ["a", "b"], "person": ["1", "2"]}


def document(population: str, *overlaps: str, **unit: Any) -> dict[str, Any]:
    return {
        "dataset": {"name": f"of {population}", "population": population, "overlaps": list(overlaps)},
        "unit": {"id": "person", **unit},
        "variables": {"x": {"categories": ["a", "b"]}},
    }


def policy(rho: str) -> dict[str, Any]:
    return {"budget": {"rho": rho, "delta": 0}}


def opened(ledger: Ledger, population: str, *overlaps: str, rho: str = "1", **unit: Any) -> Curator:
    return Curator.open(DATA, document(population, *overlaps, **unit), ledger=ledger, policy=policy(rho))


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger.open(tmp_path / "ledger.sqlite") as book:
        yield book


def spent(ledger: Ledger, population: str) -> str:
    return str(ledger.reader.account(population).spent.rho)


def test_both_accounts_pay_whichever_is_asked(ledger: Ledger) -> None:
    """The declaration of one binds both, and the statement of each shows what it paid for."""
    opened(ledger, "students").register()
    workers = opened(ledger, "workers", "students")
    workers.register()
    workers.release(REQUEST)
    assert (spent(ledger, "workers"), spent(ledger, "students")) == ("1/10", "1/10")
    opened(ledger, "students").release(REQUEST)
    assert (spent(ledger, "workers"), spent(ledger, "students")) == ("1/5", "1/5")
    workers.release(REQUEST)
    assert spent(ledger, "students") == "1/5", "what is stored is answered for free"
    lines = [line for line in ledger.reader.statement("students").lines if line.kind == "charge"]
    assert [line.what.endswith("(about workers)") for line in lines] == [True, False]
    assert [line.left_rho for line in lines] == ["0.9", "0.8"]
    readings = [ledger.reader.odometer(name).to_dict()["fixed_plan"] for name in ("students", "workers")]
    assert readings[0] == readings[1]
    assert ledger.reader.verify().is_ok


def test_a_name_that_is_listed_twice_counts_once(ledger: Ledger) -> None:
    """Counted twice, it would stop every later release about either."""
    opened(ledger, "students").register()
    opened(ledger, "workers", "students", "students").register()
    opened(ledger, "students").release(REQUEST)
    assert (spent(ledger, "workers"), spent(ledger, "students")) == ("1/10", "1/10")


def test_the_smaller_budget_refuses_and_nothing_is_charged(ledger: Ledger) -> None:
    opened(ledger, "students", rho="1/20").register()
    workers = opened(ledger, "workers", "students")
    workers.register()
    with pytest.raises(BudgetExhausted, match="students"):
        workers.release(REQUEST)
    assert (spent(ledger, "workers"), spent(ledger, "students")) == ("0", "0")


def late(ledger: Ledger) -> Curator:
    """A second version of the workers' file, whose document says that they share persons with the students."""
    declared = document("workers", "students")
    declared["dataset"]["version"] = "2"
    return Curator.open(DATA, declared, ledger=ledger, policy=policy("1"))


def test_declared_after_releases_each_account_is_charged_the_past_of_the_other(ledger: Ledger) -> None:
    opened(ledger, "students").register()
    opened(ledger, "workers").register()
    opened(ledger, "students").release(REQUEST)
    opened(ledger, "workers").release(REQUEST | {"privacy": REQUEST["privacy"] | {"rho": "1/4"}})
    late(ledger).register()
    assert (spent(ledger, "workers"), spent(ledger, "students")) == ("7/20", "7/20")
    late(ledger).register()
    opened(ledger, "students").register()
    assert spent(ledger, "students") == "7/20", "registering again pays nothing"
    opened(ledger, "students").release(REQUEST | {"table": {}})
    assert (spent(ledger, "workers"), spent(ledger, "students")) == ("9/20", "9/20")
    for name, others in (("students", "0.25"), ("workers", "0.1")):
        [line] = [line for line in ledger.reader.statement(name).lines if "earlier ones too" in line.what]
        assert (line.rho, line.left_rho) == (others, "0.65")
        reading = ledger.reader.odometer(name).to_dict()["fixed_plan"]
        assert reading == ledger.reader.odometer("workers").to_dict()["fixed_plan"], "neither states less than was done"
    assert ledger.reader.verify().is_ok


def test_pure_losses_stay_pure_and_others_do_not(ledger: Ledger) -> None:
    pure = {"table": {}, "privacy": {"definition": "pure", "epsilon": "1/2"}}
    opened(ledger, "students").register()
    opened(ledger, "workers").register()
    opened(ledger, "students").release(pure)
    late(ledger).register()
    assert [ledger.reader.account(name).pure for name in ("students", "workers")] == [Fraction(1, 2)] * 2
    opened(ledger, "students").release(REQUEST)
    assert ledger.reader.account("workers").pure is None


def test_a_past_that_does_not_fit_is_refused_and_leaves_nothing(ledger: Ledger) -> None:
    opened(ledger, "students", rho="1/20").register()
    opened(ledger, "workers").register()
    opened(ledger, "workers").release(REQUEST)
    before = [entry.digest for entry in ledger.reader.entries()]
    with pytest.raises(Conflict, match="'students' cannot pay"):
        late(ledger).register()
    with pytest.raises(NotRegistered):
        late(ledger).release(REQUEST)
    assert [entry.digest for entry in ledger.reader.entries()] == before
    assert ledger.reader.overlaps("students") == ()
    ledger.declarations.grant("students", "add-remove", "1/10", 0, "custodian")
    late(ledger).register()
    assert spent(ledger, "students") == "1/10"


def test_a_past_in_an_account_that_was_never_granted_is_refused(ledger: Ledger) -> None:
    """Data-dependent releases stand on a separate account, in both books."""
    opened(ledger, "students").register()
    limits = policy("1") | {
        "allow": {"acknowledge": ["individual"], "definitions": ["individual"]},
        "floors": {"age": 1},
    }
    rows = document("workers") | {"unit": {"id": "person"}}
    rows["variables"] = {**rows["variables"], "age": {"bounds": [0, 9], "step": 1}}
    data = {**DATA, "age": [3, 4]}
    workers = Curator.open(data, rows, ledger=ledger, policy=limits)
    workers.register()
    workers.release({"table": {"measure": "total", "of": "age"}, "privacy": {"definition": "individual", "epsilon": 1}})
    with pytest.raises(Conflict, match="The data-dependent account"):
        ledger.declarations.overlap("workers", "students", "custodian")


def test_a_forged_past_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dalenius.ledger import administer

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        opened(ledger, "students").register()
        opened(ledger, "workers").register()
        opened(ledger, "workers").release(REQUEST)
        with monkeypatch.context() as fault:
            fault.setattr(administer, "past_of", lambda *_: [])
            ledger.declarations.overlap("workers", "students", "custodian")
        assert any("had spent" in problem for problem in ledger.reader.verify().problems)


@pytest.mark.parametrize("turn", range(4))
def test_two_that_declare_each_other_at_the_same_moment_count_once(tmp_path: Path, turn: int) -> None:
    """In six threads, through three openings of one ledger; both can be asked afterwards."""
    place = tmp_path / "ledger.sqlite"
    with Ledger.open(place) as ledger:
        for name in ("students", "workers"):
            opened(ledger, name).register()
        if turn % 2:
            opened(ledger, "students").release(REQUEST)
        start = threading.Barrier(6)
        own = [Ledger.open(place) for _ in range(2)]

        def declare(book: Ledger, *pair: str) -> None:
            start.wait()
            book.declarations.overlap(*pair, "custodian")

        pairs = [("students", "workers"), ("workers", "students")] * 3
        books = [ledger, ledger, *own, *own]
        threads = [threading.Thread(target=declare, args=(b, *p)) for b, p in zip(books, pairs, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for book in own:
            book.close()
        assert sum(entry.kind == "overlap" for entry in ledger.reader.entries()) == 1
        opened(ledger, "students").release(REQUEST | {"table": {}})
        opened(ledger, "workers").release(REQUEST)
        assert spent(ledger, "students") == spent(ledger, "workers") == ("3/10" if turn % 2 else "1/5")
        assert ledger.reader.verify().is_ok


def test_releases_and_a_declaration_at_the_same_moment_charge_both(tmp_path: Path) -> None:
    """Whichever comes first at the writer's turn: nothing is paid twice, nothing by one alone."""
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        for name in ("students", "workers"):
            opened(ledger, name, rho="50").register()
        start = threading.Barrier(3)

        def ask(name: str) -> None:
            start.wait()
            for k in range(12):
                curator = opened(ledger, name, rho="50")
                privacy = REQUEST["privacy"] | {"rho": f"1/{10 + k}"}
                with contextlib.suppress(Conflict):
                    curator.release(REQUEST | {"privacy": privacy})

        threads = [threading.Thread(target=ask, args=(name,)) for name in ("students", "workers")]
        for thread in threads:
            thread.start()
        start.wait()
        time.sleep(0.05)
        ledger.declarations.overlap("students", "workers", "custodian")
        for thread in threads:
            thread.join()
        charges = [entry for entry in ledger.reader.entries() if entry.kind == "charge"]
        total = sum(Fraction(entry.body["cost"]["rho"]) for entry in charges)
        assert abs(Fraction(spent(ledger, "students")) - total) < Fraction(len(charges), 10**9)
        assert spent(ledger, "students") == spent(ledger, "workers")
        assert ledger.reader.verify().is_ok


def test_a_refused_registration_leaves_nothing(ledger: Ledger) -> None:
    """No account, no unit, no policy: the name is free for another declaration; a secret alone binds nobody."""

    def lines() -> list[str]:
        return [entry.digest for entry in ledger.reader.entries() if entry.kind != "secret"]

    opened(ledger, "students").register()
    before = lines()
    with pytest.raises(UnknownName, match="nobody"):
        opened(ledger, "workers", "nobody", "students").register()
    with pytest.raises(LedgerMismatch):
        opened(ledger, "workers", "students", relation="replace").register()
    assert lines() == before
    assert ledger.reader.overlaps("students") == ()


def test_a_charge_that_was_prepared_before_the_declaration_is_refused(ledger: Ledger) -> None:
    """Whatever was read before, the writer's own turn decides."""
    opened(ledger, "students").register()
    workers = opened(ledger, "workers")
    workers.register()
    plan: Any = workers.plan(REQUEST)
    assert plan is not None
    early = ledger.reader.overlaps

    def unaware(population: str) -> tuple[str, ...]:
        assert early(population) == ()
        ledger.declarations.overlap("workers", "students", "custodian")
        return ()

    ledger.reader.overlaps = unaware  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="Repeat it"):
        workers.release(REQUEST)
    ledger.reader.overlaps = early  # type: ignore[method-assign]
    assert spent(ledger, "workers") == "0"
    workers.release(REQUEST)
    assert spent(ledger, "students") == "1/10"


def test_an_unknown_population_and_other_units_are_refused(ledger: Ledger) -> None:
    with pytest.raises(UnknownName, match="nobody"):
        opened(ledger, "workers", "nobody").register()
    rows = {"dataset": {"name": "r", "population": "rows"}, "variables": {"x": {"categories": ["a", "b"]}}}
    Curator.open(DATA, rows, ledger=ledger, policy=policy("1")).register()
    with pytest.raises(LedgerMismatch, match="protects one"):
        opened(ledger, "patients", "rows").register()
    opened(ledger, "replaced", relation="replace").register()
    with pytest.raises(LedgerMismatch, match="different relations"):
        opened(ledger, "doctors", "replaced").register()


def test_lines_that_leave_the_other_account_out_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the writer is found by verification, which adds the lines up by itself."""
    from dalenius.ledger import state

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        opened(ledger, "students").register()
        workers = opened(ledger, "workers", "students")
        workers.register()
        with monkeypatch.context() as fault:
            fault.setattr(state, "balances_elsewhere", lambda overlaps, account, **_: ())
            workers.release(REQUEST)
        account = ledger.reader.account("students")
        [total] = [p for p in account.balances if p.key.kind == TOTAL and p.key.account == MASTER]
        assert total.charges == 0
        assert not ledger.reader.verify().is_ok


@pytest.fixture
def both(opener: Any) -> Ledger:
    """Workers and students, who share persons, with a budget of 1 each; the file is that of the workers."""
    book: Ledger = opener()
    for name in ("workers", "students"):
        book.declarations.register(name, f"of {name}", "2021", "fingerprint", "domain", by="custodian")
        book.declarations.grant(name, "add-remove", 1, 0, by="custodian")
    book.declarations.overlap("workers", "students", "custodian")
    return book


@pytest.fixture
def about_workers(charge: Any) -> Any:
    def make(key: str, **changes: Any) -> Any:
        known = {"population": "workers", "dataset": "of workers", "overlaps": ("students",)}
        return charge(key, **(known | changes))

    return make


def test_the_other_account_s_rule_of_approval_holds(both: Ledger, about_workers: Any) -> None:
    both.declarations.approval("students", "1/10", by="custodian")
    with pytest.raises(ApprovalRequired, match="students"):
        both.reserve(about_workers("00", analyst="ana"))
    with pytest.raises(ApprovalRequired):
        both.reserve(about_workers("00", analyst="ana", approved_by="ana"))
    both.reserve(about_workers("00", analyst="ana", approved_by="maria"))
    assert spent(both, "students") == "1/8"


def test_the_other_account_s_cap_of_the_same_variable_holds(both: Ledger, about_workers: Any) -> None:
    both.declarations.cap("students", "income", "1/5", 0, by="custodian")
    both.reserve(about_workers("00", variables=("income",)))
    with pytest.raises(BudgetExhausted, match="'income' in the account of 'students'") as refusal:
        both.reserve(about_workers("01", variables=("income",)))
    said = f"{refusal.value.message} {refusal.value.detail}"
    # What is left of the cap (3/40) and of the budget (7/8) is told to nobody who asks about workers.
    assert not any(left in said for left in ("3/40", "0.075", "7/8", "0.875", "left"))
    both.reserve(about_workers("02", variables=("age",)))
    assert spent(both, "students") == "1/4"


def test_a_quota_in_both_accounts_binds_in_both(both: Ledger, about_workers: Any) -> None:
    both.declarations.quota("workers", "ana", 1, 0, by="custodian")
    both.declarations.quota("students", "ana", "1/5", 0, by="custodian")
    both.reserve(about_workers("00", analyst="ana"))
    with pytest.raises(QuotaExhausted, match="in the account of 'students'") as refusal:
        both.reserve(about_workers("01", analyst="ana"))
    assert "7/8" not in str(refusal.value.detail) and "0.875" not in refusal.value.message
    # Another analyst has no quota there, and pays from the budget alone.
    both.reserve(about_workers("02", analyst="ben"))
    both.declarations.quota("students", "ben", "1/8", 0, by="custodian")
    with pytest.raises(QuotaExhausted):
        both.reserve(about_workers("03", analyst="ben"))
    assert both.reader.verify().is_ok


@pytest.mark.parametrize("named", [(), ("nobody",), ("teachers",), ("students", "students"), ("students", "teachers")])
def test_exactly_the_declared_populations_pay(both: Ledger, about_workers: Any, named: tuple[str, ...]) -> None:
    both.declarations.register("teachers", "of teachers", "2021", "fingerprint", "domain", by="custodian")
    both.declarations.grant("teachers", "add-remove", 1, 0, by="custodian")
    with pytest.raises(Conflict, match="Repeat it"):
        both.reserve(about_workers("00", overlaps=named))
    assert [spent(both, name) for name in ("workers", "students", "teachers")] == ["0", "0", "0"]


def test_lines_paid_by_another_population_are_found(
    both: Ledger, about_workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault in the writer is found by verification, which knows from the lines who shares persons."""
    from dalenius.ledger import reserve

    both.declarations.register("teachers", "of teachers", "2021", "fingerprint", "domain", by="custodian")
    both.declarations.grant("teachers", "add-remove", 1, 0, by="custodian")
    with monkeypatch.context() as fault:
        fault.setattr(reserve, "names_overlaps", lambda *_: True)
        both.reserve(about_workers("00", overlaps=("teachers",)))
    assert spent(both, "students") == "0"
    [problem] = both.reader.verify().problems
    assert "does not charge exactly the populations" in problem


def test_an_official_table_of_one_population_is_none_of_the_other(both: Ledger, about_workers: Any) -> None:
    both.declarations.quota("students", "ana", "1/10", 0, by="custodian")
    with pytest.raises(QuotaExhausted, match="students"):
        both.reserve(about_workers("00", analyst="ana", is_official=True))


def test_a_refusal_of_the_other_account_does_not_say_what_it_has_left(both: Ledger, about_workers: Any) -> None:
    both.reserve(about_workers("00", rho="7/8"))
    both.declarations.grant("workers", "add-remove", 1, 0, by="custodian")
    with pytest.raises(BudgetExhausted, match="students") as refusal:
        both.reserve(about_workers("01", rho="1/4"))
    assert "0.125" not in f"{refusal.value.message} {refusal.value.detail}"
    assert "1/8" not in f"{refusal.value.message} {refusal.value.detail}"


def test_a_variable_that_only_the_other_population_caps_is_capped(ledger: Ledger) -> None:
    """The workers' declaration does not call x sensitive; the students' does."""
    declared = document("students")
    declared["variables"]["x"]["sensitive"] = True
    rules = policy("1") | {"sensitive": {"x": {"rho": "3/20"}}}
    Curator.open(DATA, declared, ledger=ledger, policy=rules).register()
    workers = opened(ledger, "workers", "students")
    workers.register()
    workers.release(REQUEST)
    with pytest.raises(BudgetExhausted, match="variable 'x' in the account of 'students'"):
        workers.release(REQUEST | {"privacy": REQUEST["privacy"] | {"rho": "1/11"}})
    workers.release({"table": {}, "privacy": REQUEST["privacy"]})
    assert spent(ledger, "students") == "1/5"


@pytest.mark.parametrize("owner", ["students", "workers"])
def test_a_quote_applies_default_quotas_that_no_line_holds_yet(ledger: Ledger, owner: str) -> None:
    """Of the other account or of its own: a quote refuses what the release would refuse, and writes nothing."""
    limits = policy("1") | {"default_quota": {"rho": "1/20"}}
    rules = {"students": policy("1"), "workers": policy("1"), owner: limits}
    for name, overlaps in (("students", ()), ("workers", ("students",))):
        curator = Curator.open(DATA, document(name, *overlaps), ledger=ledger, policy=rules[name])
        curator.register()
    small = REQUEST | {"privacy": REQUEST["privacy"] | {"rho": "1/25"}}
    before = [entry.digest for entry in ledger.reader.entries()]
    for who, match in (("ana", "'ana'"), ("", "Name the analyst")):
        with pytest.raises(QuotaExhausted, match=match):
            curator.quote(REQUEST, analyst=who)
    assert curator.quote(small, analyst="ana").rho == Fraction(1, 25)
    assert curator.quote(REQUEST, is_official=True).rho == Fraction(1, 10)
    assert [entry.digest for entry in ledger.reader.entries()] == before
    for who, match in (("ana", "'ana'"), ("", "Name the analyst")):
        with pytest.raises(QuotaExhausted, match=match):
            curator.release(REQUEST, analyst=who)
    curator.release(small, analyst="ana")
    assert curator.quote(small).rho == 0, "what is stored is answered for free, whoever asks"


def test_the_other_account_s_default_quota_holds(ledger: Ledger) -> None:
    """A quota for everybody who is not named is a quota of each of them, also for what is asked about others."""
    limits = policy("1") | {"default_quota": {"rho": "3/20"}}
    students = Curator.open(DATA, document("students"), ledger=ledger, policy=limits)
    students.register()
    workers = opened(ledger, "workers", "students")
    workers.register()
    second = REQUEST | {"privacy": {"definition": "zero_concentrated", "rho": "9/100"}}
    workers.release(REQUEST, analyst="ana")
    with pytest.raises(QuotaExhausted, match="'ana' in the account of 'students'"):
        workers.release(second, analyst="ana")
    with pytest.raises(QuotaExhausted, match="'ana'"):
        students.release(second, analyst="ana")
    with pytest.raises(QuotaExhausted, match="Name the analyst"):
        workers.release(second)
    # Whoever asks for official tables of the workers is named there or nobody; the account alone limits nobody.
    workers.release(second, is_official=True)
    assert spent(ledger, "students") == "19/100"
    ledger.declarations.quota("students", "ben", "1/100", 0, by="custodian")
    with pytest.raises(QuotaExhausted, match="'ben' in the account of 'students'"):
        workers.release(second | {"table": {"rows": []}}, analyst="ben")
