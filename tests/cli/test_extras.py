"""The core install: every verb works without the extras, or names the extra that it needs."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.docs.bare import WITHOUT_EXTRAS

from dalenius.cli.output import _EXTRAS

ROOT = Path(__file__).parents[2]
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
rows = ["sex", { variable = "age", cuts = [0, 40, 120] }]
[privacy]
definition = "pure"
epsilon = 1
"""
# Each verb is run where no extra is installed.
PROGRAM = f"""
{WITHOUT_EXTRAS}
import json
from typer.testing import CliRunner
from dalenius.cli.main import app
from dalenius.cli.output import translated
for arguments in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, arguments)
    failed = done.exception is not None and not isinstance(done.exception, SystemExit)
    print(json.dumps(translated(done.exception).message if failed else done.exit_code))
"""


def test_every_verb_works_or_names_its_extra(tmp_path: Path) -> None:
    (tmp_path / "staff.csv").write_text("sex,age\nm,31\nf,45\n")
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "request.toml").write_text(REQUEST)
    working = [
        ["--help"],
        ["describe", "staff.csv", "--from-data"],
        ["check", "dataset.toml"],
        ["register", "dataset.toml"],
        ["plan", "request.toml"],
        ["release", "request.toml", "-o", "out"],
        ["show", "out"],
        ["infer", "interval", "out"],
        ["infer", "independence", "out", "--replicates", "19"],
        ["ledger", "show", "--ledger", "dalenius.sqlite"],
        ["ledger", "verify", "--ledger", "dalenius.sqlite"],
        ["reproduce", "--list"],
    ]
    needing = {
        "server": ["serve", "--demo"],
        "plot": ["infer", "interval", "out", "--plot", "figure.svg"],
        "postgres": ["ledger", "show", "--ledger", "postgresql://localhost/none"],
    }
    command = [sys.executable, "-c", PROGRAM, json.dumps([*working, *needing.values()])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert said[: len(working)] == [0] * len(working), done.stderr
    for extra, message in zip(needing, said[len(working) :], strict=True):
        assert f"dalenius[{extra}]" in message and "fault of ours" not in message


def test_every_package_of_an_extra_is_known_by_it() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    modules = {"argon2-cffi": "argon2", "python-multipart": "multipart"}
    for extra, packages in declared.items():
        for package in packages if extra != "dev" else ():
            name = re.split(r"[\[<>=]", package)[0]
            assert _EXTRAS[modules.get(name, name)] == extra
