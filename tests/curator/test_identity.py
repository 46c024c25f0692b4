"""Registered data are digested once and then recognised by their stamps; a change is noticed, or cannot reach the counts."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius import Curator
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.errors import DataChanged
from dalenius.ledger import Ledger

VARIABLES = {"kind": {"categories": ["a", "b"]}}
POLICY = {"budget": {"rho": 100, "delta": "1e-6"}}


def request(number: int) -> dict[str, object]:
    return {"table": {"rows": ["kind"]}, "privacy": {"definition": "pure", "epsilon": f"1.{number:03d}"}}


def opened(ledger: Ledger, source: str = "", data: object = None) -> Curator:
    head = {"name": "d", "population": "p", "source": source}
    return Curator.open({"dataset": head, "variables": VARIABLES}, ledger=ledger, policy=POLICY, data=data)


@pytest.fixture
def digests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every digest that is taken of data."""
    taken: list[str] = []
    for kind in (DuckDBSource, MemorySource):
        plain = kind.fingerprint

        def counted(self, key, plain=plain):
            taken.append(type(self).__name__)
            return plain(self, key)

        monkeypatch.setattr(kind, "fingerprint", counted)
    return taken


def write(path: Path, rows: list[str]) -> None:
    pq.write_table(pa.table({"kind": rows}), path)


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(3):
        write(folder / f"{number}.parquet", ["a", "b", "b"])
    return folder


@pytest.mark.parametrize("pattern", ["0.parquet", "*.parquet"])
def test_a_file_and_a_glob_are_digested_once_in_a_process(
    tmp_path: Path, parts: Path, digests: list[str], pattern: str
) -> None:
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        opened(ledger, str(parts / pattern)).register(by="custodian")
        curator = opened(ledger, str(parts / pattern))
        digests.clear()
        for number in range(3):
            curator.release(request(number))
        assert len(digests) == 1


@pytest.mark.parametrize("change", ["content", "swapped", "added", "removed"])
def test_a_change_of_one_file_of_a_glob_is_noticed(tmp_path: Path, parts: Path, change: str) -> None:
    """Also where size and time of the file are what they were."""
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        curator = opened(ledger, str(parts / "*.parquet"))
        curator.register(by="custodian")
        curator.release(request(0))
        path, stat = parts / "1.parquet", (parts / "1.parquet").stat()
        if change == "content":
            path.write_bytes(path.read_bytes()[:-1] + b"\0")
        elif change == "swapped":
            other = tmp_path / "other.parquet"
            write(other, ["b", "a", "b"])
            os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            assert other.stat().st_size == stat.st_size
            other.replace(path)
        elif change == "added":
            write(parts / "9.parquet", ["a"])
        else:
            path.unlink()
        with pytest.raises(DataChanged):
            opened(ledger, str(parts / "*.parquet")).release(request(1))
        if change in ("content", "swapped"):
            with pytest.raises(DataChanged):
                curator.release(request(1))
        assert curator.holding._stamp() != curator.holding._checked


def test_a_table_in_memory_is_digested_once_and_counted_as_it_was(tmp_path: Path, digests: list[str]) -> None:
    """An Arrow column may lie in an array that the caller goes on writing to."""
    numbers = np.zeros(1000, dtype=np.int64)
    frame = pa.table({"kind": pa.array(numbers)})
    variables = {"kind": {"categories": ["0", "1"]}}
    document = {"dataset": {"name": "d", "population": "p"}, "variables": variables}
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        curator = Curator.open(document, ledger=ledger, policy=POLICY, data=frame)
        curator.register(by="custodian")
        digests.clear()
        first = curator.release(request(0))
        numbers[:] = 1
        assert frame.column("kind").to_pylist()[0] == 1
        second = curator.release(request(1))
        assert len(digests) == 1
        # Noise of scale one moves a count by 400 with a probability below exp(-400).
        assert first.values[0] > 600
        assert second.values[0] > 600
        with pytest.raises(DataChanged):
            Curator.open(document, ledger=ledger, policy=POLICY, data=frame).release(request(2))


def test_data_that_cannot_be_watched_are_digested_before_and_after_each_release(
    tmp_path: Path, digests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DuckDBSource, "stamp", lambda self: None)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        curator = opened(ledger, data={"kind": ["a", "b"]})
        curator.register(by="custodian")
        digests.clear()
        curator.release(request(0))
        curator.release(request(1))
        assert len(digests) == 4
