"""Registration says what it did, the policy is not forgotten, and the custodian's door has commands."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dalenius.cli.main import app
from dalenius.core.sealed import BANNER
from dalenius.errors import NotAllowed, PolicyDiffers, Undeclared
from dalenius.ledger import Ledger

RUNNER = CliRunner()


def run(*arguments: object) -> Result:
    return RUNNER.invoke(
        app, [str(a) for a in arguments], catch_exceptions=False, env={"COLUMNS": "400", "DALENIUS_LEDGER": ""}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{sex},{pay}" for sex, pay in zip("ffmmfmfmxm", range(10, 20), strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["sex,pay", *rows]) + "\n")
    (tmp_path / "dataset.toml").write_text(
        '[dataset]\nname = "staff"\npopulation = "staff"\nsource = "data.csv"\npolicy = "policy.toml"\n'
        '[variables.sex]\ncategories = ["f", "m"]\n[variables.pay]\nbounds = [0, 100]\nstep = 1\n'
    )
    (tmp_path / "policy.toml").write_text('[budget]\nrho = 1\n[allow]\ndefinitions = ["pure"]\n')
    for name, table, privacy in (
        ("request", 'rows = ["sex"]', 'definition = "pure"\nepsilon = 0.1'),
        ("other", 'rows = ["sex"]', 'definition = "zero_concentrated"\nrho = 0.1'),
        ("dominance", 'rows = ["sex"]\nmeasure = "dominance"\nof = "pay"', 'definition = "pure"\nepsilon = 1'),
        ("bootstrap", 'rows = ["sex"]\nmeasure = "total"\nof = "pay"', 'definition = "bootstrap"\nepsilon = 1'),
    ):
        text = f'dataset = "dataset.toml"\n[table]\n{table}\n[privacy]\n{privacy}\n'
        (tmp_path / f"{name}.toml").write_text(text)
    return tmp_path


def test_register_says_ledger_budget_policy_next_step_and_content(folder: Path) -> None:
    done = run("register", folder / "dataset.toml")
    said = " ".join(done.stdout.split())
    assert f"Ledger {folder / 'dalenius.sqlite'}" in said
    assert "rho 1, delta 0.000001" in said and "-differentially private" in said
    assert "policy.toml (digest" in said and "dalenius plan REQUEST" in said
    # What the rows hold is for the custodian: on standard error, under the banner.
    told = " ".join(done.stderr.split())
    assert BANNER in told and "Look at sex" in told and "unseen" in told
    assert "Look at" not in said


def test_register_without_a_policy_says_so(folder: Path) -> None:
    document = folder / "dataset.toml"
    document.write_text(document.read_text().replace('policy = "policy.toml"\n', ""))
    said = run("register", document).stdout
    assert "none was named" in said and "rho 2" in said


def test_json_of_a_registration_holds_no_content(folder: Path) -> None:
    done = run("register", folder / "dataset.toml", "--json")
    facts = json.loads(done.stdout)
    assert facts["budget"] == {"rho": "1", "delta": "0.000001"} and facts["together"]["epsilon"] > 1
    assert "variables" not in facts and "unseen" not in done.stdout and done.stderr == ""


def test_a_file_most_of_whose_values_are_undeclared_needs_a_word_of_consent(folder: Path) -> None:
    (folder / "data.csv").write_text("sex,pay\n" + "x,1\n" * 6 + "f,2\n" * 4)
    done = RUNNER.invoke(app, ["register", str(folder / "dataset.toml")])
    assert isinstance(done.exception, Undeclared)
    assert "sex" not in done.exception.message and "report" not in done.exception.to_dict()["error"]["detail"]
    assert BANNER in " ".join(done.stderr.split())
    with Ledger.open(folder / "dalenius.sqlite") as ledger:
        assert ledger.reader.registration("staff", "1") is None and ledger.reader.populations() == []
    assert run("register", folder / "dataset.toml", "--accept-unseen").exit_code == 0
    with Ledger.open(folder / "dalenius.sqlite") as ledger:
        text = ledger.reader.export("jsonl")
    assert "unseen" not in text


def test_content_counts_reach_no_ledger(folder: Path) -> None:
    run("register", folder / "dataset.toml", "--report")
    with Ledger.open(folder / "dalenius.sqlite") as ledger:
        assert not any(word in ledger.reader.export("jsonl") for word in ("unseen", "valid", "rows_kept"))


def test_plan_and_release_remember_the_policy_that_is_left_out(folder: Path) -> None:
    run("register", folder / "dataset.toml")
    document = folder / "dataset.toml"
    document.write_text(document.read_text().replace('policy = "policy.toml"\n', ""))
    for verb in ("plan", "release"):
        with pytest.raises(NotAllowed):
            run(verb, folder / "other.toml")
    assert "Charged: rho" in run("release", folder / "request.toml").stdout
    again = run("release", folder / "request.toml").stdout
    assert "nothing was charged" in again and "Charged" not in again
    assert "protects one row" in run("ledger", "show", "--ledger", folder / "dalenius.sqlite").stdout


def test_a_laxer_file_is_refused_until_it_is_adopted(folder: Path) -> None:
    run("register", folder / "dataset.toml")
    (folder / "policy.toml").write_text("[budget]\nrho = 3\n")
    for verb in ("plan", "release"):
        with pytest.raises(PolicyDiffers, match=r"allow\.definitions"):
            run(verb, folder / "other.toml")
    shown = run("policy", "show", folder / "dataset.toml").stdout
    assert "Different: allow.definitions" in shown and '"pure"' in shown
    done = run("policy", "adopt", folder / "dataset.toml", "--by", "carla", "--note", "as agreed")
    assert "Changed: allow.definitions" in done.stdout and "dalenius ledger grant" in done.stderr
    released = run("release", folder / "other.toml")
    assert released.exit_code == 0 and "dalenius ledger grant" in released.stderr
    statement = run("ledger", "show", "--ledger", folder / "dalenius.sqlite").stdout
    assert "of staff, adopted" in statement and "carla" in statement


def test_an_approval_that_is_only_typed_says_that_it_is_trusted(folder: Path) -> None:
    run("register", folder / "dataset.toml")
    done = run("release", folder / "request.toml", "--approved-by", "somebody")
    assert "trusts its user" in done.stderr and "somebody" in done.stderr


@pytest.mark.parametrize(
    ("verb", "request_name", "shown"),
    [("table", "request", "f: 4"), ("dominance", "dominance", "dominated:"), ("plan", "bootstrap", "scales")],
)
def test_the_custodians_door_prints_under_its_banner_and_writes_a_line(
    folder: Path, verb: str, request_name: str, shown: str
) -> None:
    (folder / "policy.toml").write_text('[allow]\nacknowledge = ["bootstrap"]\n[floors]\npay = 1\n')
    run("register", folder / "dataset.toml")
    said = run("inspect", verb, folder / f"{request_name}.toml", "--by", "carla").stdout
    assert said.startswith(BANNER) and shown in said
    with Ledger.open(folder / "dalenius.sqlite") as ledger:
        (look,) = [e for e in ledger.reader.entries() if e.kind == "note" and e.body["kind"] == "inspection"]
        assert (look.by, look.population) == ("carla", "staff") and ledger.reader.account("staff").charges == 0
        assert [e.name for e in ledger.reader.notes("staff", "inspection")] == [look.name]
        assert "inspection" in [line.what for line in ledger.reader.statement("staff").lines]
