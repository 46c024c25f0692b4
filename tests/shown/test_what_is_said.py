"""What every product says of a table is the same, and true of what was asked: judged from the request alone."""

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from io import BytesIO, StringIO
from itertools import product
from typing import Any

import pytest
from openpyxl import load_workbook

from dalenius import Curator, Release
from dalenius.core import registry
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import RequestError
from dalenius.publish.to_csvw import to_csvw
from dalenius.publish.to_html import to_html
from dalenius.publish.to_xlsx import to_xlsx
from dalenius.testing import rule_kit

LABELS = {"sex": "Sex", "region": "Region", "status": "Status", "income": "Pay", "age": "Age", "weight": "Weight"}
DATASET: dict[str, Any] = {
    **rule_kit.DATASET,
    "variables": {
        name: {**declared, "label": LABELS.get(name, name), **({"unit": "EUR"} if name == "income" else {})}
        for name, declared in rule_kit.DATASET["variables"].items()
    },
}
# What each measure is called where it is asked of pay, and whether its numbers have the unit of pay.
NAMES: dict[str, tuple[str, bool]] = {
    "boxplot": ("Quantiles of Pay", True),
    "correlation": ("Correlation of Pay and Age", False),
    "count": ("Number of records", False),
    "covariance": ("Covariance of Pay and Age", False),
    "distribution": ("Distribution of Pay", False),
    "mean": ("Mean of Pay", True),
    "median": ("Median of Pay", True),
    "mode": ("Most frequent combination", False),
    "quantile": ("Quantile 0.9 of Pay", True),
    "quantiles": ("Quantiles of Pay", True),
    "ratio": ("Ratio of Pay to Age", False),
    "standard_deviation": ("Standard deviation of Pay", True),
    "total": ("Total of Pay", True),
    "variance": ("Variance of Pay", False),
}
# Axes of the answer itself.
ADDED = {"boxplot": ["quantile"], "quantiles": ["quantile"], "distribution": ["at most"]}
# What stands beside what was asked for.
BESIDE = ("Number of records", "Total of Pay", "Squared weights", "Interquartile range of Pay")
OTHER = {"correlation": {"with": "age"}, "covariance": {"with": "age"}, "ratio": {"to": "age"}}
KEYS: dict[str, dict[str, Any]] = {"quantile": {"q": "0.9"}, "quantiles": {"q": ["1/4", "3/4"]}}
BUDGET = {"definition": "zero_concentrated", "rho": "0.3", "delta": "1/1000000"}
SHAPES = ("plain", "list")


def asked(measure: str, *, has_weight: bool, has_level: bool, shape: str) -> dict[str, Any]:
    example = registry.get("methods", measure).examples[0]["table"]
    keys = {k: v for k, v in example.items() if k not in ("rows", "columns", "margins", "weight", "where", "measure")}
    keys |= {key: "income" for key in keys if key == "of"} | KEYS.get(measure, {})
    keys |= {key: "age" for key in keys if key in ("with", "to", "other")}
    region = {"variable": "region", "level": "half"} if has_level else "region"
    table = {"rows": ["sex"], "columns": [region], **keys, **({} if measure == "count" else {"measure": measure})}
    table |= {"weight": "weight"} if has_weight else {}
    table |= {"margins": "all"} if shape == "list" else {}
    return {"table": table, "privacy": BUDGET}


def expected(measure: str, *, has_weight: bool, has_level: bool, shape: str) -> list[str]:
    """The titles of what was asked for, from the request alone."""
    name, has_unit = NAMES[measure]
    first, second = "Sex", "Region (half)" if has_level else "Region"
    axes = [[first, second]] + ([[first], [second], []] if shape == "list" else [])
    what = f"{name} (weighted by Weight)" if has_weight else name
    by = [", ".join(names + ADDED.get(measure, [])) for names in axes]
    return [what + (f" by {names}" if names else "") + (" (EUR)" if has_unit else "") for names in by]


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    place = tmp_path_factory.mktemp("said") / "ledger.sqlite"
    policy = {"budget": {"rho": 1000, "delta": "0.9"}, "allow": {"acknowledge": ["fixed_weights"]}}
    with Curator.open(DATASET, ledger=place, data=rule_kit.ROWS, rng=RecordedRandomness(7), policy=policy) as opened:
        opened.register()
        yield opened


