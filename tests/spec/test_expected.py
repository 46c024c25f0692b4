"""Relative errors by expected size: from a release or a public file, named by digest, never from the data."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalenius
from dalenius import Curator
from dalenius.errors import DocumentError
from dalenius.spec.load import load_request
from dalenius.spec.request import RequestDocument

ROWS = ["town,sex"] + [f"{['big', 'mid', 'wee'][(k % 97 > 60) + (k % 97 > 90)]},{'fm'[k % 2]}" for k in range(4000)]
DATASET = """
[dataset]
name = "people"
population = "people"
source = "people.csv"
[variables.town]
categories = ["big", "mid", "wee"]
missing = "wee"
unseen = "wee"
[variables.town.hierarchies.area]
core = ["big", "mid"]
rim = ["wee"]
[variables.sex]
categories = ["f", "m"]
missing = "f"
unseen = "f"
"""
PUBLIC = 'file = "sizes.csv", public = true'
REQUEST = """
dataset = "dataset.toml"
[table]
rows = ["town", "sex"]
margins = [["town", "sex"], ["town.area"], []]
objective = "{objective}"
{more}
[privacy]
definition = "zero_concentrated"
rho = "1/20"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("\n".join(ROWS) + "\n")
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "sizes.csv").write_text(
        "town,sex,count\nbig,f,900\nbig,m,800\nmid,f,300\nmid,m,400\nwee,f,2\nwee,m,50\n"
    )
    return tmp_path


def _request(folder: Path, expected: str = "", objective: str = "relative") -> Path:
    place = folder / "request.toml"
    more = f"expected = {{ {expected} }}" if expected else ""
    place.write_text(REQUEST.format(objective=objective, more=more))
    return place


def _flat(folder: Path, expected: str) -> Path:
    """Without the level, which a file of towns does not have."""
    place = _request(folder, expected)
    place.write_text(place.read_text().replace('["town.area"]', '["town"]'))
    return place


def test_a_public_file_weighs_margins_by_the_sizes_of_their_cells(folder: Path) -> None:
    request = load_request(_flat(folder, 'file = "sizes.csv", public = true, least = 5'))
    expected = request.table.expected
    assert expected is not None and expected.name == "sizes.csv"
    assert expected.sha256 == sha256((folder / "sizes.csv").read_bytes()).hexdigest()
    cells, towns = np.array([900, 800, 300, 400, 5, 50.0]), np.array([1700, 700, 52.0])
    weights = [np.mean(cells**-2), np.mean(towns**-2), 2452.0**-2]
    np.testing.assert_allclose([float(w) for w in expected.weights], weights, rtol=1e-9)
    assert RequestDocument.from_dict(request.to_dict()) == request


def test_the_plan_makes_relative_errors_small_and_names_the_file(folder: Path) -> None:
    with Curator.open(folder / "dataset.toml") as curator:
        plan = curator.plan(_flat(folder, 'file = "sizes.csv", public = true'))
        assert plan.preview["objective"] == "relative"
        assert plan.preview["expected"]["sha256"] in {sha256((folder / "sizes.csv").read_bytes()).hexdigest()}
        assert "sizes.csv" in plan.preview["note"]
        request = load_request(folder / "request.toml")
        assert request.table.expected is not None
        weights = np.array([float(w) for w in request.table.expected.weights])
        cells = np.array([6, 3, 1])

        def loss(margins: list[dict[str, Any]]) -> float:
            return float(weights * cells @ np.array([m["std_error"] ** 2 for m in margins]))

        own = loss(plan.preview["margins"])
        for objective in ("cells", "tables", "maximum"):
            text = (folder / "request.toml").read_text().replace('"relative"', f'"{objective}"')
            (folder / "other.toml").write_text("\n".join(x for x in text.splitlines() if "expected" not in x))
            assert own <= loss(curator.plan(folder / "other.toml").preview["margins"]) * (1 + 1e-6)


def test_a_release_of_ours_says_what_to_expect(folder: Path) -> None:
    with Curator.open(folder / "dataset.toml") as curator:
        curator.register(by="custodian")
        first = curator.release(_request(folder, objective="cells"))
        dalenius.save(first, folder / "before")
        plan = curator.plan(_request(folder, 'file = "before"'))
    assert plan.preview["expected"]["name"] == "release.json"
    size = max(float(first.find().values[0]), 10.0)
    relative = plan.preview["margins"][2]["relative_error"]
    assert relative == pytest.approx(plan.preview["margins"][2]["std_error"] / size)


@pytest.mark.parametrize(
    "expected",
    [
        'file = "sizes.csv"',
        'file = "nothing.csv", public = true',
        'file = "people.csv", public = true',
        'file = "dataset.toml", public = true',
        'file = "sizes.csv", public = true, least = 0',
        "public = true",
        "",
    ],
)
def test_files_that_are_not_public_or_hold_no_sizes_are_refused(folder: Path, expected: str) -> None:
    with pytest.raises(DocumentError):
        load_request(_request(folder, expected))


def test_sizes_go_with_relative_errors_and_are_read_from_a_file_only(folder: Path) -> None:
    text = _flat(folder, PUBLIC).read_text()
    (folder / "cells.toml").write_text(text.replace('"relative"', '"cells"'))
    with pytest.raises(DocumentError, match="written together"):
        load_request(folder / "cells.toml")
    with pytest.raises(DocumentError, match="read from a file"):
        load_request(text)
