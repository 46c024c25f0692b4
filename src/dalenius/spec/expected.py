"""Expected sizes of cells, for relative errors: from a release of ours, or from a file that the request declares
public; never from the data.

The file is read once, where the request is read. What is kept is its name, its digest, and for each listed margin the
mean of 1 / max(size, least)^2 over its cells, which is what a variance counts in a squared relative error.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from dalenius.core.law import FloatArray
from dalenius.core.rationals import plain
from dalenius.errors import DocumentError
from dalenius.spec.document import Exact, Part, Text, refusal, usual

LEAST = 10
_LARGEST = 200_000_000
_COUNTS = "count"
Sizes = dict[frozenset[str], tuple[tuple[str, ...], FloatArray]]
"""Axes and sizes of every table that a file holds, by its set of axes."""


class ExpectedPart(Part, section="expected"):
    """`expected` of a list of margins: a file of sizes, as written or as read."""

    file: Text = usual("", "A release.json, or a CSV file with a column for each axis and one called count.")
    public: bool = usual(False, "Whether the file is public; needed where it is not a release.")
    least: Exact = usual(Fraction(LEAST), "Smaller cells count as of this size.", gt=0)
    name: Text = usual("", "Name of the file that was read.")
    sha256: Text = usual("", "Its digest.")
    weights: tuple[Exact, ...] = usual((), "For each margin, what a variance counts.")


def with_expected(content: dict[str, Any], base: Path) -> dict[str, Any]:
    """A request whose file of expected sizes was read; any other as it is."""
    table = content.get("table")
    expected = table.get("expected") if isinstance(table, Mapping) else None
    if not isinstance(table, Mapping) or not isinstance(expected, Mapping) or not expected.get("file"):
        return content
    margins = table.get("margins")
    if not isinstance(margins, Sequence) or isinstance(margins, str):
        raise DocumentError("Expected sizes are those of listed margins: write margins as a list of lists.")
    try:
        part = ExpectedPart.model_validate(expected)
    except ValidationError as error:
        raise refusal("request document", error) from None
    path = base / part.file
    path = path / "release.json" if path.is_dir() else path
    raw = _bytes(path)
    sizes = _sizes(raw, path, is_public=part.public)
    weights = [plain(_weight(sizes, margin, float(part.least))) for margin in margins]
    read = {
        "least": plain(part.least),
        "name": path.name,
        "sha256": sha256(raw).hexdigest(),
        "weights": weights,
        "public": part.public,
    }
    return {**content, "table": {**table, "expected": read}}


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise DocumentError(f"The file of expected sizes {path.name!r} is larger than {_LARGEST:,} bytes.")
        return path.read_bytes()
    except OSError as error:
        raise DocumentError(
            f"The file of expected sizes {path.name!r} could not be read ({type(error).__name__})."
        ) from None


def _sizes(raw: bytes, path: Path, *, is_public: bool) -> Sizes:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DocumentError(f"The file of expected sizes {path.name!r} is not text.") from None
    if path.suffix.lower() == ".json":
        return _of_release(text, path.name)
    if not is_public:
        raise DocumentError(
            "Expected sizes come from a release, or from a public file: write public = true in expected if "
            f"{path.name!r} is one. Never take them from confidential data.",
            received=path.name,
        )
    return _of_csv(text, path.name)


def _of_release(text: str, name: str) -> Sizes:
    try:
        document = json.loads(text)
        is_release = str(document["format"]).startswith("dalenius-release/")
        tables = [t for t in document["tables"] if t["measure"] == "count"] if is_release else []
        sizes: Sizes = {}
        for table in tables:
            axes = [(axis["name"], len(axis["labels"])) for axis in table["space"]["axes"]]
            values = np.array(table["values"], dtype=np.float64).reshape([size for _, size in axes])
            sizes[frozenset(axis for axis, _ in axes)] = (tuple(axis for axis, _ in axes), values)
    except (ValueError, KeyError, TypeError):
        raise DocumentError(f"{name!r} is not a release document with its numbers in it.") from None
    if not sizes:
        raise DocumentError(f"{name!r} is not a release of counts.")
    return sizes


def _of_csv(text: str, name: str) -> Sizes:
    rows = list(csv.DictReader(StringIO(text)))
    names = tuple(key for key in (rows[0] if rows else {}) if key != _COUNTS)
    try:
        counts = [float(row[_COUNTS]) for row in rows]
    except (KeyError, ValueError, TypeError):
        raise DocumentError(f"{name!r} needs a column called {_COUNTS!r} with a number in every row.") from None
    codes, shape = [], []
    for key in names:
        labels, code = np.unique([str(row[key]) for row in rows], return_inverse=True)
        codes.append(code)
        shape.append(len(labels))
    values = np.zeros(shape)
    np.add.at(values, tuple(codes), counts)
    return {frozenset(names): (names, values)}


def _weight(sizes: Sizes, margin: Sequence[str], least: float) -> Fraction:
    """The mean of 1 / max(size, least)^2 over the cells of a margin, from the smallest table that has its axes."""
    wanted = frozenset(margin)
    holding = [(values.size, names, values) for key, (names, values) in sizes.items() if wanted <= key]
    if not holding:
        raise DocumentError(
            f"The file of expected sizes has no table with the axes {sorted(wanted)}; it needs each listed margin, "
            "or one that has its axes and more."
        )
    _, names, values = min(holding, key=lambda entry: entry[0])
    over = tuple(k for k, name in enumerate(names) if name not in wanted)
    summed = np.maximum(values.sum(axis=over), least)
    return Fraction(float(np.mean(summed**-2.0))).limit_denominator(10**18) or Fraction(1, 10**18)
