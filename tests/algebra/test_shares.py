"""Shares of one budget: published examples, and no random change does better."""

import numpy as np
import pytest

from dalenius.algebra.margins import Margin, Workload, all_margins
from dalenius.algebra.shares import GaussianNoise, LaplaceNoise, optimise, root_shares

INTERIOR = (0, 1, 2, 3)
PAIRS = all_margins(4, 2, 2)


def cells(workload: Workload) -> dict[Margin, float]:
    """What all cells of each margin weigh."""
    return {m: w * workload.size(m) for m, w in zip(workload.margins, workload.importance, strict=True)}


def error(workload: Workload, shares: dict, noise: LaplaceNoise | GaussianNoise) -> float:
    return workload.rmse(workload.after_least_squares({m: noise.precision(s) for m, s in shares.items()}))


def test_interior_and_six_margins_all_goes_to_the_interior() -> None:
    workload, noise = Workload((10,) * 4, (INTERIOR, *PAIRS)), LaplaceNoise(1.0)
    shares = optimise(workload, workload.margins, noise)
    assert shares == {INTERIOR: pytest.approx(1.0)}
    assert error(workload, shares, noise) == pytest.approx(3.487, abs=5e-4)
    rule = root_shares(cells(workload), 1 / 3)
    assert rule[INTERIOR] == pytest.approx(0.43617442, abs=1e-8)
    assert rule[0, 1] == pytest.approx(0.09397093, abs=1e-8)
    # The published 4.332 and 9.899 use continuous Laplace noise, of slightly larger variance.
    assert error(workload, rule, noise) == pytest.approx(4.332, abs=0.03)


def test_six_margins_alone_are_measured_by_themselves() -> None:
    workload, noise = Workload((10,) * 4, PAIRS), LaplaceNoise(1.0)
    shares = optimise(workload, (*PAIRS, INTERIOR), noise)
    assert INTERIOR not in shares
    assert error(workload, shares, noise) == pytest.approx(7.92, abs=0.02)
    assert error(workload, {INTERIOR: 1.0}, noise) == pytest.approx(14.1, abs=0.6)


def test_pairs_of_six_binary_variables_come_from_the_interior() -> None:
    workload, noise = Workload((2,) * 6, all_margins(6, 2, 2)), LaplaceNoise(1.0)
    shares = optimise(workload, (*workload.margins, workload.interior), noise)
    assert shares == {workload.interior: pytest.approx(1.0)}


@pytest.mark.parametrize("objective", ["weighted", "maximum"])
def test_gaussian_shares_are_a_minimum(objective: str) -> None:
    workload, noise = (
        Workload((3, 4, 5), all_margins(3), (1.0, 2.0, 3.0, 1.0, 1.0, 5.0, 1.0, 1.0)),
        GaussianNoise(0.5),
    )
    shares = optimise(workload, workload.margins, noise, objective=objective)

    def value(tried: dict) -> float:
        components = workload.after_least_squares({m: noise.precision(s) for m, s in tried.items()})
        return workload.worst(components) if objective == "maximum" else workload.rmse(components)

    best = value(shares)
    assert best <= min(value(root_shares(cells(workload), power)) for power in (0, 0.5))
    rng = np.random.default_rng(2)
    for _ in range(200):
        tried = {m: shares.get(m, 0.0) * float(np.exp(rng.normal(0, 0.1))) + 1e-9 for m in workload.margins}
        total = sum(tried.values())
        assert value({m: s / total for m, s in tried.items()}) >= best * (1 - 2e-3)


def test_laplace_precision_is_one_over_the_variance() -> None:
    a = np.exp(-0.3)
    assert LaplaceNoise(0.6, 2.0).precision(1.0) == pytest.approx((1 - a) ** 2 / (2 * a))
    step = 1e-6
    slope = (LaplaceNoise(0.6).precision(0.5 + step) - LaplaceNoise(0.6).precision(0.5)) / step
    assert LaplaceNoise(0.6).slope(0.5) == pytest.approx(slope, rel=1e-4)


def test_budgets_without_noise_do_not_overflow() -> None:
    """At epsilon 1000 there is no noise left; the search must still end with shares that are numbers."""
    workload = Workload((2, 4), ((0, 1), (0,), (1,), ()))
    with np.errstate(all="raise", under="ignore"):
        shares = optimise(workload, workload.margins, LaplaceNoise(1000.0))
    assert sum(shares.values()) == pytest.approx(1)
