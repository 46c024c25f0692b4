"""Populations that share some persons: both accounts pay for every release about either, from the first one on."""

from pathlib import Path
from typing import Any

import pytest

from dalenius.core.budget import MASTER
from dalenius.curator.curator import Curator
from dalenius.errors import BudgetExhausted, Conflict, LedgerMismatch, NotRegistered, UnknownName
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
    return str(ledger.account(population).spent.rho)


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
    lines = [line for line in ledger.statement("students").lines if line.kind == "charge"]
    assert [line.what.endswith("(about workers)") for line in lines] == [True, False]
    assert [line.left_rho for line in lines] == ["0.9", "0.8"]
    readings = [ledger.odometer(name).to_dict()["fixed_plan"] for name in ("students", "workers")]
    assert readings[0] == readings[1]
    assert ledger.verify().is_ok


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


@pytest.mark.parametrize("first", ["workers", "students"])
def test_after_a_release_about_either_it_is_too_late(ledger: Ledger, first: str) -> None:
    opened(ledger, "students").register()
    opened(ledger, "workers").register()
    opened(ledger, first).release(REQUEST)
    late = Curator.open(
        DATA,
        document("workers", "students")
        | {"dataset": {**document("workers", "students")["dataset"], "version": "2"}},
        ledger=ledger,
        policy=policy("1"),
    )
    with pytest.raises(Conflict, match="before"):
        late.register()
    with pytest.raises(NotRegistered):
        late.release(REQUEST)
    assert ledger.overlaps("students") == ()


def test_a_charge_that_was_prepared_before_the_declaration_is_refused(ledger: Ledger) -> None:
    """Whatever was read before, the writer's own turn decides."""
    opened(ledger, "students").register()
    workers = opened(ledger, "workers")
    workers.register()
    plan: Any = workers.plan(REQUEST)
    assert plan is not None
    early = ledger.overlaps

    def unaware(population: str) -> tuple[str, ...]:
        assert early(population) == ()
        ledger.overlap("workers", "students", "custodian")
        return ()

    ledger.overlaps = unaware  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="ask again"):
        workers.release(REQUEST)
    ledger.overlaps = early  # type: ignore[method-assign]
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


def test_lines_that_leave_the_other_account_out_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault in the writer is found by verification, which adds the lines up by itself."""
    from dalenius.ledger import state

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        opened(ledger, "students").register()
        workers = opened(ledger, "workers", "students")
        workers.register()
        with monkeypatch.context() as fault:
            fault.setattr(state, "purses_elsewhere", lambda overlaps, page: ())
            workers.release(REQUEST)
        account = ledger.account("students")
        [total] = [p for p in account.purses if p.key.kind == TOTAL and p.key.page == MASTER]
        assert total.charges == 0
        assert not ledger.verify().is_ok
