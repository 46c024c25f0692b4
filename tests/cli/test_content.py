"""No message shows what a file holds: whatever file is put in the place of another, none of its words is repeated."""

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.cli.output import complain, translated
from dalenius.engines.memory import MemorySource
from dalenius.errors import DocumentError, UnknownName
from dalenius.server.config import ServerConfig
from dalenius.spec.load import load_dataset

RUNNER = CliRunner()
DATASET = """
[dataset]
name = "patients"
population = "patients"
source = "patients.csv"
[unit]
id = "person"
[variables.surname]
categories = ["a", "b"]
[variables.illness]
categories = ["c", "d"]
"""
REQUEST = """
dataset = "dataset.toml"
[table]
rows = ["illness"]
[privacy]
definition = "pure"
epsilon = 1
"""
WORDS = ("Quillfeldt", "illnes_s", "tuberculosis", "98765")
RECORD = "Quillfeldt,illnes_s,98765,tuberculosis"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "request.toml").write_text(REQUEST)
    return tmp_path


def text_file(content: str) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        (folder / "patients.csv").write_bytes(content.encode("latin-1"))
        return "patients.csv"

    return write


def database(tables: int) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        with duckdb.connect(str(folder / "patients.duckdb")) as connection:
            for number in range(tables):
                connection.execute(f"CREATE TABLE Quillfeldt{number} (tuberculosis INTEGER, illnes_s INTEGER)")
        return "patients.duckdb"

    return write


def parquet(folder: Path) -> str:
    duckdb.sql("SELECT 98765 AS Quillfeldt, 'tuberculosis' AS illnes_s").write_parquet(str(folder / "patients.parquet"))
    return "patients.parquet"


FILES = {
    "without a header": text_file(f"{RECORD}\n{RECORD}\n"),
    "with one declared column": text_file(f"surname,{RECORD}\n"),
    "with a name twice": text_file("Quillfeldt,Quillfeldt,98765\n"),
    "of other bytes": text_file("Quillfeldt,tuberculosis\xff,98765\n"),
    "with a field too long": text_file(f"{'Quillfeldt' * 20_000},98765\n"),
    "of another format": text_file("PAR1 Quillfeldt 98765 PAR1"),
    "a Parquet file": parquet,
    "a database of one table": database(1),
    "a database of three tables": database(3),
}


def said_by(*arguments: object) -> str:
    """Everything a failed command says, in its own words and in JSON, with the error's detail."""
    done = RUNNER.invoke(app, [str(a) for a in arguments])
    assert done.exception is not None
    error = translated(done.exception)
    complain(error, as_json=True)
    return done.output + error.message + json.dumps(error.to_dict(), default=str)


@pytest.mark.parametrize("verb", ["check", "register"])
@pytest.mark.parametrize("write", FILES.values(), ids=FILES)
def test_a_file_that_does_not_fit_is_refused_without_a_word_of_it(
    folder: Path, write: Callable[[Path], str], verb: str
) -> None:
    (folder / "dataset.toml").write_text(DATASET.replace("patients.csv", write(folder)))
    said = said_by(verb, folder / "dataset.toml")
    assert not [word for word in WORDS if word in said], said


def test_a_refused_file_is_told_which_declared_columns_it_lacks(folder: Path) -> None:
    (folder / "patients.csv").write_text(f"{RECORD}\n")
    done = RUNNER.invoke(app, ["check", str(folder / "dataset.toml")])
    assert isinstance(done.exception, UnknownName)
    assert "3 of 3 declared columns: 'surname', 'illness', 'person'" in done.exception.message
    assert done.exception.detail["missing"] == ["surname", "illness", "person"]


def test_every_engine_refuses_alike(folder: Path) -> None:
    domain = load_dataset(folder / "dataset.toml").domain()
    with pytest.raises(UnknownName, match="lack 3 of 3 declared columns") as caught:
        MemorySource.open(domain, {word: [1] for word in WORDS})
    assert not [word for word in WORDS if word in str(caught.value.to_dict())]


UNREADABLE = [
    f"{RECORD}\n",
    f"[{WORDS[0]}]\n[{WORDS[0]}]\n",
    f"{WORDS[0]} = {WORDS[2]}\n",
    f'a = "{WORDS[0]}\n{WORDS[2]}"\n',
    f"a = {{ {WORDS[0]} = 1, {WORDS[0]} = 2 }}",
]
OTHER = [f'{{"{WORDS[0]}": {{"{WORDS[2]}": 98765}}}}', f'{{"{WORDS[0]}": {WORDS[2]}}}', f'["{WORDS[0]}", 98765]']


@pytest.mark.parametrize("content", UNREADABLE + OTHER)
def test_data_in_the_place_of_a_document_are_not_quoted(folder: Path, content: str) -> None:
    place = folder / "data.txt"
    place.write_text(content)
    for arguments in (("check",), ("show",), ("infer", "interval")):
        said = said_by(*arguments, place)
        assert not [word for word in WORDS if word in said], said


@pytest.mark.parametrize("content", UNREADABLE)
def test_data_in_the_place_of_rules_or_settings_are_not_quoted(folder: Path, content: str) -> None:
    place = folder / "data.txt"
    place.write_text(content)
    (folder / "patients.csv").write_text("surname,illness,person\n")
    with pytest.raises(DocumentError) as caught:
        ServerConfig.load(place)
    said = str(caught.value) + said_by("register", folder / "dataset.toml", "--policy", place)
    assert not [word for word in WORDS if word in said], said


def test_a_hierarchy_file_that_does_not_fit_is_not_quoted(folder: Path) -> None:
    (folder / "levels.csv").write_text(f"code,{RECORD}\na,x\nb\n")
    (folder / "dataset.toml").write_text(
        DATASET.replace('categories = ["a", "b"]', 'categories = ["a", "b"]\nhierarchies_file = "levels.csv"')
    )
    said = said_by("check", folder / "dataset.toml")
    assert not [word for word in WORDS if word in said], said