class Tables(HTMLParser):
    """Title, caption and cells of every table of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.titles: list[str] = []
        self.captions: list[str] = []
        self.cells: list[list[tuple[str, str]]] = []
        self._into = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kind = dict(attrs).get("class") or ""
        if tag == "caption":
            self._into = "title"
            self.titles.append("")
            self.captions.append("")
            self.cells.append([])
        elif tag == "span" and self._into == "title":
            self._into = "caption"
        elif tag == "td" and self.cells:
            self.cells[-1].append(("", ""))
            self._into = "cell"
        elif tag == "span" and self._into in ("cell", "sign", "moe"):
            self._into = {"moe": "moe", "sign": "sign"}.get(kind, "cell")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("caption", "td", "table"):
            self._into = ""

    def handle_data(self, data: str) -> None:
        if self._into == "title":
            self.titles[-1] += data
        elif self._into == "caption":
            self.captions[-1] += data
        elif self._into in ("cell", "sign", "moe"):
            value, error = self.cells[-1][-1]
            self.cells[-1][-1] = (value, error + data) if self._into == "moe" else (value + data, error)


def printed(release: Release, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the terminal shows, on lines as long as they need to be."""
    from dalenius.cli.tables import print_release

    out = StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", "2000")
    print_release(release)
    monkeypatch.undo()
    return out.getvalue()


def number_of(text: str) -> float:
    return float(re.sub(r"[^\d.\-]", "", text.replace("−", "-")))


# All of counts and means, and one table of every measure; the whole is in the long tests.
CASES = [
    pytest.param(
        *case, marks=[] if case[0] in ("count", "mean") or case[1:] == (False, True, "plain") else pytest.mark.long
    )
    for case in product(NAMES, (False, True), (False, True), SHAPES)
]
REFUSED_WEIGHT = {"mode"}
LISTED = {
    "count",
    "correlation",
    "covariance",
    "distribution",
    "mean",
    "ratio",
    "standard_deviation",
    "total",
    "variance",
}


@pytest.mark.parametrize(("measure", "has_weight", "has_level", "shape"), CASES)
def test_every_product_says_the_same_and_it_is_what_was_asked(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, measure: str, has_weight: bool, has_level: bool, shape: str
) -> None:
    way = {"has_weight": has_weight, "has_level": has_level, "shape": shape}
    if (shape == "list" and measure not in LISTED) or (has_weight and measure in REFUSED_WEIGHT):
        with pytest.raises(RequestError):
            curator.release(asked(measure, **way))
        return
    release = curator.release(asked(measure, **way))
    page = Tables(to_html(release))
    wanted, named = expected(measure, **way), page.titles
    assert named[: len(wanted)] == wanted
    assert all(title.startswith(BESIDE) for title in named[len(wanted) :]), named
    assert len(named) == len(set(named)) == len(release.tables)
    notebook, terminal, text = Tables(release._repr_html_()), printed(release, monkeypatch), str(release)
    assert notebook.titles == named[:4] and notebook.captions == page.captions[:4]
    described = json.loads(to_csvw(release))
    assert [part["schema:name"] for part in described["schema:hasPart"]] == named
    assert [part["schema:description"] for part in described["schema:hasPart"]] == page.captions
    assert all(title in cited for title, cited in zip(named, described["dc:bibliographicCitation"], strict=True))
    _, *sheets, notes = load_workbook(BytesIO(to_xlsx(release)))
    assert [sheet["A1"].value for sheet in sheets] == named
    assert [sheet["A2"].value for sheet in sheets] == page.captions
    assert all(any(title in str(row[1]) for row in notes.iter_rows(values_only=True)) for title in named)
    for title, caption, cells in zip(named, page.captions, page.cells, strict=True):
        # One line a cell has no totals, whose marks a caption may explain.
        own = re.sub(r" [†‡][^.]*\.", "", caption)
        assert title in terminal and own in terminal
        # Of a long list the library prints the first tables.
        assert title not in named[:4] or (title in text and own in text)
        judged(caption, cells)


def judged(caption: str, cells: list[tuple[str, str]]) -> None:
    """A caption speaks of what is there, and every number whose margin reaches 0 is marked."""
    has_margin = any(error for _, error in cells)
    assert has_margin or not re.search(r"±|(?<!ithout a )margin", caption), caption
    assert has_margin is ("±" in caption), caption
    assert ("with sampling" in caption) is any("with sampling" in error for _, error in cells), caption
    for sign in "†‡":
        assert (sign in caption) is any(sign in value for value, _ in cells), (sign, caption)
    for value, error in cells:
        halves = [number_of(part) for part in error.split(";") if "±" in part]
        ends = [[number_of(end) for end in part.split(" – ")] for part in error.split(";") if " – " in part]
        is_open = any(abs(number_of(value)) <= half for half in halves) or any(low <= 0 <= high for low, high in ends)
        # A margin is rounded up for reading.
        is_near = any(abs(abs(number_of(value)) - half) <= 1 for half in halves)
        assert "‡" in value or not is_open or is_near, (value, error)
