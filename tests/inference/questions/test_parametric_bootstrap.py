"""The parametric bootstrap against closed forms: with next to no noise it gives the classical intervals of the model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, t

from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.errors import Unsupported
from dalenius.inference.questions.parametric_bootstrap import parametric_bootstrap

GENERATOR = np.random.default_rng(22)
X = np.rint(np.clip(GENERATOR.normal(500, 60, 400), 0, 1000))
ROWS = {"x": X.tolist(), "y": np.rint(np.clip(0.6 * X + GENERATOR.normal(200, 50, 400), 0, 1000)).tolist()}
DATASET = {
    "dataset": {"name": "d", "population": "p", "version": "1", "size": 400, "public": True},
    "unit": {"relation": "replace"},
    "variables": {name: {"bounds": [0, 1000], "step": 1, "missing": 0} for name in ("x", "y")},
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Releases by what is asked and how much is spent."""
    ledger: Path = tmp_path_factory.mktemp("parametric") / "ledger.sqlite"
    policy = {"budget": {"rho": 1000}}
    with Curator.open(
        DATASET, data=ROWS, ledger=ledger, policy=policy, rng=RecordedRandomness("parametric")
    ) as curator:
        curator.register(by="custodian")
        yield lambda rho, **table: curator.release(
            {"table": {"of": "x"} | table, "privacy": {"definition": "zero_concentrated", "rho": rho}}
        )


def test_without_noise_the_intervals_are_the_classical_ones_of_the_model(released: Any) -> None:
    n, s = len(X), X.std(ddof=1)
    mean = parametric_bootstrap(released(300, measure="mean", error="sampling"), replicates=9999).at(0)
    half = t.ppf(0.975, n - 1) * s / np.sqrt(n)
    assert (mean.lower, mean.upper) == pytest.approx((X.mean() - half, X.mean() + half), abs=0.05 * half)
    spread = parametric_bootstrap(released(300, measure="standard_deviation"), replicates=9999).at(0)
    ends = s * np.sqrt((n - 1) / chi2.ppf([0.975, 0.025], n - 1))
    assert (spread.lower, spread.upper) == pytest.approx(tuple(ends), rel=0.006)
    pair = released(300, measure="correlation", other="y")
    both = parametric_bootstrap(pair, replicates=9999).at(0)
    fisher = np.arctanh(pair.table.values[0]) + np.array([-1, 1]) * 1.96 / np.sqrt(n - 3)
    assert pair.table.values[0] == pytest.approx(np.corrcoef(ROWS["x"], ROWS["y"])[0, 1], abs=0.02)
    assert (both.lower, both.upper) == pytest.approx(tuple(np.tanh(fisher)), abs=0.006)


def test_noise_widens_it_by_the_published_law(released: Any) -> None:
    noisy = released("1/2", measure="mean", error="sampling")
    made = parametric_bootstrap(noisy, replicates=4999).at(0)
    assert noisy.table.sampled is not None
    assert made.width == pytest.approx(2 * 1.96 * np.sqrt(noisy.table.sampled[0]), rel=0.05)
    assert "4,999 simulated" in made.method


def test_what_has_no_model_or_no_spread_is_refused(released: Any) -> None:
    with pytest.raises(Unsupported, match='error = "sampling"'):
        parametric_bootstrap(released(1, measure="mean", error="noise"))
    with pytest.raises(Unsupported, match="no model"):
        parametric_bootstrap(released(1, measure="total"))
