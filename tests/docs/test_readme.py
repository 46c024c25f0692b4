"""The front page keeps its word: the short example is short, and prints what the page says it prints; numbers are noisy."""

import re
import subprocess
import sys
from pathlib import Path

from tests.docs.bare import WITHOUT_EXTRAS

from dalenius.version import VERSION

ROOT = Path(__file__).parents[2]
SCREEN = 80
README = (ROOT / "README.md").read_text(encoding="utf-8")


def without_numbers(text: str) -> list[str]:
    """Words of a text; the noise decides how wide its columns of numbers are, and which numbers are marked."""
    unmarked = re.sub(r" [‡†] [^.]*\.|[‡†]", "", text)
    return re.sub(r"[-−]?\d+(\.\d+)?", "#", unmarked).split()


def run_bare(code: str, folder: Path) -> str:
    """What a program prints where no extra is installed."""
    command = [sys.executable, "-c", WITHOUT_EXTRAS + code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_of_twelve_lines_prints_on_the_bare_package_what_stands_below_it(tmp_path: Path) -> None:
    section = README.split("## Twelve lines")[1].split("\n## ")[0]
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    assert without_numbers(run_bare(code, tmp_path)) == without_numbers(shown)
    # What an extra gives is refused by name, with what works without it; the release is not lost: it is asked for again, free.
    more = """
release = dalenius.Curator.open(rows, declaration, ledger="movers.sqlite").count(by="city", epsilon=1)
for ask in (release.to_frame, release.to_polars, release.plot):
    try:
        ask()
    except dalenius.errors.MissingExtra as refusal:
        print(refusal)
dalenius.save(release, "out")
print(open("out/table.csv").readline())
"""
    refused = run_bare(code.replace("print", "str") + more, tmp_path)
    assert refused.count("dalenius[formats]") == 2 and refused.count("dalenius[plot]") == 1
    assert refused.count("print(release)") == 2 and "value" in refused.splitlines()[-2]


def test_the_picture_and_every_link_of_the_front_page_are_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
    assert "](docs/images/builder.png)" in README
    assert len(re.findall(r"^- \*\*I .*\]\(docs/", README, re.MULTILINE)) == 4 and len(README.splitlines()) <= SCREEN


def test_every_figure_has_its_command() -> None:
    page = (ROOT / "docs/explanation/measured.md").read_text(encoding="utf-8")
    table = page.split("## In short")[1].split("\n## ")[0]
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


def test_the_changelog_says_what_there_is_and_then_what_changed() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^##+ (.+)$", text, re.MULTILINE)[:5] == [
        "What it is",
        "Unreleased",
        "Added",
        "Changed",
        "Fixed",
    ]
    assert not re.search(r"^- (Added|Changed|Fixed|Removed): ", text, re.MULTILINE), (
        "the entry belongs under its heading"
    )
