"""Shown numbers lie where the declared bounds allow; what was measured stays, and what lies inside is not touched."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.algebra.tabulation import bounds
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import POSSIBLE, Release
from dalenius.curator.curator import Curator
from dalenius.errors import Unsupported
from dalenius.inference import intervals
from dalenius.publish.to_json import from_json, write_json

DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {
        "a": {"categories": [f"a{i}" for i in range(12)], "missing": "a0", "unseen": "a0"},
        "n": {"bounds": [0, 80], "step": 1, "missing": 0},
    },
}
SIZES = [1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 40, 80]
ROWS = {
    "a": [f"a{i}" for i, size in enumerate(SIZES) for _ in range(size)],
    "n": [(7 * i * i + j) % 81 for i, size in enumerate(SIZES) for j in range(size)],
}
TRUTH = np.array([np.mean([n for a, n in zip(ROWS["a"], ROWS["n"], strict=True) if a == f"a{i}"]) for i in range(12)])
POLICY = {
    "allow": {"acknowledge": ["individual"]},
    "floors": {"individual": 30},
    "budget": {"rho": 400, "delta": "0.01"},
}
ORDERED = ("median", "minimum", "maximum", "second_maximum", "range", "interquartile")


def released(folder: Path, table: dict[str, Any], privacy: dict[str, Any], seed: int) -> Release:
    rng = RecordedRandomness(seed)
    path = folder / str(seed)
    path.mkdir()
    with Curator.open(DATASET, ledger=path / "l.sqlite", data=ROWS, policy=POLICY, rng=rng) as curator:
        curator.register()
        return curator.release({"table": table, "privacy": privacy})


@pytest.mark.parametrize("measure", ORDERED)
def test_an_order_statistic_never_leaves_the_declared_bounds(tmp_path: Path, measure: str) -> None:
    """At this floor and epsilon the noise is some hundred times the bounds."""
    privacy = {"definition": "individual", "epsilon": "0.005"}
    release = released(tmp_path, {"measure": measure, "of": "n"}, privacy, 3)
    assert not 0 <= release.blocks[0].values[0] <= 80
    assert release.values.ravel()[0] in (0, 80)
    assert [note["name"] for note in release.adjustments] == [POSSIBLE]
    assert from_json(write_json(release)).adjustments == release.adjustments


def test_an_answer_inside_the_bounds_is_not_touched(tmp_path: Path) -> None:
    privacy = {"definition": "individual", "epsilon": 20}
    release = released(tmp_path, {"measure": "median", "of": "n"}, privacy, 5)
    assert release.adjustments == () and release.values.ravel()[0] == release.blocks[0].values[0]


def test_means_of_small_cells_and_their_intervals_are_possible(tmp_path: Path) -> None:
    table = {"rows": ["a"], "measure": "mean", "of": "n"}
    release = released(tmp_path, table, {"definition": "zero_concentrated", "rho": "0.05"}, 7)
    shown = release.table.values[~np.isnan(release.table.values)]
    lower, upper = bounds(release, release.table)
    assert np.all((shown >= 0) & (shown <= 80))
    assert np.nanmin(lower) >= 0 and np.nanmax(upper) <= 80
    (note,) = release.adjustments
    assert (note["lower"], note["upper"]) == (0, 80)


def test_intervals_of_means_cover_small_cells(tmp_path: Path) -> None:
    """Thirty releases of twelve cells, most of them tiny: at least 95 of 100 intervals hold the exact mean."""
    table = {"rows": ["a"], "measure": "mean", "of": "n"}
    covered = []
    for seed in range(30):
        release = released(tmp_path, table, {"definition": "zero_concentrated", "rho": "0.2"}, seed)
        found = intervals(release)
        covered.append((found.lower <= TRUTH + 1e-9) & (found.upper + 1e-9 >= TRUTH))
        assert "noise" in found.method
    assert np.mean(covered) >= 0.95
    # A large cell keeps an interval that says something.
    assert found.upper[11] - found.lower[11] < 40


@pytest.mark.parametrize("privacy", [{"definition": "pure", "epsilon": 1}, {"definition": "individual", "epsilon": 1}])
def test_an_interval_of_a_median_is_refused_in_words_about_medians(tmp_path: Path, privacy: dict[str, Any]) -> None:
    alone = {"method": "exponential"} if privacy["definition"] == "pure" else {}
    release = released(tmp_path, {"measure": "median", "of": "n", **alone}, privacy, 2)
    with pytest.raises(Unsupported, match="median is a selected value"):
        intervals(release)
