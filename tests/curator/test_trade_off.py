"""Which amount do I need: answered from plans alone, and true."""

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist

import pytest
from typer.testing import CliRunner

from dalenius.algebra import joint
from dalenius.cli.main import app
from dalenius.core.plan import margin_of_error
from dalenius.curator.planner import Planner
from dalenius.curator.trade_off import AMOUNTS, curve, smallest_for, smallest_within
from dalenius.errors import ParameterError, Unsupported
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


@pytest.mark.parametrize("request_document", [PURE, asked(definition="zero_concentrated", rho=0.1)])
def test_the_smallest_amount_is_enough_and_the_next_smaller_is_not(request_document: RequestDocument) -> None:
    point = smallest_for(PLANNER, request_document, 5)
    assert point.margin <= 5

    def margin(amount: object) -> float:
        privacy = request_document.privacy.model_copy(update={point.unit: amount})
        return margin_of_error(PLANNER.plan(request_document.model_copy(update={"privacy": privacy})).preview)

    assert margin(point.amount) == point.margin
    assert margin(AMOUNTS[AMOUNTS.index(point.amount) - 1]) > 5


def test_a_curve_falls_in_error_and_rises_in_risk() -> None:
    points = curve(PLANNER, PURE)
    assert [float(point.amount) for point in points] == [0.125, 0.25, 0.5, 1, 2, 4, 8]
    assert all(a.margin >= b.margin and a.power <= b.power for a, b in pairwise(points))


def test_what_has_no_known_error_is_refused() -> None:
    median = RequestDocument.from_dict(
        {
            "table": {"measure": "median", "of": "pay", "method": "lomax"},
            "privacy": {"definition": "pure", "epsilon": 1},
        }
    )
    for ask in (lambda: curve(PLANNER, median), lambda: smallest_for(PLANNER, median, 5)):
        with pytest.raises(Unsupported, match="not known"):
            ask()
    totals = RequestDocument.from_dict(
        {"table": {"measure": "total", "of": "pay"}, "privacy": {"definition": "zero_concentrated", "rho": 1}}
    )
    with pytest.raises(Unsupported, match="No rho"):
        smallest_for(PLANNER, totals, 0.5)
    with pytest.raises(ParameterError):
        smallest_for(PLANNER, PURE, -1)


def test_the_verb_prints_and_draws(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET))
    request = {"dataset": "dataset.json", "table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": 1}}
    (tmp_path / "request.json").write_text(json.dumps(request))
    runner, place = CliRunner(), str(tmp_path / "request.json")
    assert "asked" in runner.invoke(app, ["plan", place, "--curve"]).output
    answer = runner.invoke(app, ["plan", place, "--for", "±5", "--json"])
    assert json.loads(answer.output)["half_width_95"] <= 5
    drawn = runner.invoke(app, ["plan", place, "--curve", "--plot", str(tmp_path / "curve.svg")])
    assert drawn.exit_code == 0
    assert (tmp_path / "curve.svg").stat().st_size > 1000
    assert isinstance(runner.invoke(app, ["plan", place, "--for", "five"]).exception, ParameterError)


LISTED = RequestDocument.from_dict(
    {
        "table": {"rows": ["sex", "town"], "margins": [["sex", "town"], ["town.part"], []], "objective": "tables"},
        "privacy": {"definition": "zero_concentrated", "rho": "1/7"},
    }
)
PLACES = {
    "dataset": {"name": "places", "population": "places", "version": "1"},
    "variables": {
        "sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f"},
        "town": {
            "categories": list("abcdef"),
            "missing": "a",
            "unseen": "a",
            "hierarchies": {"part": {"x": ["a", "b"], "y": ["c"], "z": ["d", "e", "f"]}},
        },
    },
}


@pytest.mark.parametrize(("table", "confidence"), [(("town.part",), 0.95), ((), 0.99)])
def test_the_smallest_amount_for_one_listed_table_is_exact_to_three_digits(
    table: tuple[str, ...], confidence: float
) -> None:
    planner = Planner(domain=load_dataset(PLACES).domain(), policy=PolicyDocument())
    point = smallest_within(planner, LISTED, 10, table, confidence)
    position = [["sex", "town"], ["town.part"], []].index(list(table))
    z = NormalDist().inv_cdf(0.5 + confidence / 2)

    def error(amount: Fraction) -> float:
        privacy = LISTED.privacy.model_copy(update={"rho": amount})
        law = planner.plan(LISTED.model_copy(update={"privacy": privacy})).law
        return float(z * joint.largest_variances(law)[position] ** 0.5)  # type: ignore[arg-type]

    assert error(point.amount) == pytest.approx(point.margin)
    assert point.margin <= 10 < error(point.amount * Fraction(995, 1000))


def test_a_table_that_is_not_listed_is_refused_by_name() -> None:
    planner = Planner(domain=load_dataset(PLACES).domain(), policy=PolicyDocument())
    with pytest.raises(Unsupported, match=r"this request lists sex x town, town\.part, total"):
        smallest_within(planner, LISTED, 10, ("town",))
    with pytest.raises(Unsupported, match="no margins"):
        smallest_within(PLANNER, PURE, 10, ("sex",))


def test_the_command_line_says_what_each_strategy_would_need(tmp_path: Path) -> None:
    (tmp_path / "places.json").write_text(json.dumps(PLACES))
    request = {"dataset": "places.json"} | LISTED.to_dict()
    (tmp_path / "request.json").write_text(json.dumps(request))
    arguments = ["plan", str(tmp_path / "request.json"), "--for", "±10", "--margin", "town.part"]
    answer = CliRunner().invoke(app, [*arguments, "--json"])
    assert answer.exit_code == 0, answer.output
    content = json.loads(answer.output)
    assert content["strategies"]["tree"] == content["amount"] < content["strategies"]["interior"]
    printed = CliRunner().invoke(app, arguments).output
    assert "every cell of town.part within ±" in printed
    assert "What each strategy" in printed
    assert CliRunner().invoke(app, [*arguments[:2], "--margin", "town.part"]).exit_code != 0
