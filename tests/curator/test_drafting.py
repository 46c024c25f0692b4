"""A draft is read by the engine's own reader: once confirmed, no value is unseen and none unreadable."""

import csv
import gzip
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.curator.curator import Curator
from dalenius.curator.drafting import draft
from dalenius.engines import open_source
from dalenius.errors import RequestError, Unconfirmed
from dalenius.spec.load import load_dataset


def write_csv(path: Path, columns: dict[str, list[str]]) -> Path:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", newline="", encoding="utf-8") as stream:  # type: ignore[operator]
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def drafted(path: Path) -> dict[str, Any]:
    return tomllib.loads(draft(path, from_data=True), parse_float=Decimal)["variables"]  # type: ignore[no-any-return]


def confirm(path: Path, folder: Path) -> Path:
    """The draft as a custodian confirms it unchanged."""
    text = draft(path, from_data=True).replace("confirmed = false", "confirmed = true")
    text = text.replace('population = ""', 'population = "tried"')
    text = text.replace(f'source = "{path.name}"', f'source = "{path}"\npublic = true')
    document = folder / "dataset.toml"
    document.write_text(text, encoding="utf-8")
    return document


def report(path: Path, folder: Path) -> dict[str, Any]:
    with Curator.open(confirm(path, folder), ledger=folder / "ledger.sqlite") as curator:
        return curator.register(by="custodian").reveal()


def assert_every_value_is_declared(found: dict[str, Any]) -> None:
    assert found["rows_skipped"] == 0
    for name, notes in found["variables"].items():
        odd = {note: notes[note] for note in ("unseen", "unreadable", "outside")}
        assert odd == {"unseen": 0, "unreadable": 0, "outside": 0}, name
        assert notes["valid"] + notes["missing"] == found["rows"]


