"""What a newcomer gets wrong: one clear line, a stable code, and nothing lost, spent or overwritten."""

import json
import os
import re
import resource
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.cli.output import translated
from dalenius.cli.release import with_advice
from dalenius.errors import (
    BudgetExhausted,
    DaleniusError,
    DocumentError,
    InternalError,
    ParameterError,
    UnknownName,
    Unsupported,
)
from dalenius.spec.request import RequestDocument

RUNNER = CliRunner()
DATASET = """
[dataset]
name = "staff"
population = "staff"
source = "staff.csv"
[variables.sex]
categories = ["m", "f"]
[variables.age]
bounds = [0, 120]
step = 1
"""
REQUEST = """
dataset = "dataset.toml"
[table]
rows = ["sex"]
[privacy]
definition = "pure"
epsilon = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text("sex,age\nm,31\nf,45\n")
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "request.toml").write_text(REQUEST)
    return tmp_path


def refused(*arguments: object) -> DaleniusError:
    done = RUNNER.invoke(app, [str(a) for a in arguments])
    assert isinstance(done.exception, DaleniusError), (done.output, done.exception)
    return done.exception


def run(*arguments: object, file_size: int | None = None) -> subprocess.CompletedProcess[str]:
    """The installed entry point in a process of its own; `file_size` makes the disk full for it."""

    def limit() -> None:
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    command = [sys.executable, "-c", "from dalenius.cli.main import run; run()", *(str(a) for a in arguments)]
    environment = os.environ | {"COLUMNS": "400"}
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, env=environment, check=False)


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        ('["sex"]', '"sex"', DocumentError, r"table\.rows .* must be a list"),
        ('["sex"]', '["age"]', ParameterError, r"cuts = \[0, 60, 120\]"),
        ('["sex"]', '["sx"]', UnknownName, "Did you mean 'sex'"),
        ('["sex"]', '["sex"]\nwhere = { age = [1, 2] }', ParameterError, "at_least = 1, at_most = 2"),
        ('["sex"]', '["sex"]\nwhere = { sex = [1, 2] }', UnknownName, "no category of 'sex' named '1'"),
        ('["sex"]', '["sex"]\nwhere = { sex = { at_least = 1 } }', ParameterError, r"sex = \['m', 'f'\]"),
        ("epsilon = 1", "epsilon = 1e-15", ParameterError, "at least 1e-12"),
        ('dataset = "dataset.toml"', 'dataset = "other.toml"', DocumentError, "no dataset document"),
    ],
)
def test_a_wrong_request_is_refused_by_check_and_by_plan(
    folder: Path, old: str, new: str, kind: type[DaleniusError], message: str
) -> None:
    (folder / "request.toml").write_text(REQUEST.replace(old, new))
    for verb in ("check", "plan"):
        error = refused(verb, folder / "request.toml")
        assert isinstance(error, kind)
        with pytest.raises(kind, match=message):
            raise error


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ('source = "staff.csv"', 'source = "gone.csv"', "bad_document", "There is no data file"),
        ("variables.sex", "variables.gender", "unknown_name", "lack 1 of 2 declared columns: 'gender'"),
        ('population = "staff"', 'population = ""', "bad_document", "population .* must not be empty"),
        ('["m", "f"]', '["m", "drop"]', "bad_document", "No category can be labelled 'drop'"),
    ],
)
def test_a_wrong_dataset_is_refused_before_a_ledger_exists(
    folder: Path, old: str, new: str, code: str, message: str
) -> None:
    (folder / "dataset.toml").write_text(DATASET.replace(old, new))
    for arguments in (("check",), ("register", "--ledger", folder / "new.sqlite")):
        error = refused(arguments[0], folder / "dataset.toml", *arguments[1:])
        assert error.code == code
        with pytest.raises(DaleniusError, match=message):
            raise error
    assert not list(folder.glob("new.sqlite*"))


def test_a_draft_is_not_registered(folder: Path) -> None:
    (folder / "dataset.toml").write_text(DATASET + "confirmed = false\n")
    error = refused("register", folder / "dataset.toml", "--ledger", folder / "new.sqlite")
    assert error.code == "unconfirmed" and error.detail["variables"] == ["age"]
    assert not list(folder.glob("new.sqlite*"))


def test_plan_says_what_its_error_is_about(folder: Path) -> None:
    wanted = {
        'rows = ["sex"]\nmargins = "all"\nuniverse = "complete"': (
            "Expect a cell of sex to be off",
            "Expect the total to be off",
        ),
        'rows = ["sex"]\nmeasure = "mean"\nof = "age"': ("expect the mean to be off by at most", "Note:"),
        "rows = []": ("1 cell,",),
    }
    for table, texts in wanted.items():
        (folder / "request.toml").write_text(REQUEST.replace('rows = ["sex"]', table))
        said = RUNNER.invoke(app, ["plan", str(folder / "request.toml")]).output
        assert all(text in said for text in texts), said


def test_check_reads_no_rows(folder: Path) -> None:
    """Two files with the same header and any content are told alike."""
    said = []
    for rows in ("m,31\n", 'x,"never closed\n\xff\n'):
        (folder / "staff.csv").write_bytes(("sex,age\n" + rows).encode("latin-1"))
        said.append(RUNNER.invoke(app, ["check", str(folder / "dataset.toml"), "--json"]).output)
    assert said[0] == said[1] and json.loads(said[0])["source"] == "columns found"


def test_a_category_of_the_file_may_be_called_drop(folder: Path) -> None:
    (folder / "dataset.toml").write_text(DATASET.replace('["m", "f"]', '{ drop = "dropped", f = "f" }'))
    assert RUNNER.invoke(app, ["check", str(folder / "dataset.toml")]).exit_code == 0


def test_a_release_never_overwrites_what_it_is_made_from(folder: Path) -> None:
    ledger = folder / "ledger.sqlite"
    assert not RUNNER.invoke(app, ["register", str(folder / "dataset.toml"), "--ledger", str(ledger)]).exception
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file() and path != ledger}
    for output in ("staff.csv", "dataset.toml", "request.toml", "ledger.sqlite"):
        error = refused("release", folder / "request.toml", "--ledger", ledger, "-o", folder / output)
        assert error.code == "bad_parameter"
    assert all(path.read_bytes() == content for path, content in before.items())
    spent = json.loads(RUNNER.invoke(app, ["ledger", "show", "--ledger", str(ledger), "--json"]).output)
    assert not any(line["kind"] == "charge" for line in spent["lines"])


def test_addresses_are_not_taken_for_file_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert refused("ledger", "show", "--ledger", "http://example.org/x").code == "bad_parameter"
    assert refused("register", "dataset.toml", "--ledger", "mysql://x").code == "bad_parameter"
    assert sorted(folder.iterdir()) == before


def test_grants_need_a_name_and_an_amount(folder: Path) -> None:
    ledger = folder / "ledger.sqlite"
    for given in (["--population", " ", "--rho", "1"], ["--population", "p", "--rho", "1e-20"]):
        assert refused("ledger", "grant", "--ledger", ledger, *given).code == "bad_parameter"
    assert not ledger.exists()


def test_a_full_disk_is_one_line(folder: Path) -> None:
    ledger = folder / "ledger.sqlite"
    assert run("register", folder / "dataset.toml", "--ledger", ledger).returncode == 0
    done = run("release", folder / "request.toml", "--ledger", ledger, "--json", file_size=33_000)
    assert done.returncode == 7 and json.loads(done.stderr)["error"]["code"] == "storage"
    assert "Traceback" not in done.stderr
    whole = run("ledger", "verify", "--ledger", ledger)
    assert whole.returncode == 0 and "The ledger holds." in whole.stdout


def test_a_place_that_cannot_be_written_is_one_line(folder: Path) -> None:
    done = run("register", folder / "dataset.toml", "--ledger", folder / "staff.csv" / "x.sqlite")
    assert done.returncode == 7 and done.stderr.startswith("storage: ") and "Traceback" not in done.stderr


def test_a_fault_of_ours_is_named_and_not_quoted() -> None:
    try:
        raise ValueError("the value 31 of a person")
    except ValueError as error:
        told = translated(error)
    assert isinstance(told, InternalError) and "ValueError in test_refusals.py" in told.message
    assert "31 of a person" not in told.message


def test_drafts_and_exports_overwrite_nothing(folder: Path) -> None:
    before = (folder / "dataset.toml").read_text()
    for output in ("dataset.toml", "staff.csv"):
        assert refused("describe", folder / "staff.csv", "-o", folder / output).code == "bad_parameter"
    assert (folder / "dataset.toml").read_text() == before
    ledger = folder / "ledger.sqlite"
    RUNNER.invoke(app, ["register", str(folder / "dataset.toml"), "--ledger", str(ledger)])
    for output in (ledger, folder / "ledger.sqlite.anchor"):
        assert refused("ledger", "export", "--ledger", ledger, "--out", output).code == "bad_parameter"
    assert "The ledger holds." in RUNNER.invoke(app, ["ledger", "verify", "--ledger", str(ledger)]).output


def test_the_version_is_an_option_and_a_verb() -> None:
    option, verb = (RUNNER.invoke(app, [given]) for given in ("--version", "version"))
    assert option.exit_code == verb.exit_code == 0 and option.output == verb.output != ""


@pytest.mark.parametrize(
    ("definition", "amount", "unit"),
    [
        ("pure", "epsilon = 3", "epsilon"),
        ("zero_concentrated", "rho = 3", "rho"),
        ("approximate", "epsilon = 9\ndelta = 1e-9", "epsilon"),
    ],
)
def test_an_exhausted_budget_says_what_is_left_and_what_would_fit(
    folder: Path, definition: str, amount: str, unit: str
) -> None:
    ledger = folder / "l.sqlite"
    (folder / "policy.toml").write_text('[budget]\nrho = "1"\ndelta = "1e-6"\n')
    run = ["register", str(folder / "dataset.toml"), "--ledger", str(ledger), "--policy", str(folder / "policy.toml")]
    assert RUNNER.invoke(app, run).exit_code == 0
    text = REQUEST.replace('"pure"', f'"{definition}"')
    (folder / "request.toml").write_text(text.replace("epsilon = 1", amount))
    error = refused("release", folder / "request.toml", "--ledger", ledger)
    assert error.code == "budget_exhausted" and "Left of the whole budget: rho 1, delta 1e-06" in error.message
    fits = re.search(rf"with {unit} = ([0-9.]+) would be paid", error.message)
    assert fits
    step = 10 ** (len(fits[1].partition(".")[2]) * -1) if "." in fits[1] else 1
    wanted = {float(fits[1]) + step: 3, float(fits[1]): 0}
    for number, exit_code in wanted.items():
        asked = re.sub(rf"{unit} = \d+", f"{unit} = {number:g}", amount)
        (folder / "request.toml").write_text(text.replace("epsilon = 1", asked))
        done = RUNNER.invoke(app, ["release", str(folder / "request.toml"), "--ledger", str(ledger)])
        assert getattr(done.exception, "exit_code", 0) == exit_code, (number, done.output, done.exception)


def test_a_delta_that_is_more_than_is_left_is_named(folder: Path) -> None:
    """No smaller epsilon helps then, and nothing said what would."""
    ledger = folder / "l.sqlite"
    (folder / "policy.toml").write_text('[budget]\nrho = "1"\ndelta = "1e-7"\n')
    run = ["register", str(folder / "dataset.toml"), "--ledger", str(ledger), "--policy", str(folder / "policy.toml")]
    assert RUNNER.invoke(app, run).exit_code == 0
    table = REQUEST[: REQUEST.index("[privacy]")].replace(
        'rows = ["sex"]', 'measure = "mean"\nof = "age"\nerror = "bootstrap"'
    )
    privacy = '[privacy]\ndefinition = "approximate"\nepsilon = "1/2"\ndelta = 1e-6\n'
    (folder / "request.toml").write_text(table + privacy)
    error = refused("release", folder / "request.toml", "--ledger", ledger)
    assert error.message.endswith("Its delta alone is more than is left: use one of at most 1e-07.")


def test_an_amount_for_which_no_noise_is_wide_enough_is_not_taken_for_too_much() -> None:
    """The largest amount that is paid is found, although the smallest ones are refused for another reason."""

    def quote(document: RequestDocument, **_: object) -> None:
        epsilon = document.privacy.epsilon or 0
        if epsilon > Fraction(1, 2):
            raise BudgetExhausted("Too much.")
        if epsilon < Fraction(1, 10):
            raise Unsupported("No noise is as wide.")

    left = SimpleNamespace(left=SimpleNamespace(rho=Fraction(1, 8), delta=Fraction(0)))
    curator: Any = SimpleNamespace(
        quote=quote,
        domain=SimpleNamespace(population="p"),
        ledger=SimpleNamespace(reader=SimpleNamespace(account=lambda _: left)),
    )
    request = RequestDocument.from_dict({"table": {}, "privacy": {"definition": "pure", "epsilon": 4}})
    advice = with_advice(BudgetExhausted("Refused."), curator, request, "", False)
    assert "with epsilon = 0.5 would be paid" in advice.message
