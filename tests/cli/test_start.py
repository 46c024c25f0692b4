"""`dalenius start`: from a file to a released table by answering questions on a real terminal."""

import csv
import gzip
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pandas
import pexpect
import pyreadstat
import pytest

from dalenius.cli.dialogue import chosen
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
            timeout=60,
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
    if name.startswith("adult"):
        talk.answer("Which column is the survey weight? A name, or - for none [fnlwgt]", "-")
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
    # Each of the 15 columns of adult is looked at, and one of them could be a weight.
    assert talk.answers <= MOST_ANSWERS + name.startswith("adult")
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
    talk.answer("Which column is the survey weight?")
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
    talk.answer("A second table")
    talk.answer("Which variables", "kind")
    for question in ("Right?", "Which budget?", "The first table", "How much"):
        talk.answer(question)
    talk.answer("Release this table?", "n")
    talk.end()
    assert not (tmp_path / "shops" / "first-table").exists()
    assert (tmp_path / "shops" / "request.toml").is_file()


def test_slips_of_the_finger_cost_nothing(tmp_path: Path) -> None:
    """A number that is no choice is not taken for a budget; Ctrl+C keeps the answers, and the same command goes on."""
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
    assert "Your answers are kept in one" in " ".join(talk.end().split())
    assert talk.terminal.exitstatus == 130
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["answers.json"]
    again = Conversation("one.csv", folder=tmp_path)
    assert "Which budget? 1, 2, 3, or an amount such as rho 0.5: rho 0.5" in again.answer("The first table counts")
    again.answer("How much")
    again.terminal.expect_exact("Release this table? [Y/n]: ")
    again.terminal.sendcontrol("c")
    assert "The file is registered" in " ".join(again.end().split())
    # The documents stand, so that nothing is asked a second time but whether to release.
    last = Conversation("one.csv", folder=tmp_path)
    last.answer("Release this table?")
    assert "first-table" in last.end() and last.answers == 1
    assert not (tmp_path / "one" / "answers.json").exists()


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "shops").mkdir()
    (tmp_path / "shops" / "mine.txt").write_text("mine")
    talk = Conversation("shops.csv", folder=tmp_path)
    assert "is not empty" in talk.end()
    assert talk.terminal.exitstatus == 2
    assert [path.name for path in (tmp_path / "shops").iterdir()] == ["mine.txt"]


def hostile(folder: Path, name: str, growth: float, seed: int) -> Path:
    """Incomes in cents with a heavy tail and codes among them, regions as codes, weights with many decimals."""
    draw = random.Random(seed)
    lines = ["person_id,region,sex,age,income,design_weight"]
    for k in range(3000):
        income = f"{growth * draw.paretovariate(2.2) * 900:.2f}" if k % 11 else ("998", "-8")[k % 2]
        age = str(18 + int(70 * draw.random() ** 1.5)) if k % 13 else "99"
        weight = repr(40 + 20 * draw.random())
        lines.append(f"{5000 + k},{1 + draw.randrange(5)},{'fm'[k % 2]},{age},{income},{weight}")
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def write_lists(folder: Path) -> None:
    regions = ("North", "South", "East", "West", "Islands")
    codes = "".join(f"region,{code},{label}\n" for code, label in enumerate(regions, start=1))
    (folder / "codebook.csv").write_text(f"variable,code,label\n{codes}sex,f,women\nsex,m,men\n")
    halves = ("upper", "lower", "upper", "lower", "lower")
    levels = "".join(f"{code},{half}\n" for code, half in enumerate(halves, start=1))
    (folder / "region_levels.csv").write_text(f"code,half\n{levels}")


def mean_of_income(path: Path, region: str) -> float:
    rows = [row for row in rows_of(path) if row["region"] == region and row["income"] not in ("998", "-8")]
    weights = [float(row["design_weight"]) for row in rows]
    return sum(w * min(float(row["income"]), 10_000) for w, row in zip(weights, rows, strict=True)) / sum(weights)


def test_a_hostile_survey_and_its_second_wave_from_files_to_a_change_in_per_cent(tmp_path: Path) -> None:
    """No document is typed, nothing is refused, and both waves take 25 answers together at most."""
    first, second = hostile(tmp_path, "survey", 1.0, 1), hostile(tmp_path, "survey2", 1.2, 2)
    write_lists(tmp_path)
    talk = Conversation("survey.csv", folder=tmp_path)
    talk.answer("Take codes and labels from codebook.csv?")
    talk.answer("Who is in the data?", "adults")
    talk.answer("What is protected")
    talk.answer("Can one person have several rows?")
    talk.answer("How was each person drawn?", "one by one")
    talk.answer("Which column is the survey weight? A name, or - for none [design_weight]")
    talk.answer("Were the weights fixed", "y")
    talk.answer("A second table")
    talk.answer("Which variables")
    assert "5 categories: 1 = North" in (said := talk.answer("Right?"))
    assert "steps of 1; 99 is no value" in said
    said = talk.answer("Right?", "0 to 10000 without 998, -8")
    assert "-8, 998 are no value" in said
    assert "design_weight: numbers from 0 to 60 in steps of 0.001" in talk.answer("Right?")
    talk.answer("Levels above the codes of a variable, such as region = levels.csv? Or - [region = ")
    talk.answer("Which budget?", "3")
    talk.answer("The first table counts", "mean of income by region")
    talk.answer("How much of the budget", "3")
    talk.answer("Release this table?")
    said = talk.end()
    assert talk.terminal.exitstatus == 0, said
    wave = Conversation("survey2.csv", "--wave", folder=tmp_path)
    wave.answer("What is this wave called?")
    wave.answer("Release this table?")
    said = wave.end()
    assert wave.terminal.exitstatus == 0, said
    assert talk.answers + wave.answers <= MOST_ANSWERS
    [asked] = re.findall(r"Compare: dalenius (infer change survey/first-table .*)", said)

    document = load_dataset(tmp_path / "survey" / "dataset.toml")
    assert document.variables["income"].missing_codes == ("998", "-8")
    assert document.variables["age"].missing_codes == ("99",) and document.variables["design_weight"].weight
    assert document.variables["region"].hierarchies == {
        "half": {"upper": ("North", "East"), "lower": ("South", "West", "Islands")}
    }
    for path, place in ((first, "first-table"), (second, "first-table-survey2")):
        release = load(tmp_path / "survey" / place)
        lower, upper = release.interval(CERTAIN)
        for region, low, high in zip("12345", lower.ravel(), upper.ravel(), strict=True):
            assert low <= mean_of_income(path, region) <= high
    command = [sys.executable, "-m", "dalenius.cli.main", *asked.split(), "--json"]
    assert b"North" in subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout


