"""The ledger's verbs as a custodian uses them."""

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli.ledger import app
from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation
from dalenius.errors import LedgerMismatch, ParameterError, UnknownName
from dalenius.ledger import Charge, Ledger

RUNNER = CliRunner()


def invoke(*arguments: object, code: int = 0) -> str:
    done = RUNNER.invoke(app, [str(a) for a in arguments], catch_exceptions=False, env={"COLUMNS": "160"})
    assert done.exit_code == code, done.output
    return done.stdout


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger after a grant and two requests."""
    place = tmp_path / "ledger.sqlite"
    invoke("grant", "--ledger", place, "--population", "people", "--rho", "1/2", "--delta", "1e-6", "--note", "2025")
    invoke("quota", "--ledger", place, "--analyst", "ann", "--rho", "1/4")
    with Ledger.open(place) as ledger:
        ledger.declarations.register("people", "census", "1", "fingerprint", "domain", by="custodian")
        for key, analyst, rho in (("aa", "ann", "1/8"), ("bb", "bob", "1/16")):
            cost = Cost.from_dict({"relation": "add-remove", "rho": rho, "delta": "0", "epsilon": "0.5"})
            charge = Charge(
                population="people",
                relation=Relation.ADD_REMOVE,
                dataset="census",
                version="1",
                key=key,
                request={"measure": "count", "axes": [{"variable": "age"}, {"variable": "sex"}]},
                definition="pure",
                budget={},
                cost=cost,
                analyst=analyst,
                fingerprint="fingerprint",
            )
            ledger.commit(ledger.reserve(charge), b"{}")
    return place


def test_show_prints_a_statement(path: Path) -> None:
    text = invoke("show", "--ledger", path)
    for word in (
        "Statement of people",
        "count by age x sex",
        "ann",
        "bob",
        "published",
        "Likelihood ratio",
        "Best test",
    ):
        assert word in " ".join(text.split())


def test_show_json_holds_exact_amounts_and_running_balances(path: Path) -> None:
    document = json.loads(invoke("show", "--ledger", path, "--json"))
    charges = [line for line in document["lines"] if line["kind"] == "charge"]
    assert [line["left_rho"] for line in charges] == ["0.375", "0.3125"]
    for name in ("fixed_plan", "running"):
        figure = document["odometer"][name]
        assert (figure["epsilon"], figure["delta"], figure["basis"]) == ("1", "0", "pure")


def test_an_analyst_sees_own_quota_and_nobody_elses_lines(path: Path) -> None:
    document = json.loads(invoke("show", "--ledger", path, "--analyst", "ann", "--json"))
    assert [line["by"] for line in document["lines"]] == ["ann"]
    assert [balance["name"] for balance in document["balances"]] == ["ann"]
    assert document["lines"][0]["left_rho"] == "0.125"
    assert "odometer" not in document
    assert "bob" not in json.dumps(document)
    assert "0.5" not in [b["limit"]["rho"] for b in document["balances"]]


def test_export_as_json_lines_and_csv(path: Path) -> None:
    lines = json.loads(invoke("export", "--ledger", path))
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    texts = invoke("export", "--ledger", path, "--format", "jsonl").splitlines()
    assert [json.loads(text)["kind"] for text in texts] == [line["kind"] for line in lines]
    rows = list(csv.DictReader(io.StringIO(invoke("export", "--ledger", path, "--format", "csv"))))
    assert [row["digest"] for row in rows] == [line["digest"] for line in lines]
    out = path.parent / "statement.csv"
    invoke("export", "--ledger", path, "--statement", "--format", "csv", "--out", out)
    statement = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["rho"] for row in statement if row["kind"] == "charge"] == ["0.125", "0.0625"]
    with pytest.raises(UnknownName):
        invoke("export", "--ledger", path, "--format", "xml")


def test_verify_says_what_it_cannot_know_and_fails_on_tampering(path: Path) -> None:
    report = json.loads(invoke("verify", "--ledger", path, "--json"))
    assert report["is_ok"]
    assert report["releases"] == 2
    assert "Not known" in invoke("verify", "--ledger", path, "--without-anchor")
    anchor = Path(f"{path}.anchor")
    anchor.write_text(anchor.read_text().replace('"seq":2', '"seq":3', 1))
    assert "does not hold" in invoke("verify", "--ledger", path, code=6)
    invoke("verify", "--ledger", path, "--head", "0" * 64, code=6)


def test_looking_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(LedgerMismatch):
        invoke("show", "--ledger", tmp_path / "none.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_unclear_commands_are_refused(path: Path) -> None:
    with pytest.raises(UnknownName):
        invoke("grant", "--ledger", path, "--population", "people", "--rho", "1", "--relation", "swap")
    with pytest.raises(ParameterError):
        invoke("grant", "--ledger", path, "--population", "people", "--rho", "lots")
    invoke("grant", "--ledger", path, "--population", "others", "--rho", "1", "--json")
    with pytest.raises(ParameterError, match="Name a population"):
        invoke("show", "--ledger", path)
