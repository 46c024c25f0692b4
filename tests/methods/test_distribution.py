"""Distribution functions: known curves, levels of counts, bands that hold at all points, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius.algebra.distributions import incidence, joined, normal_numbers, two_sided
from dalenius.algebra.estimates import Estimated, estimated
from dalenius.core.domain import CellSpace
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block
from dalenius.errors import DaleniusError
from dalenius.exact.sampling import sample
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

Ask = Callable[..., Any]
RUNS = 400


def says_the_truth(ask: Any) -> None:
    """Of a public file, for tests/end_to_end/test_every_measure.py: the curve is the share of records up to each point."""
    release = ask("distribution", {"definition": "zero_concentrated", "rho": 12}, of="age", bins=[17, 40, 64])
    shares = [(ask.age <= point).mean() for point in (17, 40, 64)]
    assert abs(release.tables[0].values[:3] - shares).max() < 0.01


def planned(relation: str, privacy: dict[str, Any], n: int, **table: Any) -> TablePlan:
    document = {
        "dataset": {"name": "d", "population": "p", "public": True, "size": n},
        "unit": {"relation": relation},
        "variables": {"x": {"bounds": [0, 1000], "step": 1, "missing": 0}},
    }
    domain = DatasetDocument.from_dict(document).domain()
    return plan_of(domain, {"table": {"measure": "distribution", "of": "x", **table}, "privacy": privacy}, {})


def answered(plan: TablePlan, counts: np.ndarray, seed: str) -> Estimated:
    """Curves of bins with these counts, a row each, with the plan's own noise."""
    assert isinstance(plan.law, Joint)
    rng, blocks = RecordedRandomness(seed), []
    for step, width in zip(plan.measurements, plan.law.parameters["widths"], strict=True):
        exact = counts @ incidence(counts.shape[1], (width,)).T
        values = np.rint(exact).astype(np.int64) + sample(step.mechanism, exact.size, rng).reshape(exact.shape)  # type: ignore[attr-defined]
        blocks.append(Block(name=step.name, space=CellSpace(()), values=values.reshape(-1), law=step.law))
    return estimated(plan.law, blocks, len(counts) * (counts.shape[1] - 1))


def test_the_curve_of_known_records(ask: Ask) -> None:
    (shown,) = ask(measure="distribution", of="income", bins=[24, 49, 74], amount=200)
    assert np.allclose(shown.values, [24 / 99, 49 / 99, 74 / 99], atol=0.01)
    assert [axis.name for axis in shown.space.axes] == ["at most"]
    (by_sex,) = ask(rows=["sex"], measure="distribution", of="income", bins=[60, 80], amount=200)
    assert np.allclose(by_sex.values, [1, 1, 0, 20 / 39], atol=0.02)
    assert (by_sex.variance > 0).all() and (by_sex.sampled >= by_sex.variance).all()


def test_more_points_at_rho_count_runs_of_bins_too() -> None:
    rho, pure = {"definition": "zero_concentrated", "rho": "0.1"}, {"definition": "pure", "epsilon": 1}
    few, many = (planned("add-remove", rho, 5000, bins=bins) for bins in (3, 100))
    assert few.law.parameters["widths"] == [1] and len(many.law.parameters["widths"]) > 2  # type: ignore[union-attr]
    assert len(planned("add-remove", pure, 5000, bins=20).measurements) == 1
    assert many.reservation.rho <= 1 / 10


def test_joined_counts_are_least_squares_and_add_up_to_a_public_total() -> None:
    counted, variances = incidence(5, (1, 2)), (2.0, 3.0)
    noise = np.diag([2.0] * 5 + [3.0] * 3)
    inverse = np.linalg.inv(noise)
    right = np.linalg.solve(counted.T @ inverse @ counted, counted.T @ inverse)
    assert np.allclose(joined(5, (1, 2), variances, False), right)
    assert np.allclose(joined(5, (1, 2), variances, True).sum(axis=0), 0)
    plan = planned("replace", {"definition": "pure", "epsilon": 1}, 1000, bins=5)
    made = answered(plan, np.full((50, 5), 200.0), "public")
    assert made.values.reshape(50, 4).std(axis=0).max() < 0.01


