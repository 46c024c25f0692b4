"""Workbooks and descriptions of CSV files: read back by other readers, with labels that are text and equal bytes."""

import csv
import io
import json
from pathlib import Path

import pytest
from openpyxl import load_workbook

import dalenius
from dalenius.core.release import Release
from dalenius.publish.to_csvw import to_csvw
from dalenius.publish.to_xlsx import to_xlsx

LABELS = {"1": "=1+1", "2": "ä, ö", "3": "http://x"}
DOCUMENT = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {
        "v": {"categories": LABELS, "label": "Same", "missing": "ä, ö", "unseen": "ä, ö"},
        "w": {"categories": ["a", "b"], "label": "Same", "missing": "a", "unseen": "a"},
        "pay": {"bounds": [0, 100], "step": 1, "missing": 0, "unit": "EUR"},
    },
}
DATA = {"v": ["1", "2", "3"] * 20, "w": ["a", "b"] * 30, "pay": [10, 20, 30] * 20}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    place = tmp_path_factory.mktemp("xlsx") / "ledger.sqlite"
    with dalenius.Curator.open(DOCUMENT, ledger=place, data=DATA, policy={"budget": {"rho": 9}}) as curator:
        curator.register()
        return curator.release(dalenius.table(rows=["v"], columns=["w"], measure="mean", of="pay", rho=5))


def test_a_sheet_is_one_table_of_texts_and_rounded_numbers(release: Release) -> None:
    book = load_workbook(io.BytesIO(to_xlsx(release)))
    assert book.sheetnames == ["Contents", *(f"Table {n + 1}" for n in range(len(release.tables))), "Notes"]
    for table, sheet in zip(release.tables, book.worksheets[1:-1], strict=True):
        (found,) = sheet.tables.values()
        head, *rows = sheet[found.ref]
        assert [cell.value for cell in head][:3] == ["Same", "Same (2)", "value"] and not sheet.merged_cells.ranges
        assert {cell.data_type for row in rows for cell in row[:2]} == {"s"}
        assert [row[0].value for row in rows][::2] == list(LABELS.values())
        values = [row[2].value for row in rows]
        assert values == pytest.approx(table.values.tolist(), abs=0.51) and values != table.values.tolist()


def test_equal_releases_give_equal_workbooks_and_german_words(release: Release, tmp_path: Path) -> None:
    assert dalenius.save(release, tmp_path / "x.xlsx").read_bytes() == to_xlsx(release)
    assert load_workbook(io.BytesIO(to_xlsx(release, language="de"))).sheetnames[0] == "Inhalt"


def test_a_description_stands_beside_every_csv_file_and_names_its_columns(release: Release, tmp_path: Path) -> None:
    place = dalenius.save(release, tmp_path / "cells.csv")
    described = json.loads((tmp_path / "cells.csv-metadata.json").read_text(encoding="utf-8"))
    assert described == json.loads(to_csvw(release, url="cells.csv")) and described["url"] == place.name
    folder = dalenius.save(release, tmp_path / "out")
    for each in (place, *sorted(folder.glob("*.csv"))):
        description = json.loads(each.with_name(f"{each.name}-metadata.json").read_text(encoding="utf-8"))
        columns = [column["name"] for column in description["tableSchema"]["columns"]]
        with each.open(newline="", encoding="utf-8") as file:
            head, first, *_ = csv.reader(file)
        assert description["url"] == each.name and columns == head
        line = dict(zip(head, first, strict=True))
        assert (line["v_code"], line["v"], line["w"]) == ("1", "'=1+1", "a")
    assert dalenius.load(folder).about.codes == {"v": {label: code for code, label in LABELS.items()}}
