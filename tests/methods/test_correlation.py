"""Correlation: the known answer on fixed records that have both numbers, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from tests.methods.pairs import asked

from dalenius import Curator, table
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import DaleniusError


def test_the_answer_is_the_known_one() -> None:
    table = asked({"measure": "correlation", "of": "x", "other": "y"})[0]
    known = np.corrcoef([0, 1, 2, 2, 4, 6], [1, 1, 3, 1, 2, 4])[0, 1]
    assert table.values == pytest.approx([known], abs=0.05)


def test_a_variable_with_itself_is_refused() -> None:
    with pytest.raises(DaleniusError, match="same"):
        asked({"measure": "correlation", "of": "x", "other": "x"})


def test_intervals_reach_a_perfect_correlation(tmp_path: Path) -> None:
    """Two columns that say the same in 300 samples: half of the intervals ended below one."""
    rng, samples = np.random.default_rng(5), [f"s{k}" for k in range(300)]
    values = rng.integers(0, 50, 300 * 80)
    number = {"bounds": [0, 100], "step": 1}
    declared = {
        "dataset": {"name": "twice", "population": "twice", "public": True},
        "variables": {"sample": {"categories": samples}, "x": number, "y": number},
    }
    rows = {"sample": np.repeat(samples, 80), "x": values, "y": values}
    rules = {"budget": {"rho": 100}}
    with Curator.open(
        rows, declared, ledger=tmp_path / "l.sqlite", policy=rules, rng=RecordedRandomness("twice")
    ) as curator:
        curator.register()
        release = curator.release(table(rows=["sample"], measure="correlation", of="x", other="y", rho=20))
    for with_sampling in (False, True):
        assert (release.interval(with_sampling=with_sampling)[1] == 1).mean() >= 0.93
