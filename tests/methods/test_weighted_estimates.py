"""Weighted means, totals and ratios: known answers with both errors on fixed records, one spelling, and what is refused."""

from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.methods.tiny_prices import largest_price, silent_tables

import dalenius
from dalenius.algebra.estimates import estimated
from dalenius.core.law import Additive, Joint
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Table
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError, Unsupported
from dalenius.shown.speech import heading, unit_of
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.load import load_dataset
from dalenius.spec.request import RequestDocument
from dalenius.testing.asking import plan_of

POLICY = {"allow": {"acknowledge": ["fixed_weights"]}}
DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "design": {"draws": "independent"},
    "variables": {
        "g": {"categories": ["a", "b"]},
        "x": {"bounds": [-10, 40], "step": "0.5"},
        "y": {"bounds": [0, 20], "step": 1},
        "w": {"weight": True, "bounds": [0, 4], "step": "0.5"},
        "v": {"bounds": [-1, 1], "step": 1},
        "none": {"bounds": [0, 0], "step": 1},
    },
}
X = np.arange(60) % 31 - 4.0
Y = np.arange(60) % 17 + 2.0
W = 0.5 * (np.arange(60) % 8 + 1)
COLUMNS = {
    "g": ["a", "b"] * 30 + ["a", "a"],
    "x": [*X.tolist(), None, 30],
    "y": [*Y.tolist(), 3, 3],
    "w": [*W.tolist(), 4, None],
    "v": [0] * 62,
    "none": [0] * 62,
}


def asked(table: dict[str, Any], epsilon: int = 900) -> tuple[Table, ...]:
    """With so large a budget that noise hardly shows; the last two records lack the number or the weight."""
    domain = DatasetDocument.from_dict(DATASET).domain()
    plan = plan_of(domain, {"table": table, "privacy": {"definition": "pure", "epsilon": epsilon}}, POLICY)
    source = MemorySource.open(domain, COLUMNS)
    passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness("weighted"))
    tables = plan.assemble(passage.blocks)
    lower, upper = estimated(plan.law, passage.blocks, tables[0].space.size).ends(  # type: ignore[arg-type]
        0.95, tables[0].sampled is not None
    )
    assert np.all(lower <= tables[0].values) and np.all(tables[0].values <= upper)
    return tables


def test_means_are_the_known_ones_with_the_error_of_the_design() -> None:
    table, counts = asked({"rows": ["g"], "measure": "mean", "of": "x", "weight": "w"})
    for place, part in enumerate((slice(0, None, 2), slice(1, None, 2))):
        x, w = X[part], W[part]
        mean = w @ x / w.sum()
        assert table.values[place] == pytest.approx(mean, rel=5e-3)
        assert counts.values[place] == pytest.approx(w.sum(), rel=5e-3)
        error = sqrt(float(w**2 @ (x - mean) ** 2)) / w.sum()
        assert sqrt(table.sampled[place]) == pytest.approx(error, rel=0.05)  # type: ignore[index]
    assert table.measure == "mean" and counts.measure == "weighted count"


def test_totals_and_ratios_are_the_known_ones() -> None:
    (total,) = asked({"measure": "total", "of": "x", "weight": "w"})
    assert total.values[0] == pytest.approx(W @ X, rel=5e-3)
    assert sqrt(total.sampled[0]) == pytest.approx(sqrt(float((W * X) @ (W * X))), rel=0.05)  # type: ignore[index]
    (ratio,) = asked({"measure": "ratio", "of": "x", "other": "y", "weight": "w", "per": 10})
    value = W @ X / (W @ Y)
    assert ratio.values[0] == pytest.approx(10 * value, rel=5e-3)
    error = 10 * sqrt(float(W**2 @ (X - value * Y) ** 2)) / (W @ Y)
    assert sqrt(ratio.sampled[0]) == pytest.approx(error, rel=0.1)  # type: ignore[index]


@pytest.mark.parametrize("measure", ["mean", "total"])
def test_the_error_of_the_design_is_left_out_where_it_is_not_wanted(measure: str) -> None:
    table = asked({"measure": measure, "of": "x", "weight": "w", "error": "noise"})[0]
    assert table.sampled is None


def test_the_weighted_count_beside_a_mean_has_its_own_title(tmp_path: Path) -> None:
    columns = {name: COLUMNS[name] for name in ("g", "x", "w")}
    variables = {name: dict(DATASET["variables"][name]) for name in columns}
    variables["x"]["unit"] = "hours"
    dataset = {**DATASET, "variables": variables}
    with dalenius.Curator.open(dataset, data=columns, policy=POLICY, ledger=tmp_path / "ledger.sqlite") as curator:
        curator.register()
        release = curator.release(dalenius.table(measure="mean", of="x", weight="w", rho=1))
    assert [heading(release, table) for table in release.tables] == [
        "Mean of x (weighted by w)",
        "Number of records (weighted by w)",
    ]
    assert [unit_of(release, table) for table in release.tables] == ["hours", ""]


