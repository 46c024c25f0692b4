"""Gibbs sampling against the closed-form posterior, margins, diagnostics."""

import numpy as np
import pytest
from scipy.special import gammaln

from dalenius.errors import ParameterError, UnknownName
from dalenius.inference import from_values, posterior
from dalenius.inference.bayes import split_rhat
from dalenius.inference.noise import Noise


def closed_form(x: int, noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """With a Jeffreys mean the true count has prior weight Gamma(a + 1/2) / a!."""
    a = np.arange(0, x - noise.first + 1)
    index = x - a - noise.first
    inside = (index >= 0) & (index < len(noise.pmf))
    weights = np.where(inside, noise.pmf[np.clip(index, 0, len(noise.pmf) - 1)], 0.0)
    weights = weights * np.exp(gammaln(a + 0.5) - gammaln(a + 1.0))
    return a, weights / weights.sum()


@pytest.mark.statistical
def test_saturated_posterior_is_the_closed_form(laplace) -> None:
    """Statistical: 16,000 draws; means within 6 % of a standard deviation, tail probabilities within 0.03."""
    law = laplace("0.5")
    values = np.array([-3, 0, 4, 25])
    found = posterior(from_values(values, law), draws=4000, seed=1)
    assert found.is_converged
    for k, x in enumerate(values):
        a, p = closed_form(int(x), Noise.of(law))
        mean = a @ p
        deviation = np.sqrt((a - mean) ** 2 @ p)
        assert found.mean[k] == pytest.approx(mean, abs=0.06 * deviation + 0.02)
        drawn = found.counts[:, :, k].reshape(-1)
        assert np.mean(drawn <= x) == pytest.approx(p[a <= x].sum(), abs=0.03)


def test_margins_and_independence_model(laplace) -> None:
    table = np.array([[40, 21, 9], [82, 38, 22]])
    seen = from_values(table, laplace("0.5"))
    free, product = (posterior(seen, model=m, draws=1500, seed=2) for m in ("saturated", "independence"))
    assert free.is_converged and product.is_converged
    row = product.count({"A": "1"})
    assert row.interval is not None and 70 in row.interval
    assert row.value == pytest.approx(70, abs=6)
    # The product model borrows strength: its cells are less uncertain.
    assert product.counts[:, :, 2].std() < free.counts[:, :, 2].std()
    with pytest.raises(UnknownName):
        product.count({"Z": "1"})


def test_odds_ratio_and_output(laplace, tmp_path) -> None:
    found = posterior(from_values([[60, 30], [25, 55]], laplace("1")), draws=800, seed=3)
    ratio = found.odds_ratio()
    assert ratio.interval is not None and 60 * 55 / (30 * 25) in ratio.interval
    assert "split R-hat" in str(found) and found.to_dict()["is_converged"] is True
    found.plot(tmp_path / "posterior.png")
    assert (tmp_path / "posterior.png").stat().st_size > 1000
    with pytest.raises(ParameterError):
        posterior(from_values([1, 2], laplace("1")), model="flat")
    with pytest.raises(ParameterError):
        posterior(from_values([1, 2], laplace("1")), chains=1)
    with pytest.raises(ParameterError):
        posterior(from_values([1, 2], laplace("1")), draws=100).odds_ratio()


def test_split_rhat_sees_chains_that_disagree_and_chains_that_drift() -> None:
    rng = np.random.default_rng(0)
    good = rng.normal(size=(4, 1000, 1))
    assert split_rhat(good)[0] < 1.01
    assert split_rhat(good + np.arange(4)[:, None, None])[0] > 1.1
    assert split_rhat(good + np.linspace(0, 3, 1000)[None, :, None])[0] > 1.1
    assert split_rhat(np.zeros((2, 10, 1)))[0] == 1.0
