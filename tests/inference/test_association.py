"""Phi, V and lambda: the noise-free values, and less bias than the naive ones."""

import numpy as np
import pytest

from dalenius.errors import ParameterError
from dalenius.inference import cramers_v, from_values, goodman_kruskal_lambda, odds_ratio, phi
from dalenius.inference.association import centred_phi_squared, phi_squared
from dalenius.inference.fitting import statistics
from dalenius.inference.formula import independent
from dalenius.inference.noise import Noise

TABLE = np.array([[90, 40, 20], [30, 70, 50], [20, 30, 100]])


def test_without_noise_it_is_bergsmas_v() -> None:
    found = cramers_v(from_values(TABLE, Noise.none()), replicates=50)
    n = TABLE.sum()
    expected = TABLE.sum(1, keepdims=True) * TABLE.sum(0) / n
    raw = ((TABLE - expected) ** 2 / expected).sum() / n
    corrected = max(0.0, raw - 4 / (n - 1))
    ceiling = 3 - 4 / (n - 1) - 1
    assert found.value == pytest.approx(np.sqrt(corrected / ceiling), abs=1e-6)
    assert phi(from_values(TABLE, Noise.none()), replicates=50).value == pytest.approx(np.sqrt(corrected), abs=1e-6)


@pytest.mark.statistical
def test_noise_correction_removes_most_of_the_bias(laplace) -> None:
    """Statistical: 3,000 independent tables; corrected phi squared (before the cut at zero) has mean 0 within 5 standard errors."""
    law, rng = laplace("0.3"), np.random.default_rng(5)
    template = from_values(np.full((4, 4), 40), law)
    values = template.channel.send(rng.poisson(np.full((3000, 4, 4), 40.0)), rng)
    _, mean = statistics(template, values, independent("AB"), None, None)
    variance = template.variance(mean[0])
    corrected, naive = (centred_phi_squared(template.guesses(values), mean, v) for v in (variance, 0 * variance))
    error = corrected.std() / np.sqrt(len(corrected))
    assert abs(corrected.mean()) < 5 * error
    assert naive.mean() > 30 * error
    assert phi_squared(template.guesses(values), mean, variance).min() == 0


def test_lambda() -> None:
    found = goodman_kruskal_lambda(from_values(TABLE, Noise.none()), replicates=200)
    raw = (TABLE.max(1).sum() - TABLE.sum(0).max()) / (TABLE.sum() - TABLE.sum(0).max())
    assert found.details["uncorrected"] == pytest.approx(raw)
    assert found.value == pytest.approx(raw, abs=0.03)
    assert found.interval is not None and raw in found.interval


def test_odds_ratio_of_named_labels(laplace, make_release) -> None:
    release = make_release(TABLE * 10, laplace("1"))
    found = odds_ratio(release, "A", "B", row_labels=("a0", "a2"), column_labels=("b0", "b2"))
    assert found.value == pytest.approx(900 * 1000 / (200 * 200), rel=0.01)
    assert found.interval is not None and found.value in found.interval
    with pytest.raises(ParameterError, match="label"):
        odds_ratio(release, "A", "B", row_labels=("a0", "zz"))
    with pytest.raises(ParameterError, match="two-way"):
        odds_ratio(make_release(np.ones((2, 2, 2)), laplace("1")))
