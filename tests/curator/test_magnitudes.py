"""Totals and means under declared bounds: sensitivity, unbiasedness, variance, and what happens to empty cells."""

from pathlib import Path

import numpy as np
import pytest

import dalenius
from dalenius.algebra import tabulation
from dalenius.core.law import Additive
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.curator.curator import Curator

DATASET = {
    "dataset": {"name": "farms", "population": "farms", "version": "1", "public": True},
    "variables": {"region": {"categories": ["hill", "valley", "coast"]}, "output": {"bounds": [0, 100], "step": "0.5"}},
}
ROWS = {"region": ["hill"] * 40 + ["valley"] * 60, "output": [float(10 + i % 7) for i in range(99)] + [1e9]}


def open_farms(tmp_path: Path, seed: int) -> Curator:
    curator = Curator.open(
        DATASET,
        ledger=tmp_path / f"{seed}.sqlite",
        data=ROWS,
        rng=RecordedRandomness(seed),
        policy={"budget": {"rho": 1000}},
    )
    curator.register()
    return curator


def request(measure: str, epsilon: object = 2, region: str = "region") -> dict[str, object]:
    return {
        "table": {"rows": [region], "measure": measure, "of": "output"},
        "privacy": {"definition": "pure", "epsilon": epsilon},
    }


def exact_totals() -> np.ndarray:
    values = np.clip(np.array(ROWS["output"]), 0, 100)
    regions = np.array(ROWS["region"])
    return np.array([values[regions == r].sum() for r in ("hill", "valley", "coast")])


def test_total_is_calibrated_to_the_declared_bound(tmp_path: Path) -> None:
    with open_farms(tmp_path, 1) as curator:
        plan = curator.plan(request("total"))
        law = plan.law
    assert isinstance(law, Additive)
    assert law.step == pytest.approx(0.5)
    assert law.noise.parameters["rate"] == pytest.approx(2 / 200)  # 100 is 200 steps of 0.5


def test_total_is_clamped_then_perturbed(tmp_path: Path) -> None:
    with open_farms(tmp_path, 2) as curator:
        release = curator.release(request("total", 100))
    error = np.abs(release.table.values - exact_totals())
    assert release.table.measure == "total"
    assert error.max() < 20  # scale 1: the value 1e9 was clamped to 100, and 20 scales have probability 1e-8
    assert error.max() > 0


@pytest.mark.statistical
def test_means_are_centred_and_their_errors_honest(tmp_path: Path) -> None:
    """250 answers to one plan at a fixed seed; z-scores have mean 0 +- 5 standard errors and variance within 30 %."""
    counts = np.array([40, 60])
    truth = exact_totals()[:2] / counts
    scores, rng = [], RecordedRandomness(3)
    with open_farms(tmp_path, 3) as curator:
        plan = curator.plan(request("mean", 5))
        for _ in range(250):
            passage = gate.run(plan, curator.source, plan.neighbours, plan.reservation, rng)
            table = plan.assemble(passage.blocks)[0]
            scores.append((table.values[:2] - truth) / table.std_error[:2])
    z = np.array(scores)
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(250)
    assert np.abs(z.var(axis=0) - 1).max() < 0.3


def test_the_mean_of_an_empty_cell_is_unknown_or_noisy_never_an_error(tmp_path: Path) -> None:
    with open_farms(tmp_path, 4) as curator:
        release = curator.release(request("mean", 100))
    coast = release.table.values[2]
    assert np.isnan(coast) or np.isfinite(coast)
    assert release.find("region") is not None
    assert len(release.tables) == 2


HOLES = {"region": ["hill"] * 400, "output": [10.0] * 200 + [None] * 200}


def test_a_mean_is_of_the_rows_that_have_the_number(tmp_path: Path) -> None:
    """Half of the rows lack it: the mean is 10, and not half way to the middle of the bounds."""
    with Curator.open(
        DATASET, ledger=tmp_path / "l.sqlite", data=HOLES, rng=RecordedRandomness(5), policy={"budget": {"rho": 1000}}
    ) as curator:
        curator.register()
        release = curator.release(request("mean", 60))
    assert release.values[0] == pytest.approx(10, abs=0.5)
    assert release.tables[1].values[0] == pytest.approx(200, abs=2)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("top", [10**7, 10**12])
def test_steps_that_are_too_fine_for_a_total_are_measured_in_coarser_parts(
    top: int, weight: str | None, tmp_path: Path
) -> None:
    """Squares of such values are too large for an engine, and one value for the noise; totals are given all the same."""
    document = {
        "dataset": {"name": "firms", "population": "firms", "public": True},
        "design": {"draws": "independent"},
        "variables": {
            "x": {"bounds": [0, top], "step": "0.01"},
            "w": {"bounds": [0, 1000], "step": "0.001", "weight": True},
        },
    }
    data = {"x": [top / 8] * 400, "w": [500.0] * 400}
    opened = Curator.open(
        data,
        document,
        ledger=tmp_path / "ledger.sqlite",
        policy={"budget": {"rho": 1000}, "allow": {"acknowledge": ["fixed_weights"]}},
        rng=RecordedRandomness("fine"),
    )
    with opened as curator:
        curator.register()
        release = curator.release(dalenius.table(measure="total", of="x", weight=weight, rho=1))
    lower, upper = tabulation.bounds(release, release.table, 0.9999)
    exact = 400 * top / 8 * (500 if weight else 1)
    assert lower[0] < exact < upper[0] and upper[0] - lower[0] < 100 * top * (1000 if weight else 1)
