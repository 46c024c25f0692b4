"""The default engine: files and frames of every kind, damaged files, and nothing of the content in messages."""

import csv
import gzip
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.engines import duckdb as engine
from dalenius.engines._choice import open_source
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError, DocumentError, InternalError, TooLarge, UnknownName
from dalenius.spec.axis import AxisPart, axis_of
from dalenius.spec.load import load_dataset
from dalenius.testing.toy import toy_domain, toy_rows

DOMAIN = toy_domain(unit_id="person", max_rows=2)
ROWS = toy_rows()
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
TABLE = pa.table(COLUMNS)
SPACE = CellSpace(tuple(axis_of(name, DOMAIN) for name in ("sex", "region", "status")))
COUNT = TableQuery(space=SPACE)
TOTAL = TableQuery(space=SPACE, function=RowFunction.of(Power("income")))


def _write(kind: str, folder: Path) -> Any:
    path = folder / f"data.{kind}"
    if kind == "parquet":
        pq.write_table(TABLE, path)
    elif kind in ("csv", "tsv"):
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, delimiter="," if kind == "csv" else "\t")
            writer.writerow(COLUMNS)
            for row in ROWS:
                writer.writerow(["" if v is None else v for v in row.values()])
    elif kind == "duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.register("given", TABLE)
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return path


def _frame(kind: str) -> Any:
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(COLUMNS)
    if kind == "polars":
        import polars as pl

        return pl.DataFrame(COLUMNS)
    return {"arrow": TABLE, "columns": COLUMNS, "rows": ROWS}[kind]


