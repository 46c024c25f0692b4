"""Problems that were found by attack, each with the test that showed it."""

import contextlib
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.redteam.conftest import VARIABLES, Open, ask

from dalenius import Curator
from dalenius.core.query import ValuesQuery
from dalenius.core.rationals import rational
from dalenius.errors import AfterCharge, DaleniusError, DataChanged, NotAllowed
from dalenius.ledger import Ledger
from dalenius.ledger.administer import Grant
from dalenius.ledger.draft import Submission


@pytest.mark.parametrize("key", ["epsilon", "waves"])
def test_a_key_that_nothing_enforces_is_refused(open_curator: Open, key: str) -> None:
    """A cap that nobody reads would be a false guarantee."""
    with pytest.raises(DaleniusError):
        open_curator(policy={"budget": {"rho": 1, key: 1}})


def test_the_policy_spreads_the_budget_over_waves(open_curator: Open) -> None:
    """A schedule binds each version to its share."""
    waves = [{"version": "1", "rho": "0.1"}, {"version": "2", "rho": "0.9"}]
    curator = open_curator(policy={"budget": {"rho": 1}, "waves": waves})
    with pytest.raises(DaleniusError):
        curator.release({"table": {"rows": ["a"]}, "privacy": {"definition": "zero_concentrated", "rho": "0.9"}})


@pytest.mark.parametrize(
    "request_",
    [
        ask(),
        ask(mechanism="discrete_laplace", strategy="interior"),
        ask(mechanism="discrete_laplace", table={"margins": "all", "universe": "complete"}),
    ],
    ids=["unnamed", "strategy", "margins"],
)
def test_the_policy_bounds_every_choice_of_a_mechanism(open_curator: Open, request_: dict[str, Any]) -> None:
    """[allow] mechanisms binds only a mechanism that is named for a plain table; other roads pass it by."""
    curator = open_curator(policy={"allow": {"mechanisms": ["discrete_gaussian"]}})
    with pytest.raises(DaleniusError):
        curator.plan(request_)


@pytest.mark.parametrize("analyst", ["", "a"])
def test_the_default_quota_binds_everybody(open_curator: Open, analyst: str) -> None:
    """An analyst without a name, or named like a capped variable, escapes the default quota."""
    policy = {"default_quota": {"rho": "0.001"}, "sensitive": {"a": {"rho": 1}}}
    curator = open_curator(policy=policy)
    with pytest.raises(DaleniusError):
        curator.release(ask(), analyst=analyst)


def test_a_policy_for_another_population_is_refused(open_curator: Open) -> None:
    """`population` of a policy names whom it is meant for; it is not looked at."""
    with pytest.raises(DaleniusError):
        open_curator(policy={"population": "other"})


def test_the_policy_decides_the_first_status(open_curator: Open) -> None:
    """release = "embargoed" holds on the server only; library and command line publish at once."""
    assert open_curator(policy={"release": "embargoed"}).release(ask()).status == "embargoed"


def test_another_table_of_the_same_file_is_not_the_registered_data(open_curator: Open, tmp_path: Path) -> None:
    """`table` (and `delimiter`) are left out of the registered digest: other rows leave under the registration."""
    import duckdb

    path = tmp_path / "two.duckdb"
    with duckdb.connect(str(path)) as connection:
        for name, value in (("one", "x"), ("two", "y")):
            connection.execute(f"CREATE TABLE {name} AS SELECT '{value}' AS a, 1 AS n FROM range(1000)")
    open_curator(dataset={"source": str(path), "table": "one"}).close()
    other = open_curator(dataset={"source": str(path), "table": "two"}, is_registered=False)
    with pytest.raises(DataChanged):
        other.release(ask())


def test_rows_of_a_frame_that_change_in_place_are_never_counted(open_curator: Open) -> None:
    """Arrow shares the memory of a frame: rows that change after they were digested would be released."""
    pandas = pytest.importorskip("pandas")
    numbers = np.ones(100, dtype=np.int64)
    frame = pandas.DataFrame({"n": numbers}, copy=False)
    frame["a"] = "x"
    curator = open_curator(data=frame)
    total = {"measure": "total", "of": "n", "rows": []}
    curator.release(ask("1", table=total))
    numbers[:] = 9
    curator.release(ask("1.1", table=total))
    assert set(curator.source.values(ValuesQuery(value="n")).open_below_the_gate().tolist()) == {1}
    with pytest.raises(DataChanged):
        open_curator(data=frame, is_registered=False).release(ask("1.2", table=total))


def test_a_file_that_changes_before_it_is_measured_is_not_released(open_curator: Open, tmp_path: Path) -> None:
    """The file is stamped again after the charge, but compared with itself and not with what was hashed."""
    path = tmp_path / "f.csv"
    path.write_text("a,n\n" + "x,1\n" * 1000)
    curator = open_curator(dataset={"source": str(path)})

    def swap(stage: str) -> None:
        if stage == "charging the ledger":
            path.write_text("a,n\n" + "y,1\n" * 5000)

    with pytest.raises(DaleniusError):
        curator.release(ask(), stage=swap)


def test_one_row_of_a_csv_file_does_not_hide_the_others(open_curator: Open, tmp_path: Path) -> None:
    """A quotation mark that one row opens and never closes swallows every row after it, silently."""
    path = tmp_path / "f.csv"
    path.write_text("a,n,remark\n" + "x,1,r\n" * 50 + 'x,1,"r\n' + "y,1,r\n" * 50)
    try:
        curator = open_curator(dataset={"source": str(path)})
    except DaleniusError:
        return
    exact = curator.source.table(curator.plan(ask()).measurements[0].needs[0]).open_below_the_gate()  # type: ignore[arg-type]
    assert exact.tolist()[1] >= 49


