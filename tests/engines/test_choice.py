"""Engines are chosen by what they accept; a new one is a file that nothing else names."""

from pathlib import Path
from typing import Any

import pytest
from tests.architecture.plants import ENGINE

from dalenius.core import registry
from dalenius.curator.curator import Curator
from dalenius.engines._choice import engine_for, open_source, suffixes
from dalenius.engines.duckdb import DuckDBSource
from dalenius.errors import DocumentError, RequestError
from dalenius.spec.load import load_dataset
from dalenius_lab.planting import planted

DOCUMENT: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {"sex": {"categories": ["f", "m"]}},
}


@pytest.mark.parametrize("data", ["a.csv", Path("b.parquet"), "persons.unheard", {"sex": []}, [{"sex": "f"}]])
def test_files_and_tables_in_memory_go_to_the_general_engine(data: object) -> None:
    assert engine_for(data) is DuckDBSource


@pytest.mark.parametrize("data", [3, object(), b"bytes"])
def test_what_no_engine_accepts_is_refused_by_its_type(data: object) -> None:
    with pytest.raises(RequestError, match=f"received {type(data).__name__}"):
        engine_for(data)


def test_every_engine_states_what_it_accepts() -> None:
    for name, engine in registry.every("engines").items():
        assert engine.turn in (0, 1, 2), name
        assert not engine.accepts(object()), name
        assert all(suffix.startswith(".") for suffix in engine.suffixes), name
    assert {".csv", ".csv.gz", ".parquet", ".duckdb"} <= set(suffixes())


def test_a_document_without_a_file_is_refused() -> None:
    with pytest.raises(DocumentError, match="names no file"):
        open_source(load_dataset(DOCUMENT))


def test_a_new_engine_is_one_file_and_answers_the_curator(tmp_path: Path) -> None:
    (tmp_path / "data.columns").write_text('{"sex": ["f", "f", "m"]}')
    content = DOCUMENT | {"dataset": {**DOCUMENT["dataset"], "source": "data.columns"}}
    document = load_dataset(content).at(tmp_path)
    with (
        planted("engines", "columns", ENGINE),
        Curator.open(document, ledger=tmp_path / "ledger.sqlite", policy={"budget": {"rho": 300}}) as curator,
    ):
        assert engine_for("data.columns").__name__ == "ColumnsFile"
        assert curator.register().reveal()["rows"] == 3
        request = {"table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": 20}}
        assert curator.release(request).table.values.tolist() == [2, 1]
    assert engine_for("data.columns") is DuckDBSource
    assert "columns" not in registry.names("engines")
