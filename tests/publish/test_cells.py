"""Large releases: numbers in a columnar file that the document names by its digest."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from verify import _spines as spines

import dalenius
from dalenius.core import cells as core_cells
from dalenius.core.cells import Numbered, numbered
from dalenius.core.release import Release
from dalenius.errors import DocumentError
from dalenius.inference.contrast import total
from dalenius.publish import _document
from dalenius.publish._document import Cells, as_read, from_json, to_document, write_json
from dalenius.publish._format import is_written_name, written_names

BLOCKS = 30


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Release:
    """A list along a hierarchy that counts as large."""
    monkeypatch.setattr(_document, "LARGE", 50)
    monkeypatch.setattr("dalenius.publish._format.MOST_IN_TEXT", 50)
    monkeypatch.setattr(core_cells, "MOST_HELD", 40)
    declared = spines.domain(BLOCKS)
    plan = spines.planned(declared)
    return spines.release_of(
        plan, declared, {name: [v.categories.labels[0]] * 9 for name, v in declared.variables.items()}, {}, "cells"
    )


def _same(one: Release, two: Release) -> None:
    for a, b in zip(one.blocks, two.blocks, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
        assert a.space == b.space and a.values.dtype == b.values.dtype == np.int64
    for t, u in zip(one.tables, two.tables, strict=True):
        np.testing.assert_array_equal(t.values, u.values)
        np.testing.assert_array_equal(t.variance, u.variance)
        assert t.space.axes == u.space.axes and t.name == u.name
    assert one.law.to_dict() == two.law.to_dict() and one.provenance == two.provenance


def test_a_document_holds_its_cells_in_columns_and_reads_back(release: Release) -> None:
    content = write_json(release)
    assert b'"cells":{' in content
    _same(release, from_json(content))
    _same(as_read(release), from_json(content))
    assert write_json(from_json(content)) == content
    assert len(to_document(release)["blocks"][0]["values"]) == len(release.blocks[0].values)


def test_columns_hold_the_variance_with_sampling(release: Release) -> None:
    rng = np.random.default_rng(3)
    tables = list(release.tables)
    tables[1] = replace(tables[1], sampled=np.append(np.nan, rng.random(len(tables[1].values) - 1)))
    both = replace(release, tables=tuple(tables))
    again = from_json(write_json(both))
    _same(both, again)
    for before, after in zip(both.tables, again.tables, strict=True):
        np.testing.assert_array_equal(np.array(before.sampled, dtype=float), np.array(after.sampled, dtype=float))
    assert write_json(again) == write_json(as_read(both)) == write_json(both) != write_json(release)


def test_a_directory_keeps_the_cells_beside_the_document(release: Release, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    place = dalenius.save(release, tmp_path / "out")
    cells = Cells.of(release)
    assert (place / cells.name).read_bytes() == cells.content
    assert {file.name for file in place.iterdir()} == set(written_names(release))
    assert all(map(is_written_name, written_names(release)))
    again = dalenius.load(place)
    _same(release, again)
    where = {"block": ["block 3", "block 17"], "sex": "sex 1"}
    assert total(again, where) == total(release, where)
    # Anybody reads the file: one row for each number, part by part.
    columns = pq.read_table(place / cells.name)
    own = columns.filter(columns["part"].to_numpy() == len(release.blocks) + len(release.tables) - 1)
    np.testing.assert_array_equal(own["value"].to_numpy(), release.tables[-1].values + 0.0)
    # A table of very many cells stands in the columnar file alone.
    assert not list(place.glob("table-*block-sex-age.csv")) and not list(place.glob("table-*sex-block-age.csv"))


def test_other_cells_and_missing_cells_are_refused(release: Release, tmp_path: Path) -> None:
    place = dalenius.save(release, tmp_path / "out")
    file = place / Cells.of(release).name
    with pytest.raises(DocumentError, match="load its directory"):
        from_json((place / "release.json").read_bytes())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(DocumentError, match="not the one"):
        dalenius.load(place)
    file.unlink()
    with pytest.raises(DocumentError, match="missing"):
        dalenius.load(place)


def test_numbered_labels_are_those_that_would_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_cells, "MOST_HELD", 3)
    short, long = numbered(3), numbered(5)
    assert short == ("0", "1", "2") and isinstance(long, Numbered)
    assert tuple(long) == ("0", "1", "2", "3", "4") and long[-1] == "4" and long[1:3] == ("1", "2")
    assert long == numbered(5) and hash(long) == hash(numbered(5)) and long != numbered(6)
