"""How-tos are read beside the work: their sentences are short, tables and code left out, and their titles say what to do."""

import re
import statistics
from pathlib import Path

import pytest

PAGES = sorted(page for page in (Path(__file__).parents[2] / "docs/how-to").glob("*.md") if page.stem != "index")
MEDIAN, NINE_IN_TEN = 18, 30
VERBS = {
    "Add",
    "Adjust",
    "Ask",
    "Attack",
    "Back",
    "Change",
    "Choose",
    "Count",
    "Describe",
    "Keep",
    "Leave",
    "Look",
    "Make",
    "Migrate",
    "Open",
    "Read",
    "Release",
    "Run",
    "Start",
    "Use",
    "Work",
    "Write",
}
_WORD = re.compile(r"[\w'’.,%-]*\w[\w'’.,%-]*")


def lengths(text: str) -> list[int]:
    """Words of each sentence; inline code and a link count as the words that are read."""
    text = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE)
    prose = "\n".join(line for line in text.split("\n") if not line.startswith(("#", "|", "![")))
    found = []
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose):
        plain = re.sub(r"^\s*(?:[-*]|\d+\.) ", "", block)
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "X", plain))
        sentences = re.split(r"(?<=[.!?:])\s+(?=[A-Z*\"†‡(])", " ".join(plain.split()))
        found += [len(words) for sentence in sentences if (words := _WORD.findall(sentence))]
    return sorted(found)


def test_sentences_are_told_apart() -> None:
    text = "# A title that is not counted\n\nOne two three. `code` [four five](x.md): six\nseven.\n\n- Eight, nine\n\n| ten |\n"
    assert lengths(text + "```sh\nno words here\n```\n") == [2, 3, 5]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_how_to_is_short_sentences_under_a_verb(page: Path) -> None:
    found = lengths(page.read_text(encoding="utf-8"))
    assert statistics.median(found) <= MEDIAN
    assert found[min(len(found) - 1, int(0.9 * len(found)))] <= NINE_IN_TEN
    title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    assert title.split()[0] in VERBS, f"{title}: begin with a verb"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_how_to_holds_no_table_of_measurements(page: Path) -> None:
    """They stand in docs/explanation/measured.md, with the command of each."""
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"python -m verify", text)
    assert not re.search(r"python -m bench[^\n]*\n(?:[^\n|#]+\n)*\n\|", text)
