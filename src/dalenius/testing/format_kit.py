"""The kit that every format must pass: it names its files, leaves nothing out, and what can be read reads back.

Text is read by readers of the standard library: every label of a table must be there, and every released number.
"""

import csv
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from dalenius.core.release import Release
from dalenius.publish import Format, formats, load, save
from dalenius.shown.display import displayed
from dalenius.testing.adjustment_kit import simulated

NUMBER = re.compile(r"[-−]?\d[\d,\u202f]*(?:\.\d+)?")


def check(form: Format, folder: Path) -> None:
    assert form.name.isidentifier(), f"{form.name!r} is no name"
    assert form.suffixes and all(s.startswith(".") for s in form.suffixes), f"{form.name} has no ending"
    assert form.media_type.count("/") == 1, f"{form.name} has no media type"
    for release in (simulated(0)[0], simulated(1)[0]):
        content = form.content(release)
        assert content, f"{form.name} writes nothing"
        assert form.content(release) == content, f"{form.name} writes two things"
        if form.describes:
            assert form.describes in formats(), f"{form.name} describes no format"
            continue
        check_content(form, release, content)
        if form.is_per_table:
            for table in release.tables:
                assert form.content(release, table), f"{form.name} writes nothing of {table.name!r}"
        if form.read is not None:
            back = form.read(content)
            assert isinstance(back, Release), f"{form.name} does not read back"
            assert form.content(back) == content, f"{form.name} does not read back what it wrote"
        for suffix in form.suffixes:
            place = save(release, folder / f"release{suffix}")
            assert place.read_bytes() == content, f"{suffix} is written by another format"
            assert form.read is None or form.content(load(place)) == content


def check_content(form: Format, release: Release, content: bytes) -> None:
    """Every label and number of the first table, as an independent reader finds them."""
    table = release.tables[0]
    texts = list(_texts(form, content))
    whole = "\n".join(texts)
    for axis in table.space.axes:
        for label in (axis.name, *axis.labels):
            assert label in whole, f"{form.name} leaves out the label {label!r}"
    plain = str.maketrans({",": "", "\u202f": "", "−": "-"})
    numbers = {float(n.translate(plain)) for text in texts for n in NUMBER.findall(text)}
    # Pages for readers may show the numbers as they are displayed: whole and additive, with one precision.
    display = displayed(release)[0]
    for value, shown in zip(table.values, display.values.round(display.digits), strict=True):
        assert any(abs(value - n) < 0.051 or n == shown for n in numbers), f"{form.name} leaves out {value}"
    assert numbers - {float(v) for v in table.values}, f"{form.name} leaves out the errors"


def _texts(form: Format, content: bytes) -> Iterator[str]:
    """What stands in a document, by a reader of its media type; one with no such reader must read itself."""
    if form.media_type in ("text/csv", "text/tab-separated-values"):
        delimiter = "," if form.media_type == "text/csv" else "\t"
        for line in csv.reader(StringIO(content.decode()), delimiter=delimiter):
            yield from line
    elif form.media_type == "application/json":
        yield from _leaves(json.loads(content))
    elif form.media_type == "text/html":
        reader = _Reader()
        reader.feed(content.decode())
        yield from reader.texts
    elif form.media_type.endswith("spreadsheetml.sheet"):
        from openpyxl import load_workbook

        for sheet in load_workbook(BytesIO(content)):
            for line in sheet.iter_rows(values_only=True):
                yield from (f"{value:f}" if isinstance(value, float) else str(value) for value in line)
    elif form.media_type.startswith("text/"):
        yield from content.decode().splitlines()
    else:
        assert form.read is not None, f"nothing reads {form.media_type}; state how {form.name} is read"
        yield from _leaves([[t.space.axes, t.values.tolist(), t.variance.tolist()] for t in form.read(content).tables])


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield str(key)
            yield from _leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield str(value)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