@pytest.mark.statistical
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("privacy", [("pure", "epsilon", 1), ("zero_concentrated", "rho", "0.1")], ids=lambda p: p[0])
def test_whole_curves_are_in_their_bands(relation: str, privacy: tuple[str, str, Any]) -> None:
    """Binomial bounds at one in ten thousand around 95 %."""
    definition, key, amount = privacy
    plan = planned(relation, {"definition": definition, key: amount}, 800, bins=12)
    chances = np.arange(1, 13) / 78
    counts = np.random.default_rng(3).multinomial(800, chances, RUNS).astype(np.float64)
    made = answered(plan, counts, f"{relation} {definition}")
    truth = np.broadcast_to(np.cumsum(chances)[:-1], (RUNS, 11))
    exact = np.cumsum(counts, axis=1)[:, :-1] / 800
    for goal, is_sampling in ((exact, False), (truth, True)):
        lower, upper = (end.reshape(RUNS, 11) for end in made.ends(0.95, is_sampling))
        held = float(((lower <= goal) & (goal <= upper)).all(axis=1).mean())
        assert 0.905 < held < 0.99


@pytest.mark.parametrize("privacy", [("pure", "epsilon", 4), ("zero_concentrated", "rho", 4)], ids=str)
def test_bands_hold_where_most_draws_of_noise_are_none(privacy: tuple[str, str, Any]) -> None:
    """About 4 of 100 draws are not zero: bands of normal noise held 83 to 87 %."""
    definition, key, amount = privacy
    plan = planned("add-remove", {"definition": definition, key: amount}, 200, bins=8)
    counts = np.tile([90.0, 40, 20, 10, 5, 2, 1, 32], (RUNS, 1))
    lower, upper = (end.reshape(RUNS, 7) for end in answered(plan, counts, "narrow").ends(0.95, False))
    exact = np.cumsum(counts, axis=1)[:, :-1] / 200
    assert ((lower <= exact + 1e-9) & (exact - 1e-9 <= upper)).all(axis=1).mean() > 0.95


def test_curves_rise_and_an_empty_cell_has_none() -> None:
    plan = planned("add-remove", {"definition": "pure", "epsilon": "0.05"}, 100, bins=10)
    made = answered(plan, np.repeat([[0.0] * 10, [10.0] * 10], 20, axis=0), "few")
    curves = made.values.reshape(40, 9)
    known = ~np.isnan(curves).any(axis=1)
    assert (np.diff(curves[known], axis=1) >= 0).all() and ((curves[known] >= 0) & (curves[known] <= 1)).all()
    assert not known.all()
    lower, upper = (end.reshape(40, 9) for end in made.ends(0.95, True))
    assert (lower[~known] == 0).all() and (upper[~known] == 1).all()


def test_replays_are_standard() -> None:
    normal = normal_numbers(5, 1)
    for numbers, fourth in ((normal, 3), (two_sided(normal), 6)):
        assert abs(numbers.mean()) < 0.03 and numbers.var() == pytest.approx(1, abs=0.05)
        assert (numbers**4).mean() == pytest.approx(fourth, rel=0.15)
    assert np.abs(np.corrcoef(normal.T) - np.eye(5)).max() < 0.08


@pytest.mark.parametrize(
    "wrong",
    [
        {"bins": []},
        {"bins": ["1/2"]},
        {"bins": [200]},
        {"bins": [-1]},
        {"bins": ["x"]},
        {"bins": 1},
        {"bins": 201},
        {"bins": 10**6},
        {"of": "sex"},
        {"rows": ["income"]},
        {"of": None},
    ],
)
def test_what_means_nothing_is_refused(ask: Ask, wrong: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        ask(**({"measure": "distribution", "of": "income"} | wrong))
