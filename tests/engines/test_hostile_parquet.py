"""Parquet files that lie, swell or are broken: read as they are, or refused before anything is registered, without a word of their content."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines.hostile_parquet import ROWS, SAID, domain, mixed, with_wrong_statistics

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.query import Aggregate, LabelsQuery, Power, Query, RowFunction, TableQuery, ValuesQuery
from dalenius.curator.gate import fetched
from dalenius.engines import _relation
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError, DocumentError, InternalError, TooLarge

SPACE = CellSpace((Axis(variable="group", labels=("a", "b", "other"), codes=(0, 1, 2)),))
QUERIES: tuple[Query, ...] = (
    TableQuery(space=SPACE),
    TableQuery(space=SPACE, where=(Filter(variable="amount", low=6),)),
    TableQuery(space=SPACE, function=RowFunction.of(Power("amount"))),
    TableQuery(space=CellSpace(()), aggregate=Aggregate.MAXIMUM, function=RowFunction.of(Power("amount"))),
    ValuesQuery(value="amount"),
    LabelsQuery(variable="group"),
)


@pytest.mark.parametrize("has_persons", [False, True], ids=["rows", "persons"])
def test_wrong_statistics_change_no_answer(tmp_path: Path, has_persons: bool) -> None:
    """The database would otherwise skip parts, cut values to the stated range, or fail after the charge."""
    path = with_wrong_statistics(tmp_path / "lie.parquet")
    source = DuckDBSource(domain(has_persons=has_persons), path, b"secret")
    memory = MemorySource(domain(has_persons=has_persons), ROWS, b"secret")
    for query in QUERIES:
        received, expected = (fetched(one, query).open_below_the_gate() for one in (source, memory))
        assert list(received) == list(expected), query
    assert source.judge() == memory.judge()


def test_the_statistics_of_that_file_are_wrong_indeed(tmp_path: Path) -> None:
    path = with_wrong_statistics(tmp_path / "lie.parquet")
    stated = pq.ParquetFile(path).metadata.row_group(0).column(0).statistics
    assert (stated.min, stated.max) == (1, 1) and pq.read_table(path)["person"][0].as_py() == 1000


def test_a_small_file_of_very_many_rows_is_counted_in_little_memory(tmp_path: Path) -> None:
    """Ten million rows in a few kilobytes: what is read is let go of."""
    path, rows = tmp_path / "long.parquet", 10_000_000
    with pq.ParquetWriter(path, pa.schema([("group", pa.string()), ("amount", pa.int8())])) as writer:
        part = pa.table({"group": pa.array(["b"] * 100_000), "amount": pa.array(np.ones(100_000, dtype=np.int8))})
        for _ in range(rows // len(part)):
            writer.write_table(part)
    assert path.stat().st_size < 200_000
    counted = DuckDBSource(domain(has_persons=False), path).table(QUERIES[0])  # type: ignore[arg-type]
    assert counted.open_below_the_gate().tolist() == [0, rows, 0]


def test_a_column_that_would_fill_the_memory_is_refused_by_what_the_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.parquet"
    table = pa.table({"group": ["nowhere" * 1_000_000], "amount": [1], "undeclared": [1]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    assert path.stat().st_size < 100_000
    assert DuckDBSource(domain(has_persons=False), path).judge()["rows"] == 1
    monkeypatch.setattr(_relation, "LARGEST_CHUNK", 1 << 20)
    with pytest.raises(TooLarge, match="MiB") as caught:
        DuckDBSource(domain(has_persons=False), path)
    assert "nowhere" not in str(caught.value)


@pytest.mark.parametrize("content", ["text", "cut", "no footer", "long footer", "other layout", "nested", "empty"])
def test_broken_files_are_refused_without_a_word_of_their_content(tmp_path: Path, content: str) -> None:
    path = tmp_path / "broken.parquet"
    rows: dict[str, Any] = {**ROWS, "group": ["nowhere"] * 200}
    pq.write_table(pa.table(rows), path)
    whole = path.read_bytes()
    match content:
        case "text":
            path.write_text("PAR1 nowhere PAR1")
        case "cut":
            path.write_bytes(whole[: len(whole) // 2] + b"PAR1")
        case "no footer":
            path.write_bytes(whole[:-8] + b"\0\0\0\0PAR1")
        case "long footer":
            path.write_bytes(whole[:-8] + b"\xff\xff\xff\x7fPAR1")
        case "other layout":
            mixed(path, {**rows, "amount": [1] * 200}, {n: v * 3 for n, v in SAID.items()})
        case "nested":
            pq.write_table(pa.table({**rows, "amount": [["nowhere"]] * 200}), path)
        case _:
            path.write_bytes(b"")
    with pytest.raises(DaleniusError) as caught:
        DuckDBSource(domain(has_persons=False), path).judge()
    assert isinstance(caught.value, DocumentError | InternalError)
    assert "nowhere" not in str(caught.value)