def test_visits_in_a_second_table_become_numbers_of_persons_and_have_waves_too(tmp_path: Path) -> None:
    """One row of each person, with the number of visits, what they cost and whether there was one of each kind."""
    for wave, more in (("", 0), ("2", 1)):
        persons = "".join(f"p{k},{'fm'[k % 2]}\n" for k in range(300))
        (tmp_path / f"persons{wave}.csv").write_text(f"person_id,sex\n{persons}")
        visits = "".join(f"p{k},{'ab'[k % 2]},{10 + k % 7}\n" for k in range(300) for _ in range(more + k % 3))
        (tmp_path / f"visits{wave}.csv").write_text(f"person_id,kind,cost\n{visits}")
    talk = Conversation("persons.csv", folder=tmp_path)
    for question in ("Who is", "What is protected", "Can one person"):
        talk.answer(question)
    talk.answer("How was each person drawn?", "one by one")
    talk.answer("A second table", "nowhere.csv")
    talk.answer("A second table", "visits.csv")
    talk.answer("Which column of this file names the person? [person_id]")
    talk.answer("Which column of visits names the person? [person_id]")
    talk.answer("At most how many rows of visits", "5")
    talk.answer("Which of them are added up or counted?", "kind cost")
    talk.answer("Right?")
    talk.answer("Right?", "0 to 20")
    talk.answer("Which variables")
    talk.answer("Right?")
    talk.answer("Which budget?", "3")
    talk.answer("The first table counts", "mean of sum of cost by sex")
    talk.answer("How much", "3")
    talk.answer("Release this table?")
    said = talk.end()
    assert talk.terminal.exitstatus == 0, said
    domain = load_dataset(tmp_path / "persons" / "dataset.toml").domain()
    assert list(domain.variables) == ["sex", "number of visits", "kind: a", "kind: b", "sum of cost"]
    wave = Conversation("persons2.csv", "--wave", folder=tmp_path)
    wave.answer("What is this wave called?", "1")
    wave.answer("What is this wave called?", "next")
    wave.answer("The file of this wave with visits?", "visits2.csv")
    wave.answer("Release this table?")
    said = wave.end()
    assert wave.terminal.exitstatus == 0, said
    document = load_dataset(tmp_path / "persons" / "dataset-next.toml")
    assert document.tables["visits"].source == "../visits2.csv" and document.dataset.version == "next"
    assert document.dataset.source == "../persons2.csv"


def test_an_spss_file_is_converted_and_its_labels_are_taken(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"town": [1.0, 2.0, 3.0, 9.0] * 50, "sales": [float(k * 7 % 113) for k in range(200)]})
    labels = {"town": {1: "Ribe", 2: "Odense", 3: "Aarhus", 9: "No answer"}}
    missing = {"town": [{"lo": 9, "hi": 9}]}
    pyreadstat.write_sav(frame, tmp_path / "shops.sav", variable_value_labels=labels, missing_ranges=missing)
    talk = Conversation("shops.sav", folder=tmp_path)
    for question in ("Who is", "What is protected", "Can one person", "How was each person", "Which variables"):
        talk.answer(question)
    said = " ".join(talk.answer("Right?").split())
    assert "3 categories: 1 = Ribe, 2 = Odense, 3 = Aarhus; some rows have no value (from shops.sav)" in said
    for question in ("Which budget?", "The first table", "How much", "Release this table?"):
        said = talk.answer(question)
    assert "Aarhus" in talk.end()
    assert load_dataset(tmp_path / "shops" / "dataset.toml").dataset.source == "shops.parquet"
    assert (tmp_path / "shops" / "shops.parquet").stat().st_mode & 0o077 == 0
    assert "as confidential as the file itself" in " ".join(said.split())


@pytest.mark.parametrize("answer", ["", "0", "4", "3-9", "agee", "1 2 3"])
def test_what_is_no_choice_is_refused(answer: str) -> None:
    with pytest.raises(ParameterError):
        chosen(answer, ["age", "sex", "race"], most=2)
