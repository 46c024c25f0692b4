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


def seen(tmp_path: Path) -> list[Path]:
    """What is remembered of digested files."""
    return list((tmp_path / "ledger.sqlite.keys").glob("*.seen"))


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


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a test are new; here they count as long written."""
    monkeypatch.setattr("dalenius.curator.source.SETTLED_SECONDS", -3600.0)


@pytest.mark.parametrize("change", ["content", "time set back", "swapped", "added", "removed"])
@pytest.mark.usefixtures("settled")
def test_a_change_of_one_file_of_a_glob_is_noticed(tmp_path: Path, parts: Path, change: str) -> None:
    """Also where size and time of the file are what they were, and also by a process that has not read the files."""
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        curator = opened(ledger, str(parts / "*.parquet"))
        curator.register(by="custodian")
        curator.release(request(0))
        path, stat = parts / "1.parquet", (parts / "1.parquet").stat()
        if change == "content":
            path.write_bytes(path.read_bytes()[:-1] + b"\0")
        elif change == "time set back":
            path.write_bytes(path.read_bytes()[:-1] + b"\0")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
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
        if change not in ("added", "removed"):
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


@pytest.mark.usefixtures("settled")
def test_a_later_process_knows_registered_files_by_their_stamp(tmp_path: Path, parts: Path, digests: list[str]) -> None:
    pattern = str(parts / "*.parquet")
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        opened(ledger, pattern).register(by="custodian")
        digests.clear()
        for number in range(2):
            opened(ledger, pattern).release(request(number))
        assert not digests
        # A touched file is read once more, and known again after that.
        os.utime(parts / "0.parquet")
        for number in range(2, 4):
            opened(ledger, pattern).release(request(number))
        assert len(digests) == 1
        careful = opened(ledger, pattern)
        careful.holding.trusts_earlier = False
        careful.release(request(4))
        assert len(digests) == 2


@pytest.mark.parametrize("content", ["", "00" * 32, "another registration's", "\xff"])
@pytest.mark.usefixtures("settled")
def test_what_is_remembered_of_a_file_cannot_be_made_up(
    tmp_path: Path, parts: Path, digests: list[str], content: str
) -> None:
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        opened(ledger, str(parts / "0.parquet")).register(by="custodian")
        [path] = seen(tmp_path)
        assert path.stat().st_mode & 0o777 == 0o600
        if content == "another registration's":
            head = {"name": "e", "population": "p", "source": str(parts / "*.parquet")}
            other = Curator.open({"dataset": head, "variables": VARIABLES}, ledger=ledger, policy=POLICY)
            other.register(by="custodian")
            [own] = set(seen(tmp_path)) - {path}
            content = own.read_text()
        path.write_bytes(content.encode("latin-1"))
        digests.clear()
        opened(ledger, str(parts / "0.parquet")).release(request(0))
        assert len(digests) == 1


def test_a_file_that_was_just_written_is_read_by_the_next_process_too(
    tmp_path: Path, parts: Path, digests: list[str]
) -> None:
    """A change within the resolution of the clock would not change its times."""
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        opened(ledger, str(parts / "0.parquet")).register(by="custodian")
        assert not seen(tmp_path)
        digests.clear()
        opened(ledger, str(parts / "0.parquet")).release(request(0))
        assert len(digests) == 1
