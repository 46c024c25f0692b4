"""Variances whose fourth powers no engine can add have both errors all the same: from squared influences."""

from pathlib import Path

import numpy as np
import pytest

from dalenius import Curator, inference, table
from dalenius.core.randomness import RecordedRandomness

CELLS, ROWS = 200, 400
DATASET = {
    "dataset": {"name": "wide", "population": "wide", "public": True},
    "design": {"draws": "independent"},
    "variables": {
        "cell": {"bounds": [0, CELLS], "step": 1, "missing": 0},
        "value": {"bounds": [0, 20000], "step": "0.0001", "missing": 0},
    },
}


@pytest.mark.parametrize("measure", ["variance", "standard_deviation"])
def test_intervals_of_both_kinds_hold(tmp_path: Path, measure: str) -> None:
    """200 cells of heaped values. A binomial test at .0005 rejects 93.5 % below 172 of 200 cells."""
    rng = np.random.default_rng(11)
    points = np.array([0, 0.0001, 12000, 12500.5, 19999.9999])
    chances = np.array([0.15, 0.2, 0.3, 0.2, 0.15])
    drawn = rng.choice(points, size=(CELLS, ROWS), p=chances)
    data = {"cell": np.repeat(np.arange(CELLS), ROWS).tolist(), "value": drawn.ravel().tolist()}
    axis = {"variable": "cell", "cuts": list(range(CELLS + 1))}
    noise = RecordedRandomness("wide")
    with Curator.open(DATASET, ledger=tmp_path / "l", data=data, rng=noise, policy={"budget": {"rho": 9}}) as curator:
        curator.register()
        release = curator.release(table(measure=measure, of="value", rows=[axis], rho=5))
    assert release.table.sampled is not None
    variance = float(chances @ points**2 - (chances @ points) ** 2)
    truths = {"population": drawn.var(axis=1, ddof=1), "parameter": np.full(CELLS, variance)}
    for kind, truth in truths.items():
        exact = truth if measure == "variance" else np.sqrt(truth)
        ends = inference.intervals(release, kind=kind)
        assert int(((ends.lower <= exact) & (exact <= ends.upper)).sum()) >= 172, kind
        assert float(np.median(ends.upper - ends.lower)) < float(np.median(exact)), "an interval that says something"
