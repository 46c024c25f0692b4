"""Texts of documents and releases are printed letter by letter: none is markup, a picture or a command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.cli.terminal import printable

RUNNER = CliRunner(env={"COLUMNS": "300"})
HOSTILE = [
    "[unknown]",
    ":x:",
    "[/]",
    "[bold red]a",
    "[link=http://x]b[/link]",
    "\\[c]",
    "$50 to $100 \\frac",
    "d\u0301 \u0436",
]
DATASET = f"""
[dataset]
name = "[red]staff[/red]"
population = "[/]people :x:"
version = "[1]"
source = "staff.csv"
[variables."[/]group"]
label = "[/]group"
categories = {json.dumps(HOSTILE)}
[variables.sex]
categories = ["m", "f"]
"""
REQUEST = """
dataset = "dataset.toml"
[table]
rows = ["[/]group"]
[privacy]
definition = "pure"
epsilon = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f'"{label}",m\n' for label in HOSTILE)
    (tmp_path / "staff.csv").write_text("[/]group,sex\n" + rows)
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "request.toml").write_text(REQUEST)
    return tmp_path


def said(*arguments: object) -> str:
    done = RUNNER.invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_every_verb_prints_labels_as_they_stand(folder: Path) -> None:
    ledger, request, out = folder / "l.sqlite", folder / "request.toml", folder / "[/]out"
    assert "[red]staff[/red] [1]" in said("register", folder / "dataset.toml", "--ledger", ledger)
    said("plan", request)
    texts = {
        "release": said("release", request, "--ledger", ledger, "-o", out, "--analyst", "[/]ann :x:"),
        "show": said("show", out),
        "interval": said("infer", "interval", out),
    }
    for verb, text in texts.items():
        assert not [label for label in HOSTILE if label not in text], (verb, text)
    assert "[/]group" in texts["release"] and "[red]staff[/red]" in texts["release"]
    assert "[/]out" in texts["release"]
    statement = said("ledger", "show", "--ledger", ledger)
    assert "[/]people :x:" in statement and "[/]ann :x:" in statement and "[/]group" in statement
    assert "[/]people :x:" in said(
        "ledger", "quota", "--ledger", ledger, "--analyst", "[/]ann :x:", "--rho", "1", "--population", "[/]people :x:"
    )


def test_labels_are_drawn_as_they_stand(folder: Path) -> None:
    ledger, out = folder / "l.sqlite", folder / "out"
    said("register", folder / "dataset.toml", "--ledger", ledger)
    said("release", folder / "request.toml", "--ledger", ledger, "-o", out)
    said("infer", "interval", out, "--plot", folder / "figure.svg")
    assert (folder / "figure.svg").stat().st_size > 1000


def test_a_refusal_quotes_what_was_sent_as_it_stands(folder: Path) -> None:
    (folder / "request.toml").write_text(REQUEST.replace('["[/]group"]', '["[/]grou :x: [unknown]"]'))
    command = [sys.executable, "-c", "from dalenius.cli.main import run; run()", "plan", str(folder / "request.toml")]
    environment = os.environ | {"COLUMNS": "400"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2 and "'[/]grou :x: [unknown]'" in done.stderr


def test_a_terminal_is_given_no_commands() -> None:
    assert printable("a\x1b[2Jb\rc\x07\x9b1m\u202ed\ud800") == "a\ufffd[2Jb\ufffdc\ufffd\ufffd1m\ufffdd\ufffd"
    for text in ("plain", "two\nlines", "ZWJ \U0001f469\u200d\U0001f680", "caf\u00e9 d\u0301 \u4e2d\xa0\u2009x"):
        assert printable(text) == text


def test_a_terminal_that_lacks_letters_shows_the_rest(folder: Path) -> None:
    ledger = folder / "l.sqlite"
    said("register", folder / "dataset.toml", "--ledger", ledger)
    environment = os.environ | {"COLUMNS": "300", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    command = [sys.executable, "-c", "from dalenius.cli.main import run; run()", "release"]
    command += [str(folder / "request.toml"), "--ledger", str(ledger)]
    plain = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert plain.returncode == 0 and "[unknown]" in plain.stdout, plain.stderr
    document = subprocess.run([*command, "--json"], capture_output=True, text=True, env=environment, check=False)
    assert HOSTILE[-1] in json.loads(document.stdout)["tables"][0]["space"]["axes"][0]["labels"]


@pytest.mark.parametrize("columns", ["80", "40"])
def test_labels_can_be_read_and_numbers_are_whole_however_narrow_the_terminal(folder: Path, columns: str) -> None:
    labels = ["Agriculture, forestry and fishing", "Professional, scientific and technical activities"]
    names = ("industry of the main occupation", "industry one year before")
    variables = "".join(f"[variables.{json.dumps(n)}]\ncategories = {json.dumps(labels)}\n" for n in names)
    (folder / "staff.csv").write_text(",".join(names) + ",pay\n" + f'"{labels[0]}","{labels[1]}",1\n')
    (folder / "dataset.toml").write_text(
        '[dataset]\nname = "s"\npopulation = "s"\nsource = "staff.csv"\n'
        + variables
        + "[variables.pay]\nbounds = [0, 1000000000000]\nstep = 1\n"
    )
    (folder / "request.toml").write_text(
        f'dataset = "dataset.toml"\n[table]\nrows = {json.dumps(names)}\nmeasure = "total"\nof = "pay"\n'
        '[privacy]\ndefinition = "pure"\nepsilon = 1\n'
    )
    narrow = CliRunner(env={"COLUMNS": columns})
    ledger = str(folder / "n.sqlite")
    for arguments in (["register", str(folder / "dataset.toml")], ["release", str(folder / "request.toml"), "--json"]):
        done = narrow.invoke(app, [*arguments, "--ledger", ledger], catch_exceptions=False)
    values = json.loads(done.stdout)["tables"][0]["values"]
    text = narrow.invoke(app, ["release", str(folder / "request.toml"), "--ledger", ledger]).output
    assert "…" not in text
    assert all(f"{int(value):,}".replace("-", "−") in text for value in values)
    for word in ("Agriculture,", "Professional", "scientific", "technical", "activities"):
        assert word in text, text
