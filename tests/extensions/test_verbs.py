"""The command line with extensions: what is asked follows the policy, what is read may name them, `check` judges them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.building import build, importable, install, uninstall, write
from tests.extensions.test_policies import INSTALLED
from typer.testing import CliRunner, Result

from dalenius.cli.main import app
from dalenius.core import registry

DATASET = """
[dataset]
name = "d"
population = "p"
source = "data.csv"
policy = "policy.toml"
public = true
[variables.sex]
categories = ["f", "m"]
missing = "f"
unseen = "f"
"""
POLICY = '[budget]\nrho = 1000\n[allow.extensions]\noffice-statistics = "1.0.0"\n'
REQUEST = 'dataset = "dataset.toml"\n[table]\nrows = ["sex"]\nmeasure = "thousands"\n[privacy]\ndefinition = "pure"\nepsilon = 300\n'


def run(*words: Any, exit_code: int = 0) -> Result:
    """A verb in a process of its own, as far as extensions are concerned."""
    registry.forget()
    done = CliRunner().invoke(app, [str(word) for word in words])
    code = getattr(done.exception, "exit_code", done.exit_code)
    assert code == exit_code, f"{done.output} {done.exception!r}"
    return done


@pytest.fixture
def place(office: Path, tmp_path: Path) -> Path:
    texts = {"dataset.toml": DATASET, "policy.toml": POLICY, "request.toml": REQUEST}
    for name, text in (texts | {"data.csv": "sex\n" + "f\nm\nf\n" * 400}).items():
        (tmp_path / name).write_text(text)
    run("register", tmp_path / "dataset.toml")
    return tmp_path


def test_a_request_is_planned_released_and_written(place: Path) -> None:
    assert json.loads(run("check", place / "request.toml", "--json").output)["valid"]
    planned = json.loads(run("plan", place / "request.toml", "--json").output)
    assert planned["extensions"] == [
        {"package": "methods", "name": "thousands", "distribution": "office-statistics", "version": "1.0.0"}
    ]
    output = run("release", place / "request.toml", "-o", place / "out.psv").output
    assert "Thousands of records" in output
    assert "Made with extensions of other distributions: 'thousands' of office-statistics 1.0.0." in " ".join(
        output.split()
    )
    assert (place / "out.psv").read_text().startswith("sex|")
    # The policy that the ledger recorded holds where no file names one.
    (place / "dataset.toml").write_text(DATASET.replace('policy = "policy.toml"\n', ""))
    assert json.loads(run("plan", place / "request.toml", "--json").output)["extensions"]


def test_a_policy_that_does_not_name_it_refuses(place: Path) -> None:
    (place / "other.toml").write_text("[budget]\nrho = 1000\n")
    (place / "dataset.toml").write_text(DATASET.replace('name = "d"', 'name = "d2"').replace('"p"', '"p2"'))
    for verb in ("plan", "release", "check"):
        refused = run(verb, place / "request.toml", "--policy", place / "other.toml", exit_code=2)
        assert INSTALLED in str(refused.exception) and "does not name office-statistics" in str(refused.exception)


def test_a_release_is_shown_and_asked_where_the_extension_is_named_and_where_it_is_not(place: Path) -> None:
    run("release", place / "request.toml", "-o", place / "out")
    plain = run("show", place / "out").output
    assert "Thousands by sex" in plain and "0.8" in plain
    named = run("--extension", "office-statistics==1.0.0", "show", place / "out").output
    assert "Thousands of records by sex" in named
    (place / "count.toml").write_text(REQUEST.replace('measure = "thousands"\n', ""))
    run("release", place / "count.toml", "-o", place / "counts")
    words = ("infer", "surplus", place / "counts", "--first", "sex=f", "--second", "sex=m", "--json")
    answer = json.loads(run("--extension", "office-statistics==1.0.0", *words).output)
    assert answer["value"] == pytest.approx(400)
    assert run(*words, exit_code=2)
    for wrong in ("office-statistics==1.0.1", "office-statistics", "other==1.0.0"):
        refused = run("--extension", wrong, "show", place / "out", exit_code=2)
        assert "those that do: office-statistics==1.0.0" in str(refused.exception)


def test_what_is_named_for_reading_is_not_allowed_for_releasing(place: Path) -> None:
    (place / "other.toml").write_text("[budget]\nrho = 1000\n")
    (place / "dataset.toml").write_text(DATASET.replace('name = "d"', 'name = "d2"').replace('"p"', '"p2"'))
    words = (
        "--extension",
        "office-statistics==1.0.0",
        "plan",
        place / "request.toml",
        "--policy",
        place / "other.toml",
    )
    assert INSTALLED in str(run(*words, exit_code=2).exception)


def test_check_runs_the_kits(place: Path) -> None:
    listed = json.loads(run("check", "--policy", place / "policy.toml", "--json").output)["extensions"]
    assert {(e["name"], e["passes"], e["is_allowed"]) for e in listed} == {
        ("columns_file", True, False),
        ("surplus", True, True),
        ("office_laplace", True, False),
        ("thousands", True, True),
        ("to_psv", True, True),
    }
    assert all(e["seconds"] < 5 for e in listed)
    words = " ".join(run("check", place / "policy.toml").output.split())
    assert "methods.thousands of office-statistics 1.0.0: allowed" in words
    assert "mechanisms.office_laplace of office-statistics 1.0.0: not allowed: its claims are unvetted" in words


def test_check_names_what_is_broken(tmp_path: Path) -> None:
    points = {
        "methods": {"gini": "office_a.gini:X", "count": "office_a.gini:X"},
        "mechanisms": {"quiet": "office_a.quiet:Quiet"},
    }
    quiet = """
        from dataclasses import dataclass, replace
        from typing import ClassVar
        from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

        @dataclass(frozen=True)
        class Quiet(DiscreteLaplace):
            name: ClassVar[str] = "quiet"

            def profile(self, sensitivity, relation):
                return DiscreteLaplace(self.rate / 2).profile(sensitivity, relation)
    """
    target = tmp_path / "target"
    source = write(tmp_path, "office-a", "1.0.0", points, {"gini": "import no_such_module", "quiet": quiet})
    install(build(source, tmp_path), target)
    with importable(target):
        words = " ".join(run("check", exit_code=1).output.split())
        assert "methods.count of office-a 1.0.0 not usable: the project itself has methods.count" in words
        assert "methods.gini of office-a 1.0.0 not usable: it cannot be imported (ModuleNotFoundError" in words
        assert "mechanisms.quiet of office-a 1.0.0 not usable: its kit fails:" in words
        assert run("plan", "--help")


def test_a_package_that_is_removed_is_gone(wheel: Path, tmp_path: Path) -> None:
    """In processes of their own: installed, it passes; removed, it is as if it had never been."""
    target = tmp_path / "target"

    def check() -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join([str(target), *(p for p in sys.path if p)])
        words = [sys.executable, "-m", "dalenius.cli.main", "check", "--json"]
        return subprocess.run(words, env={"PYTHONPATH": paths}, capture_output=True, text=True, check=True)

    install(wheel, target)
    assert len(json.loads(check().stdout)["extensions"]) == 5
    uninstall("office-statistics", target)
    assert json.loads(check().stdout)["extensions"] == []
    assert not list(target.glob("office*"))
