"""Tab-separated text: the columns of table.csv, read back by an independent reader; a format is one file."""

import csv
import io
import re
from pathlib import Path

import pandas
import pytest

import dalenius
from dalenius.cli.delivery import output_place
from dalenius.core import registry
from dalenius.core.release import Release
from dalenius.errors import DocumentError, ParameterError
from dalenius.publish._format import by_suffix, document, formats, is_single_file, is_written_name, listed_suffixes
from dalenius.publish.to_csv import to_csv
from dalenius.publish.to_tsv import to_tsv
from dalenius_lab.planting import planted

LABELS = ["a\tb", '5" pipe', "=1+1", "ä, ö"]
DOCUMENT = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {"v": {"categories": {f"c{i}": label for i, label in enumerate(LABELS)}}},
}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("tsv")
    with dalenius.Curator.open(DOCUMENT, ledger=folder / "ledger.sqlite", data={"v": ["c0", "c0", "c3"]}) as curator:
        curator.register()
        request = {"table": {"rows": ["v"]}, "privacy": {"definition": "pure", "epsilon": 1}}
        return curator.release(request)


def test_an_independent_reader_finds_what_the_csv_says(release: Release) -> None:
    frame = pandas.read_csv(io.StringIO(to_tsv(release)), sep="\t")
    again = pandas.read_csv(io.StringIO(to_csv(release)))
    pandas.testing.assert_frame_equal(frame, again)
    assert frame["value"].tolist() == release.table.values.tolist()
    assert list(frame.columns) == ["v_code", "v", *["value", "std_error", "lower", "upper", "status"]]


def test_hostile_labels_stay_in_their_field(release: Release) -> None:
    rows = list(csv.reader(io.StringIO(to_tsv(release)), delimiter="\t"))
    assert [row[0] for row in rows[1:]] == ["c0", "c1", "c2", "c3"]
    assert [row[1] for row in rows[1:]] == ["a\tb", '5" pipe', "'=1+1", "ä, ö"]
    assert {len(row) for row in rows} == {7}


def test_saving_by_the_ending_alone(release: Release, tmp_path: Path) -> None:
    assert dalenius.save(release, tmp_path / "x.tsv").read_text(encoding="utf-8") == to_tsv(release)
    assert output_place(tmp_path / "y.TSV", []) == tmp_path / "y.TSV"
    with pytest.raises(DocumentError, match="not read back"):
        dalenius.load(tmp_path / "x.tsv")
    dalenius.save(release, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.tsv"))


def test_every_format_states_itself_and_one_is_the_document() -> None:
    every = formats()
    assert len(every) == len(registry.names("publish"))
    assert [name for name, form in every.items() if form.is_document] == [document().name]
    assert document().read is not None and document().stem
    endings = [suffix for form in every.values() for suffix in form.suffixes]
    assert len(endings) == len(set(endings)) == len(by_suffix())
    assert all(e.startswith(".") and e == e.lower() for e in endings)
    assert len({form.media_type for form in every.values()}) == len(every)


FORMAT = """
    from dalenius.publish._format import Format

    __all__ = ["SUM"]

    SUM = Format(
        name="sum",
        suffixes=(".sum",),
        media_type="text/x-sum",
        write=lambda release: str(int(release.table.values.sum())),
        stem="table",
    )
"""


def test_a_new_format_is_one_file(release: Release, tmp_path: Path) -> None:
    with planted("publish", "to_sum", FORMAT):
        total = str(int(release.table.values.sum()))
        assert dalenius.save(release, tmp_path / "x.sum").read_text() == total
        assert (dalenius.save(release, tmp_path / "out") / "table.sum").read_text() == total
        assert is_written_name("table.sum") and is_single_file("y.sum")
        assert output_place(tmp_path / "z.sum", []) == tmp_path / "z.sum"
    with pytest.raises(DocumentError, match=re.escape(listed_suffixes())):
        dalenius.save(release, tmp_path / "x.sum")
    with pytest.raises(ParameterError, match=r"\.tsv"):
        output_place(tmp_path / "z.sum", [])
