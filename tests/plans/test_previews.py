"""What a plan of an estimate states is what is released in a cell whose values are spread as it says."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from dalenius import Curator
from dalenius.algebra import tabulation
from dalenius.core import registry
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.testing import error_kit
from dalenius.testing.simulated import QUICK, ReplicatedExample

POLICY = {"budget": {"rho": 1000, "delta": "0.5"}, "allow": {"acknowledge": ["fixed_weights"]}}
LARGE = {"definition": "approximate", "epsilon": 20, "delta": "1e-4"}


def found(measure: str, more: Mapping[str, Any], privacy: Mapping[str, Any] | None = None) -> list[str]:
    """Judgements of the kit that are not kept."""
    example = registry.get("methods", measure).examples[0]
    asked = {"table": {**example["table"], **more}, "privacy": privacy or example["privacy"]}
    return [str(one) for one in error_kit.judge_preview(ReplicatedExample.of(measure, asked, QUICK))]


@pytest.mark.parametrize("measure", [m for m in registry.names("methods") if m in registry.names("estimators")])
def test_previews_of_weighted_estimates_state_both_errors(measure: str) -> None:
    assert not found(measure, {"weight": "weight", "error": "sampling"})


@pytest.mark.parametrize("more", [{}, {"weight": "weight"}], ids=["plain", "weighted"])
def test_previews_of_resampled_variances_state_both_errors(more: dict[str, str]) -> None:
    assert not found("variance", {"error": "bootstrap", "replicates": 40, **more}, LARGE)


SPREAD = {"1": 1, "1/10": 44, "1/100": 458}


@pytest.mark.parametrize(
    ("measure", "weight"), [("variance", None), ("standard_deviation", None), ("mean", "w"), ("median", None)]
)
def test_margins_by_upper_tail_are_those_of_such_values(measure: str, weight: str | None, tmp_path: Path) -> None:
    """Cells of 1,000 records, of which 99 in 100 lie in the lowest part of the bounds that a preview names."""
    rng = np.random.default_rng(7)
    table = {"rows": ["cell"], "measure": measure, "of": "x"} | ({"weight": weight} if weight else {})
    for tail, shape in SPREAD.items():
        heavy = 1 if tail == "1" else 9
        values, weights = rng.beta(1, shape, CELLS * RECORDS), rng.beta(1, heavy, CELLS * RECORDS)
        preview, release = planned_and_released(table, values, weights, tmp_path / f"{shape}.sqlite")
        stated = {part["upper_tail"]: part["half_width_95"] for part in preview["by_upper_tail"]}
        lower, upper = tabulation.bounds(release, release.table)
        # What is possible cuts the lower end alone.
        margins = (upper - lower) / 2 if measure == "median" else upper - release.table.values
        assert np.median(margins) == pytest.approx(stated[tail], rel=0.5)


@pytest.mark.parametrize("q", ["1/2", "9/10"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_quantiles_reach_as_far_as_drawn_releases_and_keep_what_an_accuracy_is_planned_by(
    q: str, weight: str | None, tmp_path: Path
) -> None:
    """Even values and weights; and the worst that is planned for: half of the values towards both bounds, light weights."""
    rng, many = np.random.default_rng(8), CELLS * RECORDS
    table = {"rows": ["cell"], "measure": "quantile", "q": q, "of": "x"} | ({"weight": weight} if weight else {})
    towards = np.where(rng.random(many) < 0.5, rng.random(many), rng.beta(0.5, 0.5, many))
    for name, values, weights in (
        ("even", rng.random(many), rng.random(many)),
        ("worst", towards if q == "1/2" else rng.beta(1, 5, many), rng.beta(1, 5, many)),
    ):
        preview, release = planned_and_released(table, values, weights, tmp_path / f"{name}.sqlite")
        lower, upper = tabulation.bounds(release, release.table)
        released = float(np.median(upper - lower)) / 2
        if name == "even":
            assert released == pytest.approx(preview["half_width_95"], rel=0.25)
            assert preview["ranks"] / RECORDS * 1e5 == pytest.approx(preview["half_width_95"], rel=0.02)
        else:
            assert 0.6 * preview["half_width_95_at_most"] < released <= preview["half_width_95_at_most"]


@pytest.mark.parametrize(("measure", "replicates"), [("mean", 5), ("total", 5), ("mean", 40)])
def test_margins_from_replicates_lie_between_the_ends_that_a_plan_states(
    measure: str, replicates: int, tmp_path: Path
) -> None:
    values = np.random.default_rng(9).random(CELLS * RECORDS)
    table = {"rows": ["cell"], "measure": measure, "of": "x", "error": "bootstrap", "replicates": replicates}
    preview, release = planned_and_released(table, values, values, tmp_path / "l.sqlite", rho=4, delta="1e-4")
    lower, upper = tabulation.bounds(release, release.table)
    least, most = (preview[f"half_width_95_at_{end}"] for end in ("least", "most"))
    inside = int((((upper - lower) / 2 >= least) & ((upper - lower) / 2 <= most)).sum())
    # Nine tenths of the margins, by construction: neither fewer nor all of a narrower law's.
    assert binomtest(inside, CELLS, 0.9).pvalue > 0.0005
    assert least < preview["half_width_95"] < most


CELLS, RECORDS = 40, 1000


def planned_and_released(
    table: dict[str, Any], values: Any, weights: Any, ledger: Path, **privacy: Any
) -> tuple[Any, Release]:
    """What is planned and what is released of cells whose values and weights are these parts of their bounds."""
    names = [f"c{k}" for k in range(CELLS)]
    document = {
        "dataset": {"name": "d", "population": "p", "public": True},
        "design": {"draws": "independent"},
        "variables": {
            "cell": {"categories": names},
            "x": {"bounds": [0, 100_000], "step": 1},
            "w": {"bounds": [0, 1000], "step": 1, "weight": True},
        },
    }
    data = {"cell": np.repeat(names, RECORDS), "x": np.rint(1e5 * values), "w": np.rint(1000 * weights)}
    noise = RecordedRandomness(f"{table} {ledger.name}")
    with Curator.open(data, document, ledger=ledger, policy=POLICY, rng=noise) as curator:
        curator.register()
        request = {"table": table, "privacy": {"rho": "1/20", "in_cells_of": RECORDS, **privacy}}
        return curator.plan(request).preview, curator.release(request)
