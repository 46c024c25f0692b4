"""What is odd in a column, counted by the database, against the scalar reader value by value."""

import csv
from collections import Counter
from fractions import Fraction
from math import inf, nan, nextafter
from pathlib import Path

import pyarrow as pa
import pytest

from dalenius.core.domain import Bounds, Categories, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.engines import _relation
from dalenius.engines._relation import plain_lines
from dalenius.engines.duckdb import DuckDBSource
from dalenius.spec.coding import reader

ENDS = {
    "tenths": Bounds(lower=Fraction(-3, 10), upper=Fraction(7, 10), step=Fraction(1, 10)),
    "thirds": Bounds(lower=Fraction(1, 3), upper=Fraction(5, 3), step=Fraction(1, 3)),
    "wide": Bounds(lower=Fraction(-(2**61)), upper=Fraction(2**61), step=Fraction(2**20)),
    "wider": Bounds(lower=Fraction(-(2**80)), upper=Fraction(2**80), step=Fraction(2**40)),
}
NEAR = [Fraction(-3, 10), Fraction(7, 10), Fraction(1, 3), Fraction(5, 3), Fraction(2**61), Fraction(-(2**80))]
FLOATS = [y for x in map(float, NEAR) for y in (nextafter(x, -inf), x, nextafter(x, inf))]
FLOATS += [0.0, -0.0, nan, inf, -inf, 5e-324, 1e300, None, 0.7, 0.1 + 0.2, 0.30000000000000004, -0.30000000000000004]
INTEGERS = [0, 1, 2, -1, 2**61, 2**61 + 1, -(2**61), -(2**61) - 1, 2**63 - 1, -(2**63), None]
TEXTS = ["0.7", "0.70", "0.7000000000000001", "-0.3", "-0.31", "1e-1", " 1", "1.", "nan", "inf", "-inf", "x", "", None]
TEXTS += ["0.700000000000000000001", "9" * 500, "1 2", "+1", "٣", "1e400", "-0", "2305843009213693952"]


def domain_of(domain: Bounds | Categories) -> Domain:
    return Domain(
        name="d", population="p", version="1", variables={"x": Variable(name="x", domain=domain)}, neighbours=Neighbours()
    )  # fmt: skip


def expected(domain: Domain, values: list[object]) -> dict[str, int]:
    read = reader(domain.variable("x"))
    counts = Counter(str(read(value)[1]) for value in values)
    return dict(counts)


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize(
    ("values", "kind"),
    [(FLOATS, pa.float64()), (INTEGERS, pa.int64()), (TEXTS, pa.string())],
    ids=["floats", "integers", "texts"],
)
def test_numbers_are_judged_as_one_by_one(name: str, values: list[object], kind: pa.DataType) -> None:
    domain = domain_of(ENDS[name])
    source = DuckDBSource(domain, pa.table({"x": pa.array(values * 2, kind)}))
    found = source.judge()["variables"]["x"]
    assert {note: n for note, n in found.items() if n} == expected(domain, values * 2)


def test_all_columns_of_a_csv_file_are_judged_in_one_pass(tmp_path: Path) -> None:
    texts = [t for t in TEXTS if t and "\n" not in t]
    path = tmp_path / "rows.csv"
    path.write_text("x,y,z\n" + "".join(f"{t},{i % 3},{t}\n" for i, t in enumerate(texts)))
    variables = {
        "x": Variable(name="x", domain=ENDS["tenths"]),
        "y": Variable(name="y", domain=Categories(labels=("0", "1"))),
        "z": Variable(name="z", domain=ENDS["wider"]),
    }
    domain = Domain(name="d", population="p", version="1", variables=variables, neighbours=Neighbours())
    report = DuckDBSource(domain, path).judge()
    columns = {"x": texts, "y": [str(i % 3) for i in range(len(texts))], "z": texts}
    for name, values in columns.items():
        read = reader(variables[name])
        counts = Counter(str(read(value)[1]) for value in values)
        assert {note: n for note, n in report["variables"][name].items() if n} == counts
    assert (report["rows"], report["rows_skipped"]) == (len(texts), 0)


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 1 << 22])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a,b\n1,2\n3,4\n", 3),
        (b"a,b\n1,2\n3,4", 3),
        (b"a,b\r\n1,2\r\n3,4\r\n", 3),
        (b"a,b\r\n1,2\n3,4\r\n", None),
        (b"a\r1\r2\r", None),
        (b"a\n\n1\n", None),
        (b"a\r\n\r\n1\r\n", None),
        (b"\na\n1\n", None),
        (b'a\n"1"\n', None),
        (b"", 0),
        (b"\xef\xbb\xbfa,b\n1,2", 2),
        (b"a\x00b\nc\xff\n", 2),
    ],
)
def test_lines_are_counted_without_a_reader_only_where_every_reader_agrees(
    content: bytes, lines: int | None, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_relation, "_CHUNK", chunk)
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    assert plain_lines(path) == lines
    if lines is not None:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            assert len([record for record in csv.reader(stream) if record]) == lines


def test_a_long_line_is_left_to_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a\n" + b"1" * 140_000 + b"\n2\n")
    assert plain_lines(path) is None
    path.write_bytes(b"a\n" + b"1" * 30_000 + b"\n2\n")
    assert plain_lines(path) == 3