KINDS = ["parquet", "csv", "tsv", "duckdb", "pandas", "polars", "arrow", "columns", "rows"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_answers(kind: str, tmp_path: Path) -> None:
    is_file = kind in ("parquet", "csv", "tsv", "duckdb")
    data = _write(kind, tmp_path) if is_file else _frame(kind)
    source = DuckDBSource(DOMAIN, data, b"s")
    reference = MemorySource.open(DOMAIN, ROWS, b"s")
    for query in (COUNT, TOTAL):
        np.testing.assert_array_equal(
            source.table(query).open_below_the_gate(), reference.table(query).open_below_the_gate()
        )
    assert source.judge()["rows_kept"] == reference.judge()["rows_kept"]
    assert source.fingerprint(b"k") == DuckDBSource(DOMAIN, data, b"s").fingerprint(b"k")
    assert MemorySource.open(DOMAIN, _frame("pandas"), b"s").judge()["rows"] == 12


def test_open_by_document_relative_to_it(tmp_path: Path) -> None:
    _write("parquet", tmp_path)
    (tmp_path / "dataset.toml").write_text(
        '[dataset]\nname="d"\npopulation="p"\nsource="data.parquet"\n[variables.sex]\ncategories=["female","male"]\n'
    )
    document = load_dataset(tmp_path / "dataset.toml")
    source = open_source(document)
    space = CellSpace((axis_of("sex", source.domain),))
    assert source.table(TableQuery(space=space)).open_below_the_gate().tolist() == [5, 5]
    with pytest.raises(DocumentError, match="no data file"):
        open_source(document.at(tmp_path / "elsewhere"))


def test_any_changed_byte_changes_the_fingerprint(tmp_path: Path) -> None:
    path = _write("parquet", tmp_path)
    before = DuckDBSource(DOMAIN, path).fingerprint(b"k")
    pq.write_table(TABLE.slice(1), path)
    assert DuckDBSource(DOMAIN, path).fingerprint(b"k") != before
    sliced = pa.concat_tables([TABLE.slice(0, 5), TABLE.slice(5)])
    assert DuckDBSource(DOMAIN, sliced).fingerprint(b"k") == DuckDBSource(DOMAIN, TABLE).fingerprint(b"k")


def test_large_and_small_roads_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = toy_domain()
    source = DuckDBSource(domain, TABLE)
    small = source.table(COUNT).open_below_the_gate()
    monkeypatch.setattr(engine, "GROUPED_CELLS", 0)
    np.testing.assert_array_equal(source.table(COUNT).open_below_the_gate(), small)


def test_many_categories_and_their_nulls() -> None:
    """More categories than an 8-bit index holds, with missing and undeclared values apart."""
    for size in (250, 254, 255, 256, 300, 70_000):
        document = load_dataset(
            {
                "dataset": {"name": "d", "population": "p"},
                "variables": {"x": {"categories": [f"c{i}" for i in range(size)], "missing": "c1", "unseen": "c2"}},
            }
        )
        domain = document.domain()
        data = {"x": ["c0", None, "other", f"c{size - 1}"]}
        query = TableQuery(space=CellSpace((axis_of("x", domain),)))
        expected = MemorySource.open(domain, data).table(query).open_below_the_gate()
        assert expected[:3].tolist() == [1, 1, 1]
        for streams in (False, True):
            source = DuckDBSource(domain, data)
            if streams:
                source._may_group = lambda query, names: False  # type: ignore[method-assign]
            np.testing.assert_array_equal(source.table(query).open_below_the_gate(), expected)


@pytest.mark.parametrize(
    ("rules", "counts"),
    [
        ({}, [3, 2, 3]),
        ({"outside": "drop"}, [2, 2, 2]),
        ({"missing": 50, "outside": "drop"}, [2, 4, 2]),
        ({"missing": 0}, [5, 2, 3]),
    ],
)
@pytest.mark.parametrize("step", [1, "1/4"])
def test_open_classes_hold_declared_values_only(
    rules: dict[str, Any], counts: list[int], step: Any, tmp_path: Path
) -> None:
    """Missing values and those beyond the bounds follow their rules; an open end adds neither."""
    variables = {"x": {"bounds": [0, 100], "step": step} | rules}
    domain = load_dataset({"dataset": {"name": "d", "population": "p"}, "variables": variables}).domain()
    data: list[float | None] = [None, float("nan"), -5, 0, 17, 18, 64, 65, 100, 120]
    space = CellSpace((axis_of(AxisPart.model_validate({"variable": "x", "cuts": [18, 65]}), domain),))
    path = tmp_path / "data.csv"
    path.write_text("x\n" + "\n".join("" if x is None else str(x) for x in data) + "\n")
    columns = {"x": data}
    streamed = DuckDBSource(domain, columns)
    streamed._may_group = lambda query, names: False  # type: ignore[method-assign]
    sources = [MemorySource.open(domain, columns), DuckDBSource(domain, columns), streamed]
    for source in (*sources, DuckDBSource(domain, path)):
        assert source.table(TableQuery(space=space)).open_below_the_gate().tolist() == counts


def test_values_beyond_int64_and_odd_types() -> None:
    document = load_dataset(
        {
            "dataset": {"name": "d", "population": "p"},
            "variables": {"x": {"bounds": [0, 10], "step": 1}, "y": {"categories": ["2020-01-01", "b"]}},
        }
    )
    domain = document.domain()
    connection = duckdb.connect()
    statement = (
        "SELECT * FROM (VALUES (170141183460469231731687303715884105727::HUGEINT, DATE '2020-01-01'),"
        " (-5, NULL), (3, DATE '1999-12-31')) t(x, y)"
    )
    data = connection.sql(statement).to_arrow_table()
    query = TableQuery(space=CellSpace((axis_of("y", domain),)), function=RowFunction.of(Power("x")))
    assert DuckDBSource(domain, data).table(query).open_below_the_gate().tolist() == [10, 0]
    unsigned = pa.table({"x": pa.array([2**64 - 1, 4], pa.uint64()), "y": ["b", "b"]})
    assert DuckDBSource(domain, unsigned).table(query).open_below_the_gate().tolist() == [0, 14]


def test_a_csv_row_never_changes_how_others_are_read(tmp_path: Path) -> None:
    """A sniffed type would read "01" as 1 until a row with letters arrives."""
    domain = load_dataset(
        {"dataset": {"name": "d", "population": "p"}, "variables": {"x": {"categories": ["01", "1"]}}}
    ).domain()
    query = TableQuery(space=CellSpace((axis_of("x", domain),)))
    for content in ("x\n01\n1\n", "x\n01\n1\nabc\n", "x\n01\n1\n1,2,3\n"):
        path = tmp_path / "data.csv"
        path.write_text(content)
        assert DuckDBSource(domain, path).table(query).open_below_the_gate().tolist() == [1, 1]


def test_a_csv_row_with_an_undeclared_text_is_not_lost(tmp_path: Path) -> None:
    """A cast to the declared texts, moved into the CSV reader, would skip the whole row."""
    variables = {"x": {"categories": ["a"]}, "y": {"categories": ["a"]}, "n": {"bounds": [0, 9], "step": 1}}
    domain = load_dataset({"dataset": {"name": "d", "population": "p"}, "variables": variables}).domain()
    path = tmp_path / "data.csv"
    path.write_text("x,y,n\na,b,1\nb,a,x\na,a,\n")
    source = DuckDBSource(domain, path)
    batches = list(source.scan(["x", "y", "n"]))
    dropped = -(2**63)
    rows = sorted(zip(*(np.concatenate([b[k] for b in batches]).tolist() for k in ("x", "y", "n")), strict=True))
    assert rows == [(-1, 0, dropped), (0, -1, 1), (0, 0, dropped)]


def test_the_custodian_learns_of_skipped_csv_lines(tmp_path: Path) -> None:
    domain = load_dataset(
        {"dataset": {"name": "d", "population": "p"}, "variables": {"x": {"categories": ["1"]}}}
    ).domain()
    path = tmp_path / "data.csv"
    for content, skipped in (("x,y\n1,2\n1,2\n", 0), ("x,y\n1,2\n1,2,3\n1,2\n", 1)):
        path.write_text(content)
        assert DuckDBSource(domain, path).judge()["rows_skipped"] == skipped


@pytest.mark.parametrize(
    "content",
    [
        b'x,y\n1,2\n"1,2\n1,2\n',
        b'x,y\n1,"2\n3"\n',
        b"x,y\n1,2\r\n1,2\n",
        b"x,y\n1,2\r1,2\n",
        b'x,y\n "1,2\n1,2\n1,2\n',
        b'x,y\n1, "2\n1,2\n1,2\n',
        b'x,y\n"1" "1,2\n1,2\n1,2\n',
    ],
    ids=["unclosed", "spanning", "mixed ends", "lone return", "after a space", "later field", "opened again"],
)
def test_a_csv_file_in_which_one_row_could_hide_others_is_refused(tmp_path: Path, content: bytes) -> None:
    domain = load_dataset(
        {"dataset": {"name": "d", "population": "p"}, "variables": {"x": {"categories": ["1"]}}}
    ).domain()
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(DocumentError, match="hide every row"):
        DuckDBSource(domain, path).judge()


def test_a_quotation_mark_inside_a_field_is_a_character_like_any_other(tmp_path: Path) -> None:
    domain = load_dataset(
        {"dataset": {"name": "d", "population": "p"}, "variables": {"x": {"categories": ["1"]}}}
    ).domain()
    path = tmp_path / "data.csv"
    path.write_bytes(b'x,y\n1,6" nails\n"1","a ""b"" c"\n1,"a" \n"1",2\n1, a "b"\n')
    assert DuckDBSource(domain, path).judge()["rows"] == 5


def test_plain_files_with_either_line_end_are_read(tmp_path: Path) -> None:
    domain = load_dataset(
        {"dataset": {"name": "d", "population": "p"}, "variables": {"x": {"categories": ["1"]}}}
    ).domain()
    for end in ("\n", "\r\n"):
        path = tmp_path / "data.csv"
        path.write_bytes(("x,y" + end + ("1,2" + end) * 3).encode())
        assert DuckDBSource(domain, path).judge()["rows"] == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("binary.csv", b"\xff\xfe\x00secret-cell\n"),
        ("twice.csv", b"sex,sex\nfemale,male\n"),
        ("broken.parquet", b"PAR1 secret-cell"),
        ("broken.duckdb", b"secret-cell" * 1000),
    ],
)
def test_unreadable_files_are_refused_without_showing_them(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DocumentError) as caught:
        DuckDBSource(DOMAIN, path)
    assert "secret-cell" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_column_that_is_not_there_or_is_nested() -> None:
    with pytest.raises(UnknownName, match="lack 1 of"):
        DuckDBSource(DOMAIN, TABLE.drop_columns(["age"]))
    nested = TABLE.set_column(1, "sex", pa.array([["a"]] * len(ROWS)))
    with pytest.raises(DocumentError, match="nested"):
        DuckDBSource(DOMAIN, nested)


