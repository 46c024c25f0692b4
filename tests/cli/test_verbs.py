"""The command line as a newcomer uses it."""

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.errors import DaleniusError, Unconfirmed

RUNNER = CliRunner()
CSV = "grade,age,pay\njunior,31,1000.5\nsenior,45,2000\njunior,,1500\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text(CSV)
    return tmp_path


def invoke(*arguments: object) -> str:
    done = RUNNER.invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_help_lists_the_verbs() -> None:
    text = invoke("--help")
    for verb in ("demo", "describe", "check", "register", "plan", "release", "show", "infer", "ledger", "reproduce"):
        assert verb in text


def test_describe_drafts_names_and_types_without_reading_values(folder: Path) -> None:
    text = invoke("describe", folder / "staff.csv")
    draft = tomllib.loads(text)
    assert set(draft["variables"]) == {"grade", "age", "pay"}
    assert all(v["confirmed"] is False for v in draft["variables"].values())
    assert "junior" not in text and "2000" not in text


def test_what_was_read_from_data_is_unconfirmed_and_does_not_run(folder: Path) -> None:
    text = invoke("describe", folder / "staff.csv", "--from-data")
    draft = tomllib.loads(text)
    assert draft["variables"]["grade"]["categories"] == ["junior", "senior"]
    assert draft["variables"]["grade"]["confirmed"] is False
    (folder / "dataset.toml").write_text(text.replace('population = ""', 'population = "staff"'))
    (folder / "request.toml").write_text(
        'dataset = "dataset.toml"\n[table]\nrows = ["grade"]\n[privacy]\ndefinition = "pure"\nepsilon = 1\n'
    )
    assert json.loads(invoke("check", folder / "dataset.toml", "--json"))["valid"]
    with pytest.raises(Unconfirmed):
        RUNNER.invoke(app, ["plan", str(folder / "request.toml")], catch_exceptions=False)


def test_plan_release_show_in_json(folder: Path) -> None:
    (folder / "dataset.toml").write_text(
        '[dataset]\nname = "staff"\npopulation = "staff"\nsource = "staff.csv"\n'
        '[variables.grade]\ncategories = ["junior", "senior", "chief"]\n'
    )
    (folder / "request.toml").write_text(
        'dataset = "dataset.toml"\n[table]\nrows = ["grade"]\n[privacy]\ndefinition = "pure"\nepsilon = 1\n'
    )
    ledger = folder / "ledger.sqlite"
    plan = json.loads(invoke("plan", folder / "request.toml", "--json"))
    assert plan["cells"] == 3 and plan["cost"]["epsilon"] == "1"
    invoke("register", folder / "dataset.toml", "--ledger", ledger)
    first = json.loads(invoke("release", folder / "request.toml", "--ledger", ledger, "-o", folder / "out", "--json"))
    again = json.loads(invoke("release", folder / "request.toml", "--ledger", ledger, "--json"))
    assert first == again
    assert json.loads(invoke("show", folder / "out", "--json")) == first
    shown = invoke("show", folder / "out")
    assert "junior" in shown and "chief" in shown  # the empty cell is there


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [(["show", "nowhere"], 2), (["check", "nowhere.toml"], 2), (["describe", "nowhere.csv"], 2)],
)
def test_refusals_have_exit_codes(arguments: list[str], exit_code: int) -> None:
    done = RUNNER.invoke(app, arguments)
    assert isinstance(done.exception, DaleniusError)
    assert done.exception.exit_code == exit_code
