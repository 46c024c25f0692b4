"""What a plan of an estimate states is what is released in a cell whose values are spread as it says."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius import Curator
from dalenius.algebra import tabulation
from dalenius.core import registry
from dalenius.core.randomness import RecordedRandomness
from dalenius.testing import error_kit
from dalenius.testing.simulated import QUICK, ReplicatedExample

POLICY = {"budget": {"rho": 1000}, "allow": {"acknowledge": ["fixed_weights"]}}
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
    rng, cells, records = np.random.default_rng(7), 40, 1000
    group = np.repeat([f"c{k}" for k in range(cells)], records)
    document = {
        "dataset": {"name": "d", "population": "p", "public": True},
        "design": {"draws": "independent"},
        "variables": {
            "cell": {"categories": [f"c{k}" for k in range(cells)]},
            "x": {"bounds": [0, 100_000], "step": 1},
            "w": {"bounds": [0, 1000], "step": 1, "weight": True},
        },
    }
    table = {"rows": ["cell"], "measure": measure, "of": "x"} | ({"weight": weight} if weight else {})
    for tail, shape in SPREAD.items():
        heavy = 1 if tail == "1" else 9
        data = {
            "cell": group,
            "x": np.rint(1e5 * rng.beta(1, shape, len(group))),
            "w": np.rint(1000 * rng.beta(1, heavy, len(group))),
        }
        opened = Curator.open(
            data,
            document,
            ledger=tmp_path / f"{shape}.sqlite",
            policy=POLICY,
            rng=RecordedRandomness(f"{measure} {tail}"),
        )
        with opened as curator:
            curator.register()
            request = {"table": table, "privacy": {"rho": "1/20", "in_cells_of": records}}
            stated = {
                part["upper_tail"]: part["half_width_95"] for part in curator.plan(request).preview["by_upper_tail"]
            }
            release = curator.release(request)
        lower, upper = tabulation.bounds(release, release.table)
        # What is possible cuts the lower end alone.
        margins = (upper - lower) / 2 if measure == "median" else upper - release.table.values
        assert np.median(margins) == pytest.approx(stated[tail], rel=0.5)
