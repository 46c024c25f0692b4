"""The forge runs what `make` runs, on every Python that the package allows."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
JOBS = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
RUNS = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]


def test_every_target_that_the_forge_calls_is_one_of_the_makefile() -> None:
    targets = set(re.findall(r"^([\w.$()/-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {word for run in RUNS for line in re.findall(r"\bmake ([^&|>\n]+)", run) for word in line.split()}
    assert called - {"--silent", ".venv/.installed"} <= targets and {"lint", "types", "docs", "minimum"} <= called


def test_the_matrix_starts_at_the_oldest_python_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    matrix = JOBS["tests"]["strategy"]["matrix"]["python"]
    assert project["requires-python"] == f">={matrix[0]}" and matrix == ["3.11", "3.12", "3.13", "3.14"]
    support = (ROOT / "SUPPORT.md").read_text()
    assert f"{matrix[0]} to {matrix[-1]}" in support
