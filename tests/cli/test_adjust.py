"""`dalenius adjust`: what a release shows is made whole, possible or consistent, without data."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.errors import DaleniusError, ParameterError
from dalenius.publish import load, save
from dalenius.testing import rule_kit
from dalenius.testing.method_kit import released

REQUEST: dict[str, Any] = {
    "table": {"rows": ["sex"], "columns": ["region"], "margins": "all"},
    "privacy": {"definition": "zero_concentrated", "rho": "1/20"},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(released(REQUEST, tmp_path / "ledger.sqlite"), tmp_path / "out")
    document = rule_kit.DATASET | {"published": [{"over": ["sex"], "totals": [18, 9], "source": "Yearbook of toys"}]}
    (tmp_path / "dataset.json").write_text(json.dumps(document))
    return tmp_path


def run(*words: str) -> str:
    outcome = CliRunner().invoke(app, ["adjust", *words], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


def test_whole_possible_numbers_are_written_and_what_was_measured_stays(folder: Path) -> None:
    run("out", "--nonnegative", "--whole", "-o", "adjusted")
    before, after = load("out"), load("adjusted")
    cells = after.find("sex", "region").values
    assert (cells >= 0).all() and np.array_equal(cells, np.rint(cells))
    assert [b.values.tolist() for b in after.blocks] == [b.values.tolist() for b in before.blocks]
    assert [note["name"] for note in after.adjustments] == ["nonnegative", "rounding"]


def test_published_totals_and_an_earlier_release_hold(folder: Path) -> None:
    content = json.loads(run("out", "--published", "dataset.json", "--json"))
    assert "Yearbook of toys" in content["provenance"]["guarantee"]
    run("out", "--published", "dataset.json", "-o", "tied.json")
    assert load("tied.json").find("sex").values == pytest.approx([18, 9])
    run("out", "--anchor", "tied.json", "-o", "anchored.json")
    assert load("anchored.json").find("sex").values == pytest.approx([18, 9])


def test_a_table_is_shown_where_nothing_is_written(folder: Path) -> None:
    assert "female" in run("out", "--least", "0", "--most", "12")


def test_what_is_not_said_or_not_possible_is_refused(folder: Path) -> None:
    with pytest.raises(ParameterError, match="--whole"):
        run("out")
    with pytest.raises((DaleniusError, ValueError)):
        run("out", "--least", "5", "--most", "1")