def test_yes_and_no_stay_yes_and_no(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", {"member": ["yes", "no"] * 15, "flag": ["true", "false", "TRUE"] * 10})
    assert drafted(path)["member"]["categories"] == ["no", "yes"]
    assert set(drafted(path)["flag"]["categories"]) == {"true", "false", "TRUE"}
    assert_every_value_is_declared(report(path, tmp_path))


def test_codes_stand_in_natural_order(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", {"code": ["10", "2", "1"] * 10, "group": ["g10", "g9", "g1"] * 10})
    assert drafted(path)["code"]["categories"] == ["1", "2", "10"]
    assert drafted(path)["group"]["categories"] == ["g1", "g9", "g10"]


def test_codes_with_leading_zeros_are_texts(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", {"district": ["01", "02", "10"] * 10})
    assert drafted(path)["district"]["categories"] == ["01", "02", "10"]
    assert_every_value_is_declared(report(path, tmp_path))


def test_numbers_with_few_values_stay_numbers(tmp_path: Path) -> None:
    path = write_csv(
        tmp_path / "a.csv",
        {"hours": ["0", "20", "38", "40"] * 10, "rate": ["0.5", "1.0"] * 20, "tens": ["40.0", "60.0"] * 20},
    )
    variables = drafted(path)
    assert all("categories" not in variables[name] for name in ("hours", "rate", "tens"))
    assert variables["hours"]["bounds"] == [0, 40]
    assert_every_value_is_declared(report(path, tmp_path))


def test_steps_fit_the_bounds_which_are_rounded_outward(tmp_path: Path) -> None:
    pay = [f"{1000 + 37 * i}.{i:02d}" for i in range(60)]
    path = write_csv(
        tmp_path / "a.csv", {"pay": pay, "balance": [str(i * 111 - 4321) for i in range(60)], "x": ["a", "b"] * 30}
    )
    variables = drafted(path)
    assert variables["pay"]["step"] == Decimal("0.1")
    assert variables["pay"]["bounds"] == [1000, 4000]
    assert variables["balance"]["bounds"] == [-5000, 3000]
    assert "No value comes twice" in draft(path, from_data=True)
    assert_every_value_is_declared(report(path, tmp_path))


def test_decimals_of_a_computed_column_make_no_finer_step(tmp_path: Path) -> None:
    """Between the bounds there are at most 10^5 steps, and as many as the values' own grid has, or at least 10^4."""
    columns = {
        "weight": [repr(20 + i / 7) for i in range(60)],
        "share": [repr(i / 4001) for i in range(60)],
        "sales": [str(41 * i**3) for i in range(60)],
        "age": [str(i % 47) for i in range(60)],
    }
    variables = drafted(write_csv(tmp_path / "a.csv", columns))
    steps = {n: (v["bounds"][1] - v["bounds"][0]) / Decimal(str(v["step"])) for n, v in variables.items()}
    assert steps.pop("age") == 50
    assert all(10**4 <= count <= 10**5 for count in steps.values()), steps
    assert_every_value_is_declared(report(tmp_path / "a.csv", tmp_path))


def test_codes_inside_the_range_of_a_number_are_proposed_as_missing(tmp_path: Path) -> None:
    columns = {
        "age": [str(18 + i % 60) for i in range(600)] + ["99"] * 40,
        "pay": [f"{700 + 3 * i}.{i % 100:02d}" for i in range(600)] + ["998"] * 20 + ["-8"] * 20,
        "likes": ["1", "2", "3", "4", "5", "2"] * 100 + ["99"] * 40,
        "owes": [str(i - 300) for i in range(600)] + ["-8"] * 40,
    }
    path = write_csv(tmp_path / "a.csv", columns)
    variables = drafted(path)
    assert variables["age"]["missing_codes"] == [99] and variables["age"]["bounds"] == [10, 80]
    assert variables["pay"]["missing_codes"] == [-8, 998] and variables["pay"]["bounds"] == [700, 3000]
    assert variables["likes"]["categories"] == ["1", "2", "3", "4", "5"]
    assert variables["likes"]["missing_codes"] == ["99"]
    assert "missing_codes" not in variables["owes"]
    assert_every_value_is_declared(report(path, tmp_path))


def test_what_looks_like_an_identifier_is_left_out_with_a_remark(tmp_path: Path) -> None:
    path = write_csv(
        tmp_path / "a.csv",
        {
            "number": [str(7000 + i) for i in range(200)],
            "name": [f"person {i}" for i in range(200)],
            "pid": [str(i // 2) for i in range(200)],
            "sex": ["f", "m"] * 100,
        },
    )
    text = draft(path, from_data=True)
    assert set(tomllib.loads(text)["variables"]) == {"sex"}
    for name in ("number", "name", "pid"):
        assert f"[variables.{name}] looks like an identifier" in text
    assert "person 7" not in text


def test_rows_that_share_a_unit_get_a_suggestion_that_works_once_it_is_completed(tmp_path: Path) -> None:
    """The remark, uncommented and completed as it says, is a document of persons; nothing of it is content."""
    columns = {
        "patient_id": [str(k % 80) for k in range(400)],
        "ward": [("north", "south")[k % 2] for k in range(400)],
        "cost": [str(k * 37 % 97) for k in range(400)],
    }
    path = write_csv(tmp_path / "stays.csv", columns)
    text = draft(path, from_data=True)
    declared, _, note = text.partition('# Do several rows share one "patient_id"?')
    features = [line.removeprefix("# ") for line in note.split("for example:\n")[1].splitlines() if line != "#"]
    written = declared.replace("[variables.", "[records.").replace("confirmed = false", "confirmed = true")
    written = written.replace('relation = "add-remove"', 'id = "patient_id"\nrelation = "add-remove"')
    written = written.replace('population = ""', 'population = "patients"') + "\n".join(features)
    written = written.replace("bounds = [0, 0]", "bounds = [0, 2000]").replace('["?"]', '["north"]')
    written = written.replace(f'source = "{path.name}"', f'source = "{path}"\npublic = true')
    document = tmp_path / "dataset.toml"
    document.write_text(written)
    with Curator.open(document, ledger=tmp_path / "ledger.sqlite") as curator:
        assert curator.register(by="custodian").reveal()["units"] == 80
        assert list(curator.domain.variables) == ["number_of_rows", "sum of cost", "ever ward"]


def test_the_suggestion_follows_names_and_types_unless_rows_may_be_read(tmp_path: Path) -> None:
    """Without rows a name alone decides; with them, an identifier that never comes twice has one row each."""
    once = {"pid": [str(k) for k in range(100)], "x": ["a", "b"] * 50}
    path = write_csv(tmp_path / "once.csv", once)
    assert "Do several rows share" not in draft(path, from_data=True)
    named = draft(path)
    other = write_csv(tmp_path / "once.csv", {name: ["?", "!"] for name in once})
    assert "Do several rows share" in named
    assert draft(other) == named
    assert "Do several rows share" not in draft(write_csv(tmp_path / "none.csv", {"x": ["a"], "y": ["b"]}))


def test_a_packed_file_is_drafted_registered_and_counted(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv.gz", {"member": ["yes", "no", "no"] * 10})
    assert_every_value_is_declared(report(path, tmp_path))
    request = {"table": {"rows": ["member"]}, "privacy": {"definition": "pure", "epsilon": 20}}
    with Curator.open(
        tmp_path / "dataset.toml", ledger=tmp_path / "l.sqlite", policy={"budget": {"rho": 300, "delta": "1e-6"}}
    ) as curator:
        curator.register(by="custodian")
        # At epsilon 20 the noise is zero but for a chance below 1e-8 a cell.
        assert curator.release(request).values.tolist() == [20, 10]


def test_typed_columns_are_drafted_as_the_engine_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = {
        "flag": pa.array([True, False, None] * 10),
        "sex": pa.array([1.0, 2.0, None] * 10),
        "pay": pa.array([Decimal("10.50"), Decimal("3.25"), None] * 10),
        "wide": pa.array([10**12, -(10**12), 5] * 10),
        "huge": pa.array([1e20, 3e20, 2e20] * 10),
        "nothing": pa.array([None] * 30, pa.string()),
        "parts": pa.array([[1], [2], [3]] * 10),
        "drop": pa.array(["drop", "keep", ""] * 10),
    }
    pq.write_table(pa.table(columns), path)
    variables = drafted(path)
    assert variables["flag"]["categories"] == ["false", "true"]
    assert variables["sex"]["categories"] == ["1", "2"]
    assert variables["pay"]["step"] == Decimal("0.01")
    assert "nothing" not in variables and "parts" not in variables
    assert_every_value_is_declared(report(path, tmp_path))


def test_without_from_data_nothing_of_a_text_file_but_its_header_is_told(tmp_path: Path) -> None:
    numbers = write_csv(tmp_path / "a.csv", {"x": ["1", "2"]})
    texts = write_csv(tmp_path / "b.csv", {"x": ["one", "two"]})
    first, second = draft(numbers), draft(texts)
    assert first.replace("a.csv", "").replace('"a"', "") == second.replace("b.csv", "").replace('"b"', "")


def test_a_draft_is_marked_unconfirmed_and_does_not_run(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", {"member": ["yes", "no"] * 10})
    text = draft(path, from_data=True)
    assert text.startswith("# CONFIDENTIAL")
    (tmp_path / "dataset.toml").write_text(text.replace('population = ""', 'population = "p"'))
    request = {"table": {"rows": ["member"]}, "privacy": {"definition": "pure", "epsilon": 1}}
    with Curator.open(tmp_path / "dataset.toml", ledger=tmp_path / "l.sqlite") as curator, pytest.raises(Unconfirmed):
        curator.plan(request)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"x")
    with pytest.raises(RequestError, match=r"\.parquet"):
        draft(tmp_path / "a.xlsx")


PLAIN = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=5)
VALUE = st.one_of(
    st.sampled_from(["yes", "no", "", "NA", "drop", "nan", "inf", "-", "1e3", " 7", "007", "+5", "\x7f"]),
    st.integers(-(10**6), 10**6).map(str),
    st.decimals(-1000, 1000, places=3, allow_nan=False).map(str),
    PLAIN,
)
KINDS = st.sampled_from([VALUE, st.integers(0, 12).map(str), st.sampled_from(["no", "yes", ""]), PLAIN])
COLUMN = KINDS.flatmap(lambda values: st.lists(values, min_size=30, max_size=30))


@settings(max_examples=12)
@given(columns=st.lists(COLUMN, min_size=1, max_size=3))
def test_a_confirmed_draft_of_any_file_declares_every_value(
    columns: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("drafted")
    named = {f"v{i}": column for i, column in enumerate(columns)} | {"sex": ["f", "m"] * 15}
    path = write_csv(folder / "a.csv", named)
    document = load_dataset(confirm(path, folder))
    assert "sex" in document.variables
    for notes in open_source(document).judge()["variables"].values():
        assert notes["unseen"] == notes["unreadable"] == 0
