"""The front page keeps its word: the short example is short, and prints what the page says it prints; numbers are noisy."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from dalenius.version import VERSION

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def without_numbers(text: str) -> list[str]:
    """Words of a text; the noise decides how wide its columns of numbers are."""
    return re.sub(r"-?\d+(\.\d+)?", "#", text).split()


def test_the_example_of_twelve_lines_prints_what_stands_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = README.split("## Twelve lines")[1].split("\n## ")[0]
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "README.md", "exec"), {"__name__": "page"})
    assert without_numbers(said.getvalue()) == without_numbers(shown)


def test_the_picture_and_every_link_of_the_front_page_are_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
    assert "](docs/images/builder.png)" in README


def test_every_figure_has_its_command() -> None:
    table = README.split("## Measured")[1].split("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) >= 4
    for row in rows:
        assert re.search(r"\d", row[2]) and row[3].strip(), row


def test_the_citation_names_this_version() -> None:
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


def test_hooks_run_the_tools_of_make() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    make = (ROOT / "Makefile").read_text()
    for tool in ("ruff check", "ruff format --check", "lint-imports --no-cache", "mypy"):
        assert f".venv/bin/{tool}" in hooks and f"$(BIN)/{tool}" in make