@pytest.mark.parametrize(
    ("name", "columns"), [("wide.csv", 100_000), ("wide.tsv", 4_097), ("long.csv", 4_000), ("wide.csv.gz", 5_000)]
)
def test_a_header_too_wide_for_the_reader_is_refused_before_it_is_read(
    name: str, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database would take minutes for such a header, so it must not see it."""
    path = tmp_path / name
    sign = "\t" if ".tsv" in name else ","
    width = 300 if name.startswith("long") else 1
    content = (sign.join(f"{i:0{width}}" for i in range(columns)) + "\n").encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    monkeypatch.setattr(csv, "reader", lambda *_, **__: pytest.fail("the header was taken apart"))
    with pytest.raises(TooLarge, match="at most 4,096 columns"):
        DuckDBSource(DOMAIN, path)


def test_a_file_that_breaks_later_shows_nothing(tmp_path: Path) -> None:
    path = _write("parquet", tmp_path)
    source = DuckDBSource(toy_domain(), path)
    path.write_bytes(b"PAR1" + b"secret-cell" * 50 + b"PAR1")
    with pytest.raises(DaleniusError) as caught:
        source.table(COUNT)
    assert isinstance(caught.value, InternalError)
    assert "secret-cell" not in str(caught.value)
    assert str(path) not in str(caught.value)


def test_a_count_of_a_value_leaves_out_the_rows_that_lack_it() -> None:
    domain = load_dataset(
        {
            "dataset": {"name": "d", "population": "p"},
            "variables": {"sex": {"categories": ["f", "m"]}, "pay": {"bounds": [0, 9], "step": 1}},
        }
    ).domain()
    columns = {"sex": ["f", "f", "m", "m"], "pay": [1, None, 2, 99]}
    query = TableQuery(space=CellSpace((axis_of("sex", domain),)), function=RowFunction.present("pay"))
    for source in (DuckDBSource(domain, columns), MemorySource(domain, columns)):
        assert source.table(query).open_below_the_gate().tolist() == [1, 2]