def test_the_error_after_a_charge_keeps_nothing_of_its_cause(open_curator: Open) -> None:
    """`from None` hides the cause from print-outs; the exception, with frames and values, still hangs on it."""
    curator = open_curator()
    source = curator.source

    class Failing:
        def table(self, query: Any) -> Any:
            raise ValueError("a value of the data")

        def __getattr__(self, name: str) -> Any:
            return getattr(source, name)

    curator.holding._source = Failing()
    with pytest.raises(AfterCharge) as caught:
        curator.release(ask())
    assert caught.value.__context__ is None


def test_an_answer_that_was_not_stored_does_not_leave_with_a_traceback(open_curator: Open) -> None:
    """If storing fails, the frame holds an answer; the next attempt draws fresh noise for the same charge."""
    curator = open_curator(lease_seconds=0.0)

    def fail(stage: str) -> None:
        if stage == "storing":
            raise OSError("disk full")

    with pytest.raises(Exception) as caught:
        curator.release(ask(), stage=fail)
    frames, trace = [], caught.value.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    assert not any(hasattr(value, "tables") for frame in frames for value in frame.f_locals.values())


@pytest.mark.parametrize("line", ["x,1\r\n", "x,1\r"], ids=["crlf", "cr"])
def test_an_unreadable_file_is_refused_with_a_message_of_ours(tmp_path: Path, open_curator: Open, line: str) -> None:
    """Registration lets the reader's own exception through, with pages of text that may quote rows."""
    path = tmp_path / "f.csv"
    path.write_bytes(b"a,n\n" + b"x,1\n" * 10 + line.encode() + b"y,1\n")
    with contextlib.suppress(DaleniusError):
        open_curator(dataset={"source": str(path)})


def test_a_date_beyond_the_calendar_is_a_value_like_any_other(tmp_path: Path, open_curator: Open) -> None:
    """An infinite date in a declared column makes registration raise OverflowError, with the value."""
    import duckdb

    path = tmp_path / "dates.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'infinity'::DATE AS a, 1 AS n")
    with contextlib.suppress(DaleniusError):
        open_curator(dataset={"source": str(path)})


def test_the_sentence_of_approximate_privacy_is_true(open_curator: Open) -> None:
    """The release says: except with probability delta the odds change by at most exp(epsilon). That is another
    definition (probabilistic): for noise calibrated to (epsilon, delta), the loss exceeds epsilon more often."""
    curator = open_curator()
    epsilon, delta = Fraction(1), Fraction(1, 10**5)
    request = ask("1", definition="approximate", delta="1e-5", mechanism="discrete_gaussian")
    plan = curator.plan(request)
    noise: Any = plan.measurements[0].law.noise  # type: ignore[attr-defined]
    spread = rational(noise.parameters["sigma_squared"], "sigma_squared")
    # Loss of a shift by one at output x is (1 - 2 x) / (2 sigma^2) for the discrete Gaussian.
    tail, total = 0.0, 0.0
    for x in range(-400, 401):
        weight = exp(-(x**2) / float(2 * spread))
        total += weight
        tail += weight if (1 - 2 * x) / (2 * spread) > epsilon else 0.0
    sentence = curator.planner.definition(plan.budget).sentence(plan.budget)
    assert not sentence.startswith("Except with probability") or tail / total <= delta


def test_amounts_that_a_definition_does_not_use_are_refused(open_curator: Open) -> None:
    """delta beside `pure` is ignored, and makes another memo key: the same table is charged twice."""
    curator = open_curator()
    with pytest.raises(DaleniusError):
        curator.plan(ask("1", delta="1e-6"))


def test_unknown_options_are_refused(open_curator: Open) -> None:
    """An option that nobody reads is accepted, and makes another memo key: the same table is charged twice."""
    with pytest.raises(DaleniusError):
        open_curator().plan(ask("1", foo=1))


def test_one_account_has_one_unit(open_curator: Open) -> None:
    """Rows and persons of one population are charged to one account: its guarantee then holds for neither."""
    first = open_curator()
    document = {
        "dataset": {"name": "other", "population": "p"},
        "unit": {"id": "a", "max_rows": 4},
        "variables": VARIABLES,
    }
    second = Curator.open(document, ledger=first.ledger, data={"a": ["x", "x", "y"], "n": [1, 2, 3]})
    with pytest.raises((NotAllowed, DaleniusError)):
        second.register()
        first.release(ask())
        second.release(ask("1.1"))


def test_a_grant_is_not_repeated_when_the_anchor_fails(tmp_path: Path) -> None:
    """Two grants in one batch; the anchor file fails after they are on disk; each is then written once more."""
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    body = {
        "account": "master",
        "budget": {"rho": "1", "delta": "0"},
        "units": {"rho": 10**12, "delta": 0},
        "relation": "add-remove",
        "note": "",
    }
    jobs = tuple(Submission(Grant(population="p", body=body, by="custodian")) for _ in range(2))
    settled, failures = ledger._writer._settled, []

    def fail_once(draft: Any) -> None:
        if not failures:
            failures.append(draft)
            raise OSError("disk full")
        settled(draft)

    ledger._writer._settled = fail_once
    ledger._writer._write(jobs)
    assert ledger.reader.account("p").limit.rho == 2
