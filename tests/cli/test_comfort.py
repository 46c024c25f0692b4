"""What people expect of a command: completion, flags that take no value, standard input, tables that fit, a summary."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from dalenius.cli.main import app, run
from dalenius.cli.tables import _panels, print_release
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.spec.table import table

RUNNER = CliRunner(env={"COLUMNS": "80"})
DATASET = """
[dataset]
name = "staff"
population = "staff"
source = "staff.csv"
public = true
[variables.group]
categories = ["a", "b"]
[variables.place]
categories = ["Aarhus", "Odense", "Skagen", "Esbjerg", "Aalborg", "Randers", "Kolding", "Vejle", "Horsens", "Ribe"]
"""
REQUEST = """
dataset = "dataset.toml"
[table]
rows = ["group"]
[privacy]
definition = "pure"
epsilon = 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "staff.csv").write_text("group,place\n" + "a,Ribe\n" * 40 + "b,Odense\n" * 20)
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "request.toml").write_text(REQUEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ok(*arguments: str, given: str | None = None) -> str:
    done = RUNNER.invoke(app, list(arguments), input=given)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("dalenius re", {"register", "release", "reproduce"}),
        ("dalenius infer inde", {"independence"}),
        ("dalenius ledger sh", {"show"}),
        ("dalenius reproduce ft.table", {"ft.table2", "ft.table3"}),
        ("dalenius release --off", {"--official"}),
    ],
)
def test_a_shell_completes_verbs_options_and_items(line: str, offered: set[str]) -> None:
    asked = {"_DALENIUS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'dalenius'; from dalenius.cli.main import run; run()"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert offered <= set(done.stdout.split()), done.stderr


def verbs(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", None)
    return [path] if not inner else [path, *(p for n, c in inner.items() for p in verbs(c, (*path, n)))]


def test_no_flag_of_any_verb_shows_a_type() -> None:
    paths = [*verbs(get_command(app)), ("infer", "independence")]
    assert len(paths) > 25
    for path in paths:
        said = ok(*path, "--help")
        assert "<bool>" not in said and "BOOLEAN" not in said, path
        assert "--help" in said


def test_no_word_in_brackets_is_lost_from_a_help_text() -> None:
    for path in verbs(get_command(app)):
        command: Any = get_command(app)
        for name in path:
            command = command.commands[name]
        assert not re.search(r"(?<!\\)\[\w+\]", command.help or ""), f"{path}: write \\[ for a bracket"


def test_documents_come_from_standard_input(folder: Path) -> None:
    assert "A valid request document" in ok("check", "-", given=REQUEST)
    assert "2 cells" in ok("plan", "-", given=REQUEST)
    assert "Registered staff" in ok("register", "-", given=DATASET)
    document = ok("release", "-", "--json", given=REQUEST)
    assert json.loads(document)["provenance"]["dataset"] == "staff"
    assert "Number of records by group" in ok("show", "-", given=document)
    assert "intervals" in ok("infer", "interval", "-", given=document)
    assert "a: 40" in ok("inspect", "table", "-", given=REQUEST)


def test_a_file_of_that_name_is_still_a_file(folder: Path) -> None:
    (folder / "-").write_text(REQUEST)
    assert "2 cells" in ok("plan", str(folder / "-"), given="")
    empty = RUNNER.invoke(app, ["plan", "-"], input="")
    assert empty.exit_code != 0 and "standard input" in str(empty.exception or empty.output)


def lines_of(
    folder: Path, width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    monkeypatch.setenv("COLUMNS", width)
    with Curator.open(folder / "dataset.toml", rng=RecordedRandomness(4)) as curator:
        curator.register()
        release = curator.release(table(rows="group", columns="place", epsilon=1))
    capsys.readouterr()
    print_release(release)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", ["80", "60", "40"])
def test_a_cross_table_is_printed_in_panels_that_fit(
    width: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = lines_of(folder, width, monkeypatch, capsys)
    assert max(map(len, lines)) <= int(width)
    assert sum(line.startswith("┏") for line in lines) > 1
    heads = " ".join(line for line in lines if line.startswith("┃"))
    for place in ("Aarhus", "Skagen", "Ribe", "Total"):
        assert heads.count(place) == 1
    assert sum(line.startswith("│ a ") for line in lines) == sum(line.startswith("┏") for line in lines)


def test_a_wide_terminal_shows_one_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = lines_of(folder, "200", monkeypatch, capsys)
    assert sum(line.startswith("┏") for line in lines) == 1


def test_reproduce_ends_with_a_summary() -> None:
    last = ok("reproduce", "ft.table2").strip().splitlines()[-1]
    assert last.startswith("1 item, ") and "rounding" in last and "differs" not in last


@pytest.mark.parametrize(("given", "kept"), [(None, "1"), ("3", "3")])
def test_the_linear_algebra_of_a_command_has_one_thread_unless_told_otherwise(
    given: str | None, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dalenius.cli.main.app", lambda **_: None)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    run()
    assert os.environ["OPENBLAS_NUM_THREADS"] == kept


def test_many_columns_that_fit_only_one_by_one_are_listed_by_line() -> None:
    wide = "0.51001 ± 0.00045 (0.00341 with sampling)"
    heads, lines = ["Sex", *"abcdefg"], [["female", *[wide] * 7]]
    assert _panels(heads, lines, 1, 80) == [] and len(_panels(heads, lines, 1, 120)) == 4
    assert len(_panels(heads[:4], [lines[0][:4]], 1, 80)) == 3


def test_what_does_not_fit_is_shown_as_intervals_and_words_of_labels_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"work": ["Professionals and others"] * 4000, "pay": [71234] * 4000}
    declared = {
        "dataset": {"name": "d", "population": "p", "public": True},
        "variables": {
            "work": {"categories": ["Professionals and others", "Agriculture"]},
            "pay": {"bounds": [0, 99999], "step": 1},
        },
    }
    with Curator.open(rows, declared, ledger=tmp_path / "l.sqlite", rng=RecordedRandomness(4)) as curator:
        curator.register()
        release = curator.release(table(rows="work", measure="mean", of="pay", error="sampling", rho="0.1"))
    for width, is_whole in (("70", False), ("120", True)):
        monkeypatch.setenv("COLUMNS", width)
        capsys.readouterr()
        print_release(release)
        said = capsys.readouterr().out
        assert max(map(len, said.splitlines())) <= int(width) and "Professionals" in said
        assert ("± with" in said) == is_whole and "Agriculture" in said
