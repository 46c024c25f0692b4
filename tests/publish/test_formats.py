"""Documents made from releases: round trip, tidy columns, hostile labels."""

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dalenius
from dalenius.algebra.tabulation import header
from dalenius.core.budget import Budget
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Additive, Joint, Kernel, Withheld
from dalenius.core.neighbours import Neighbours
from dalenius.core.release import Block, Provenance, Release, Status, Table
from dalenius.definitions.pure import Pure
from dalenius.errors import DocumentError
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.publish.to_csv import to_csv
from dalenius.publish.to_html import to_html
from dalenius.publish.to_json import from_json, write_json
from dalenius.spec.universe import Universe

PROVENANCE = Provenance(
    dataset="d",
    population="p",
    version="1",
    definition="pure",
    budget={"definition": "pure", "epsilon": "1"},
    neighbours={"relation": "add-remove"},
    cost={"rho": "0.46"},
    mechanism="discrete_laplace",
    strategy="table",
    evidence={},
    software="dalenius",
    request={"axes": []},
    digest="0" * 64,
    guarantee="Odds change by at most e.",
)


def release(labels: tuple[str, ...] = ("a", "b", "c")) -> Release:
    space = CellSpace((Axis(variable="v", labels=labels),), frozenset({(2,)}))
    law = Additive(DiscreteLaplace(Fraction(1)))
    values = np.array([5, -2, 0], dtype=np.int64)
    variance = np.array([law.variance, law.variance, 0.0])
    table = Table(name="v", space=space, values=values.astype(float), variance=variance)
    block = Block(name="v", space=space, values=values, law=law)
    return Release(blocks=(block,), tables=(table,), law=law, provenance=PROVENANCE)


def test_json_round_trip_is_the_identity() -> None:
    original = release()
    content = write_json(original)
    again = from_json(content)
    assert write_json(again) == content
    assert again.blocks[0].values.tolist() == [5, -2, 0]
    assert isinstance(again.law, Additive)
    assert again.law.noise == DiscreteLaplace(Fraction(1))


@pytest.mark.parametrize(
    "law",
    [
        Withheld("the scale depends on the data"),
        Joint("residual", {"blocks": ["a"]}),
        Kernel("k", (-1,), ((1, 2, 1),), 4),
        Additive(DiscreteLaplace(Fraction(1, 3)), Fraction(1, 100)),
    ],
)
def test_every_kind_of_law_survives(law: object) -> None:
    changed = replace(release(), law=law)  # type: ignore[type-var]
    assert from_json(write_json(changed)).law == law


def test_csv_has_the_guaranteed_columns_and_signed_counts() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(release()))))
    assert list(rows[0]) == ["v", *["value", "std_error", "lower", "upper", "status"]]
    assert [r["value"] for r in rows] == ["5", "-2", "0"]
    assert (rows[0]["lower"], rows[0]["upper"]) == ("2", "8")  # 95 % half width at epsilon 1 is 3
    assert (rows[1]["lower"], rows[1]["upper"]) == ("0", "1")  # cut at zero
    assert rows[2]["status"] == "structural zero"


def test_a_label_cannot_become_a_formula() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(release(("=1+1", "@x", "c"))))))
    assert rows[1][0] == "'=1+1" and rows[2][0] == "'@x"
    assert rows[2][1] == "-2"  # numbers stay numbers


def test_a_label_cannot_become_markup() -> None:
    page = to_html(release(("<script>alert(1)</script>", "b&b", "c")))
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert page.count("<tr>") == 5  # a heading, three cells and their total


def test_a_withheld_error_is_said_not_guessed() -> None:
    original = release()
    table = replace(original.tables[0], variance=np.full(3, np.nan))
    hidden = replace(original, tables=(table,), law=Withheld("x"), blocks=())
    rows = list(csv.DictReader(io.StringIO(to_csv(hidden))))
    assert rows[0]["std_error"] == rows[0]["lower"] == ""
    assert rows[0]["status"] == "error withheld"
    assert "withheld" in to_html(hidden)
    assert np.isnan(from_json(write_json(hidden)).tables[0].variance).all()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format":"dalenius-release/1"}', b"\xff\xfe"])
def test_damaged_documents_are_refused(content: bytes) -> None:
    with pytest.raises(DocumentError):
        from_json(content)


def test_save_and_load_by_ending_and_by_folder(tmp_path: Path) -> None:
    original = release().with_(status=Status.PUBLISHED)
    dalenius.save(original, tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "release.json",
        *["table.csv", "table.csv-metadata.json", "table.html"],
    ]
    for path in (tmp_path / "out", tmp_path / "out" / "release.json"):
        assert write_json(dalenius.load(path)) == write_json(original)
    dalenius.save(original, tmp_path / "one.csv")
    assert (tmp_path / "one.csv").read_text() == to_csv(original)
    with pytest.raises(DocumentError):
        dalenius.save(original, tmp_path / "one.ods")


def test_margins_add_up_with_their_variance() -> None:
    margin = release().margin()
    assert margin.values.tolist() == [3.0]
    assert margin.variance[0] == pytest.approx(2 * 1.841347188, abs=1e-6)


def test_the_frame_has_the_columns_of_the_csv() -> None:
    frame = release().to_frame()
    assert list(frame.columns) == ["v", "value", "std_error", "lower", "upper", "status"]
    assert json.loads(frame.to_json())["value"] == {"0": 5, "1": -2, "2": 0}


def test_a_variable_called_like_a_column_of_numbers_keeps_a_column_of_its_own() -> None:
    names = ("status", "value", "lower")
    axes = tuple(Axis(variable=name, labels=("a", "b")) for name in names)
    space = CellSpace(axes)
    columns = header(space)
    assert columns[:3] == ("status_category", "value_category", "lower_category")
    assert columns[3:] == ("value", "std_error", "lower", "upper", "status")
    both = CellSpace((Axis(variable="status", labels=("a",)), Axis(variable="status_category", labels=("b",))))
    assert len(set(header(both))) == 7


def test_a_german_page_of_the_library_speaks_german() -> None:
    """Guarantee, neighbours and whose records are counted are stored in English."""
    budget = Budget(definition="pure", epsilon=Fraction(1))
    guarantee = f"{Pure().sentence(budget)} {Neighbours().sentence()}"
    stored = release()
    subject = replace(stored.about, universe=Universe(needs=("a",)).sentence())
    provenance = replace(stored.provenance, guarantee=guarantee)
    page = to_html(stored.with_(provenance=provenance, subject=subject), language="de")
    assert "reine Differential Privacy" in page and "eine Zeile hinzukommt" in page
    assert "Umfasst die Datensätze mit einem deklarierten Wert von a" in page
    assert "Whatever is released" not in page and "neighbours if" not in page and "Covers" not in page
