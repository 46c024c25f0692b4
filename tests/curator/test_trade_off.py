"""What other amounts would give: answered from plans alone."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli.main import app
from dalenius.curator.planner import Planner
from dalenius.curator.trade_off import curve
from dalenius.errors import DocumentError, Unsupported
from dalenius.spec.load import load_dataset
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument

DATASET = {
    "dataset": {"name": "staff", "population": "staff", "version": "1"},
    "variables": {"sex": {"categories": ["f", "m"]}, "pay": {"bounds": [0, 1_000_000], "step": 1, "missing": 0}},
}
PLANNER = Planner(domain=load_dataset(DATASET).domain(), policy=PolicyDocument())


def asked(**privacy: object) -> RequestDocument:
    return RequestDocument.from_dict({"table": {"rows": ["sex"]}, "privacy": privacy})


PURE = asked(definition="pure", epsilon=1)


def test_a_curve_falls_in_error_and_rises_in_risk() -> None:
    points = curve(PLANNER.plan, PURE)
    assert [float(point.amount) for point in points] == [0.125, 0.25, 0.5, 1, 2, 4, 8]
    assert all(a.margin >= b.margin and a.power <= b.power for a, b in pairwise(points))


def test_what_has_no_known_error_is_refused() -> None:
    median = RequestDocument.from_dict(
        {
            "table": {"measure": "median", "of": "pay", "method": "lomax"},
            "privacy": {"definition": "pure", "epsilon": 1},
        }
    )
    with pytest.raises(Unsupported, match="not known"):
        curve(PLANNER.plan, median)


def test_the_verb_prints_and_draws(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET))
    request = {"dataset": "dataset.json", "table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": 1}}
    (tmp_path / "request.json").write_text(json.dumps(request))
    runner, place = CliRunner(), str(tmp_path / "request.json")
    assert "asked" in runner.invoke(app, ["plan", place, "--curve"]).output
    answer = runner.invoke(app, ["plan", place, "--error-at-most", "±5", "--json"])
    assert json.loads(answer.output)["half_width_95"] <= 5
    assert json.loads(answer.output)["definition"] == "pure"
    drawn = runner.invoke(app, ["plan", place, "--curve", "--plot", str(tmp_path / "curve.svg")])
    assert drawn.exit_code == 0
    assert (tmp_path / "curve.svg").stat().st_size > 1000
    assert isinstance(runner.invoke(app, ["plan", place, "--error-at-most", "five"]).exception, DocumentError)


def test_a_table_that_is_too_fine_names_readable_counts_and_a_level() -> None:
    """From the declared size alone; without one nothing is said."""
    codes = [f"r{k}" for k in range(40)]
    levels = {
        "state": {"a": codes[:20], "b": codes[20:]},
        "part": {f"p{k}": codes[4 * k : 4 * k + 4] for k in range(10)},
    }
    document = {
        "dataset": {"name": "staff", "population": "staff", "size": 1000},
        "unit": {"relation": "replace"},
        "variables": {"region": {"categories": codes, "hierarchies": levels, "missing": "r0", "unseen": "r0"}},
    }
    planner = Planner(domain=load_dataset(document).domain(), policy=PolicyDocument())
    notes = planner.plan(dalenius.table(rows=["region"], rho="0.01")).notes
    # Three standard errors of a count at rho .01 under replace are 30.
    assert any("readable from 30 on" in each and "has 25 on average" in each for each in notes)
    assert any("With the level part of region" in each for each in notes)
    assert not planner.plan(dalenius.table(rows=[{"variable": "region", "level": "part"}], rho="0.01")).notes
    del document["dataset"]["size"]
    assert (
        not Planner(domain=load_dataset(document).domain(), policy=PolicyDocument())
        .plan(dalenius.table(rows=["region"], rho="0.01"))
        .notes
    )
