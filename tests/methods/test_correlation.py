"""Correlation: the known answer on fixed records that have both numbers, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from tests.methods.pairs import asked

from dalenius import Curator, table
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.errors import DaleniusError


def test_the_answer_is_the_known_one() -> None:
    table = asked({"measure": "correlation", "of": "x", "other": "y"})[0]
    known = np.corrcoef([0, 1, 2, 2, 4, 6], [1, 1, 3, 1, 2, 4])[0, 1]
    assert table.values == pytest.approx([known], abs=0.05)


def test_a_variable_with_itself_is_refused() -> None:
    with pytest.raises(DaleniusError, match="same"):
        asked({"measure": "correlation", "of": "x", "other": "x"})


def released(
    folder: Path, x: np.ndarray, y: np.ndarray, high: int, rho: float, measure: str = "correlation"
) -> Release:
    """Of 300 samples, stacked as the cells of one table; x is declared up to 100, y up to `high`."""
    samples = [f"s{k}" for k in range(300)]
    declared = {
        "dataset": {"name": "pairs", "population": "pairs", "public": True},
        "variables": {
            "sample": {"categories": samples},
            "x": {"bounds": [0, 100], "step": 1},
            "y": {"bounds": [0, high], "step": 1},
        },
    }
    rows = {"sample": np.repeat(samples, len(x) // 300), "x": x, "y": y}
    randomness, rules = RecordedRandomness("pairs"), {"budget": {"rho": 1000}}
    with Curator.open(rows, declared, ledger=folder / "l.sqlite", policy=rules, rng=randomness) as curator:
        curator.register()
        return curator.release(table(rows=["sample"], measure=measure, of="x", other="y", rho=rho))


def test_intervals_reach_a_perfect_correlation(tmp_path: Path) -> None:
    """Two columns that say the same in 300 samples: half of the intervals ended below one."""
    values = np.random.default_rng(5).integers(0, 50, 300 * 80)
    release = released(tmp_path, values, values, 100, 20)
    for with_sampling in (False, True):
        assert (release.interval(with_sampling=with_sampling)[1] == 1).mean() >= 0.93


@pytest.mark.parametrize(("high", "widest"), [(150, 0.4), (1000, 2)])
def test_intervals_hold_where_the_bounds_of_one_number_are_far_too_wide(
    high: int, widest: float, tmp_path: Path
) -> None:
    """A strong correlation; and noise of a variance as large as the variance, where no first-order error holds."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 100, 300 * 80)
    y = np.minimum(x // 2 + rng.integers(0, 17, 300 * 80), 66)
    release = released(tmp_path, x, y, high, 20)
    pairs = zip(x.reshape(300, 80), y.reshape(300, 80), strict=True)
    own = np.array([np.corrcoef(*pair)[0, 1] for pair in pairs])
    lower, upper = release.interval()
    assert ((lower <= own) & (own <= upper)).mean() >= 0.91  # a binomial test at .0005 rejects 93.5 % below .885


@pytest.mark.parametrize("measure", ["correlation", "covariance"])
@pytest.mark.parametrize(("high", "rho"), [(100, 900), (400, 20)])
def test_intervals_with_sampling_hold_for_numbers_that_are_not_normal(
    measure: str, high: int, rho: int, tmp_path: Path
) -> None:
    """Two numbers that are both small or both large: their products vary far more than those of normal numbers."""
    rng = np.random.default_rng(11)

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        is_large = rng.random(n) < 0.25
        x, y = (np.where(is_large, rng.gamma(2, 18, n), rng.integers(0, 6, n)) for _ in range(2))
        return np.rint(np.minimum(x, 100)), np.rint(np.minimum(y, 100))

    release = released(tmp_path, *drawn(300 * 300), high, rho, measure)
    both = drawn(2_000_000)
    truth = np.corrcoef(*both)[0, 1] if measure == "correlation" else np.cov(*both)[0, 1]
    lower, upper = release.interval(with_sampling=True)
    held = ((lower <= truth) & (truth <= upper)).mean()
    assert held >= 0.885  # what a binomial test at .0005 does not reject for 93.5 %


@pytest.mark.parametrize("measure", ["correlation", "covariance"])
def test_the_error_of_sampling_is_left_out_on_request(measure: str, tmp_path: Path) -> None:
    pair = {"measure": measure, "of": "x", "other": "y"}
    (with_sampling,), (alone,) = asked(pair, 20), asked({**pair, "error": "noise"}, 20)
    assert with_sampling.sampled is not None and alone.sampled is None
    assert (alone.variance < with_sampling.variance).all()
