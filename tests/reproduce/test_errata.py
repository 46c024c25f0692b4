"""Corrections on the errata page that a simulation can show, with 20,000 draws each and fixed seeds."""

import numpy as np
import pytest

DRAWS = 20_000


@pytest.mark.statistical
def test_a_bagged_mean_carries_the_variance_of_its_resamples() -> None:
    rng = np.random.default_rng(1)
    data, k = rng.normal(0, 1, 40), 5
    picked = rng.integers(0, 40, (DRAWS, k * 40))
    bagged = data[picked].mean(axis=1)
    assert bagged.var() == pytest.approx(data.var() / (40 * k), rel=0.04)


@pytest.mark.statistical
def test_weights_in_proportion_to_the_squared_epsilons_have_the_least_variance() -> None:
    rng = np.random.default_rng(2)
    epsilons = np.array([0.2, 1.0])
    noise = rng.laplace(0, 1 / epsilons, (DRAWS, 2))
    spread = {p: (noise @ (epsilons**p / (epsilons**p).sum())).var() for p in (0, 1, 2)}
    assert spread[2] == pytest.approx(2 / (epsilons**2).sum(), rel=0.06)
    assert spread[2] < 0.95 * spread[1] < spread[0]


@pytest.mark.statistical
def test_the_error_of_averaged_blocks_has_the_stated_leading_term() -> None:
    """Means of k blocks of normal data with Laplace noise Lambda / (k epsilon): MSE n I = 1 + 2 Lambda^2 I n / (k epsilon)^2."""
    rng = np.random.default_rng(3)
    n, k, epsilon, width = 400, 20, 0.5, 4.0
    average = rng.normal(0, 1 / np.sqrt(n), DRAWS) + rng.laplace(0, width / (k * epsilon), DRAWS)
    assert n * (average**2).mean() == pytest.approx(1 + 2 * width**2 * n / (k * epsilon) ** 2, rel=0.05)
