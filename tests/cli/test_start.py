"""`dalenius start`: from a file to a released table by answering questions on a real terminal."""

import csv
import gzip
import os
import signal
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pexpect
import pytest

from dalenius.cli.start import chosen
from dalenius.errors import ParameterError
from dalenius.publish import load
from dalenius.spec.load import load_dataset

SHARED = Path(__file__).parents[3] / "shared" / "data"
# Every cell of a table lies in an interval of this level but for one time in a hundred thousand million.
CERTAIN = 1 - 1e-12
MOST_ANSWERS = 25


class Conversation:
    """A terminal of 80 columns on which the verb asks and a person answers."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self.answers = 0
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DALENIUS_")}
        self.terminal = pexpect.spawn(
            sys.executable,
            ["-m", "dalenius.cli.main", "start", *arguments],
            cwd=str(folder),
            env=kept | {"TERM": "dumb"},
            dimensions=(24, 80),
            encoding="utf-8",
            timeout=120,
            # A test run in the background may ignore interrupts, and would hand that down.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def answer(self, question: str, text: str = "") -> str:
        """Wait for a question, and answer it; what was said before it."""
        self.terminal.expect_exact(question)
        said = str(self.terminal.before)
        self.terminal.expect_exact(": ")
        self.answers += 1
        self.terminal.sendline(text)
        return said

    def end(self) -> str:
        """What is said after the last answer, and how it ends."""
        self.terminal.expect(pexpect.EOF)
        self.terminal.close()
        return str(self.terminal.before)


def rows_of(path: Path) -> list[dict[str, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def truth(path: Path, axes: list[tuple[str, tuple[str, ...]]]) -> list[int]:
    """Counts by hand: rows with a value on every axis, cells in the order of the table."""
    counts = Counter(tuple(row[name] for name, _ in axes) for row in rows_of(path))
    return [counts[cell] for cell in product(*(labels for _, labels in axes))]


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "wanted", "axes"),
    [
        ("acs2012_openintro_2000.csv", ["employment", "race", "gender", "edu", "income"], ["employment", "gender"]),
        ("acs2012_openintro_2000.csv", "all", ["edu"]),
        ("adult_census1994.csv.gz", "all", ["education", "sex"]),
    ],
)
def test_from_a_file_to_a_first_table_without_typing_a_document(
    name: str, wanted: list[str] | str, axes: list[str], tmp_path: Path
) -> None:
    data = SHARED / name
    if not data.is_file():
        pytest.skip("the public data are not there")
    talk = Conversation(str(data), "-o", "out", folder=tmp_path)
    talk.answer("Who is in the data?")
    talk.answer("What is protected")
    talk.answer("Can one person have several rows?")
    talk.answer("How was each person drawn?")
    talk.answer("Which variables", wanted if isinstance(wanted, str) else ", ".join(wanted))
    columns = list(rows_of(data)[0])
    for _ in columns if isinstance(wanted, str) else wanted:
        talk.answer("Right?")
    talk.answer("Which budget?")
    talk.answer("The first table counts", " ".join(axes))
    talk.answer("How much of the budget")
    talk.answer("Release this table?")
    said = talk.end()
    assert talk.terminal.exitstatus == 0, said
    assert talk.answers <= MOST_ANSWERS
    assert all(len(line) <= 80 for line in said.splitlines()), said

    release = load(tmp_path / "out" / "first-table")
    assert [axis.name for axis in release.table.space.axes] == axes
    lower, upper = release.interval(CERTAIN)
    exact = truth(data, [(axis.variable, axis.labels) for axis in release.table.space.axes])
    for low, count, high in zip(lower.ravel(), exact, upper.ravel(), strict=True):
        assert low <= count <= high
    document = load_dataset(tmp_path / "out" / "dataset.toml")
    assert set(document.variables) == set(columns if isinstance(wanted, str) else wanted)
    assert all(part.confirmed for part in document.variables.values())


def write(folder: Path) -> Path:
    path = folder / "shops.csv"
    lines = ["owner_id,town,kind,sales"] + [f"{k // 2 + 1000},{k % 3},{'ab'[k % 2]},{k * 7 % 113}" for k in range(200)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_codebook_units_and_corrections_are_taken(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "codebook.csv").write_text("variable,code,label\ntown,0,Ribe\ntown,1,Odense\ntown,2,Aarhus\n")
    talk = Conversation("shops.csv", folder=tmp_path)
    talk.answer("Take codes and labels from codebook.csv?")
    talk.answer("Who is in the data?", "owners of shops")
    talk.answer("What is protected", "owner")
    talk.answer("Can one owner have several rows?", "y")
    talk.answer("Which column tells them apart?")
    talk.answer("At most how many rows", "two")
    talk.answer("At most how many rows", "2")
    assert "census" in talk.answer("How was each owner drawn?", "one by one")
    offered = talk.answer("Which variables", "7")
    assert "owner_id" not in offered.split("Not offered")[0]
    talk.answer("Which variables", "all")
    assert "CONFIDENTIAL" in talk.answer("Right?", "a, b, c")
    talk.answer("Right?", "0 to 500")
    talk.answer("Which budget?", "3")
    talk.answer("The first table counts", "1 2")
    talk.answer("How much of the budget", "3")
    talk.answer("Release this table?")
    assert "Aarhus" in talk.end()
    document = load_dataset(tmp_path / "shops" / "dataset.toml")
    assert document.design is not None and document.design.draws == "independent"
    assert document.unit.id == "owner_id" and document.unit.max_rows == 2 and document.unit.name == "owner"
    assert document.variables["town"].categories == {"0": "Ribe", "1": "Odense", "2": "Aarhus"}
    assert document.variables["kind"].categories == ("a", "b", "c")
    assert [int(end) for end in document.variables["sales"].bounds or ()] == [0, 500]
    text = (tmp_path / "shops" / "dataset.toml").read_text()
    assert "from codebook.csv" in text and "as you typed it" in text
    assert "owner_id" not in document.variables


def test_a_declined_table_is_not_released_and_nothing_is_spent(tmp_path: Path) -> None:
    write(tmp_path)
    talk = Conversation("shops.csv", folder=tmp_path)
    for question in ("Who is", "What is protected"):
        talk.answer(question)
    # A column that names units and repeats them is told, before several rows of one are taken for several units.
    talk.answer("Can one person have several rows? The column owner_id repeats its values. [y]", "n")
    talk.answer("How was each person drawn?", "2")
    talk.answer("Which variables", "kind")
    for question in ("Right?", "Which budget?", "The first table", "How much"):
        talk.answer(question)
    talk.answer("Release this table?", "n")
    talk.end()
    assert not (tmp_path / "shops" / "first-table").exists()
    assert (tmp_path / "shops" / "request.toml").is_file()


def test_slips_of_the_finger_cost_nothing(tmp_path: Path) -> None:
    """A number that is no choice is not taken for a budget; Ctrl+C says what stands, with the code of an interruption."""
    (tmp_path / "one.csv").write_text("land,kind\n" + "6,a\n6,b\n" * 40)
    talk = Conversation("one.csv", folder=tmp_path)
    for question in ("Who is", "What is protected", "Can one person", "How was each person", "Which variables"):
        talk.answer(question)
    for _ in range(2):
        talk.answer("Right?")
    talk.answer("Which budget?", "9")
    assert "write rho 9" in talk.answer("Which budget?", "rho 0.5")
    # A variable with one category is not proposed for the first table.
    talk.terminal.expect_exact("[kind]: ")
    talk.terminal.sendcontrol("c")
    assert "Nothing was written. Nothing was spent." in " ".join(talk.end().split())
    assert talk.terminal.exitstatus == 130
    assert not (tmp_path / "one").exists()


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "shops").mkdir()
    (tmp_path / "shops" / "mine.txt").write_text("mine")
    talk = Conversation("shops.csv", folder=tmp_path)
    assert "is not empty" in talk.end()
    assert talk.terminal.exitstatus == 2
    assert [path.name for path in (tmp_path / "shops").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("answer", ["", "0", "4", "3-9", "agee", "1 2 3"])
def test_what_is_no_choice_is_refused(answer: str) -> None:
    with pytest.raises(ParameterError):
        chosen(answer, ["age", "sex", "race"], most=2)