@pytest.mark.parametrize("measure", ["mean", "total"])
def test_the_usual_error_has_one_spelling(measure: str) -> None:
    privacy = {"definition": "pure", "epsilon": 1}
    table = {"measure": measure, "of": "x", "weight": "w"}
    said, meant = (
        RequestDocument.from_dict({"table": one, "privacy": privacy}) for one in (table | {"error": "sampling"}, table)
    )
    assert said == meant


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight": "v"},
        {"weight": "none"},
        {"weight": "x"},
        {"weight": "g"},
        {"weight": "w", "of": "none"},
        {"weight": "w", "rows": [{"variable": "x", "cuts": [-10, 0, 41]}]},
        {"error": "both", "weight": "w"},
    ],
)
def test_what_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        asked({"measure": "mean", "of": "x"} | wrong)


def test_weights_that_are_not_declared_fixed_are_refused() -> None:
    domain = DatasetDocument.from_dict(DATASET).domain()
    request = {"table": {"measure": "mean", "of": "x", "weight": "w"}, "privacy": {"definition": "pure", "epsilon": 1}}
    with pytest.raises(Unsupported, match="not declared fixed"):
        plan_of(domain, request, {})


def test_a_total_of_the_records_on_file_has_the_error_of_rows_that_come_or_stay_away_where_it_is_asked_for() -> None:
    table = {"measure": "total", "of": "x"}
    (sampled,) = asked(table | {"error": "sampling"})
    values = np.array([*X, 30.0])
    assert sampled.values[0] == pytest.approx(values.sum(), rel=5e-3)
    assert sampled.sampled is not None
    assert sqrt(sampled.sampled[0]) == pytest.approx(sqrt(float(values @ values)), rel=0.05)
    assert asked(table | {"error": "noise"})[0].sampled is None


def regular_domain(relation: str = "add-remove") -> Any:
    return load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "unit": {"relation": relation},
            "design": {"draws": "independent"},
            "variables": {
                "x": {"bounds": [-2, 4], "step": 1, "missing": "drop"},
                "w": {"weight": True, "bounds": [0, 10], "step": "0.5", "missing": "drop"},
            },
        }
    ).domain()


def regular_request(**more: Any) -> dict[str, Any]:
    table = {"measure": "mean", "of": "x", "weight": "w", "regularise": "3/4", "common_weight": 2}
    return {"table": table | more, "privacy": {"definition": "zero_concentrated", "rho": "1/2"}}


REGULAR_ROWS: list[dict[str, Any]] = [
    {"x": x, "w": w} for x, w in [(-2, 10), (4, 10), (1, 0), (None, 5), (4, None), (3, 2.5)]
]
FIXED = {"allow": {"acknowledge": ["fixed_weights"]}}


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_regularised_means_cost_what_they_say_on_tiny_neighbours(relation: str) -> None:
    here = regular_domain(relation)
    plan = plan_of(here, regular_request(), FIXED)
    assert 0.26 < largest_price(plan, here, REGULAR_ROWS) <= 0.5 + 1e-9


def test_regularised_means_are_those_of_weights_drawn_towards_the_common_one() -> None:
    here = regular_domain()
    shown = silent_tables(plan_of(here, regular_request(), FIXED), here, REGULAR_ROWS * 400)
    kept = [(row["x"], row["w"] / 4 + 2 * 3 / 4) for row in REGULAR_ROWS * 400 if None not in row.values()]
    whole = sum(w for _, w in kept)
    assert shown[0].values[0] == pytest.approx(sum(x * w for x, w in kept) / whole)
    assert shown[1].values[0] == pytest.approx(whole)
    request = regular_request()
    for key in ("regularise", "common_weight"):
        del request["table"][key]
    plain = plan_of(here, request, FIXED)
    # The largest weight is 4 instead of 10; shares of the budget may differ by a step.
    noise = []
    for plan in (plan_of(here, regular_request(), FIXED), plain):
        law, first = plan.law, plan.measurements[0].law
        assert isinstance(law, Joint) and isinstance(first, Additive)
        noise.append(first.std_error * float(Fraction(str(law.parameters["weight"]))))
    assert noise[0] == pytest.approx(0.4 * noise[1], rel=0.05)


@pytest.mark.parametrize(
    "more",
    [
        {"regularise": 0},
        {"regularise": 1},
        {"regularise": "1/101"},
        {"common_weight": 0},
        {"common_weight": "2.2"},
        {"common_weight": 11},
    ],
)
def test_shares_and_weights_that_mean_nothing_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        plan_of(regular_domain(), regular_request(**more), FIXED)


def test_regularise_is_for_weighted_means() -> None:
    request = regular_request()
    del request["table"]["weight"]
    with pytest.raises(DaleniusError):
        plan_of(regular_domain(), request, FIXED)
