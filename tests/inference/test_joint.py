"""Tables that combine several measurements: quasi-likelihood, simulated noise, level, agreement with exact laws."""

import numpy as np
import pytest

from dalenius.algebra.joint import covariance
from dalenius.errors import Unsupported
from dalenius.inference import (
    cramers_v,
    goodness_of_fit,
    independence,
    intervals,
    loglinear,
    observe,
    odds_ratio,
    posterior,
)
from dalenius.inference.calibration import shrunken
from dalenius.inference.fitting import statistics
from dalenius.inference.formula import design, independent
from dalenius.inference.joint import JointObserved, quasi_fit

COUNTS = np.array([[120, 80, 61, 40], [95, 70, 44, 30], [60, 41, 30, 18]])


@pytest.fixture(scope="module")
def seen(residual_release) -> JointObserved:
    found = observe(residual_release(COUNTS, rho="1/10"), "a", "b")
    assert isinstance(found, JointObserved)
    return found


def test_without_noise_it_is_the_poisson_regression(residual_release) -> None:
    matrix, _ = design(independent("AB"), observe(residual_release(COUNTS, rho="1/10"), "a", "b").axes)
    found = quasi_fit(COUNTS.reshape(1, -1).astype(float), np.zeros((12, 12)), matrix)
    import statsmodels.api as sm

    glm = sm.GLM(COUNTS.reshape(-1), matrix, family=sm.families.Poisson()).fit(tol=1e-12)
    assert found.mean[0] == pytest.approx(glm.fittedvalues, rel=1e-6)
    assert found.information[0] == pytest.approx(np.linalg.inv(glm.cov_params()), rel=1e-5)
    assert found.distance[0] == pytest.approx(glm.pearson_chi2, rel=1e-6)


@pytest.mark.statistical
def test_simulated_noise_has_the_exact_covariance(seen: JointObserved, residual_release) -> None:
    """Statistical: 4,000 draws, entries within 5 standard errors."""
    drawn = seen.noise(4000, np.random.default_rng(1))
    release = residual_release(COUNTS, rho="1/10")
    exact = covariance(release, release.find("a", "b"), range(12))
    assert seen.covariance == pytest.approx(exact)
    size = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert np.abs(np.cov(drawn.T) - exact).max() < 5 * size.max() / np.sqrt(2000)
    assert np.abs(drawn.mean(0)).max() < 5 * np.sqrt(np.diag(exact).max() / 4000)


def test_margins_of_joint_tables(seen: JointObserved, residual_release) -> None:
    release = residual_release(COUNTS, rho="1/10")
    rows = observe(release, "a")
    assert isinstance(rows, JointObserved) and rows.shape == (3,)
    assert rows.values == pytest.approx(seen.values.sum(1), abs=1e-6)
    turned = observe(release, "b", "a")
    assert turned.values == pytest.approx(seen.values.T)
    assert turned.covariance[0, 1] == pytest.approx(seen.covariance[0, 4])


@pytest.mark.statistical
def test_level_by_warp_speed(seen: JointObserved) -> None:
    """Statistical: 1,500 tables, level 5 % within 2.6 points (more than three standard errors)."""
    null, rng = independent(seen.names), np.random.default_rng(5)
    means = COUNTS.sum(1, keepdims=True) * COUNTS.sum(0) / COUNTS.sum()
    observed, fitted = statistics(seen, seen.simulate(means, 1500, rng), null, None, None)
    again = rng.poisson(shrunken(fitted, seen.variance(fitted[0]), null)) + seen.noise(1500, rng).reshape(fitted.shape)
    simulated, _ = statistics(seen, again, null, None, None)
    assert np.mean(observed > np.quantile(simulated, 0.95)) == pytest.approx(0.05, abs=0.026)


def test_every_analysis_runs_from_the_release(residual_release) -> None:
    release = residual_release(COUNTS, rho="1/10")
    test = independence(release, "a", "b", replicates=99)
    assert test.degrees_of_freedom == 6 and "quadratic distance" in test.method
    assert independence(release, "a", "b", method="chi-square", replicates=99).p_value > 0.01
    fit = loglinear(release, "a + b", "a", "b")
    assert fit.coefficients["a[a1]"].std_error > 0
    assert fit.fitted.sum() == pytest.approx(COUNTS.sum(), rel=0.1)
    ratio = odds_ratio(release, "a", "b")
    assert ratio.interval is not None and 120 * 70 / (80 * 95) in ratio.interval
    assert cramers_v(release, "a", "b", replicates=49).value < 0.2
    table = intervals(release, "a", "b")
    assert np.mean((table.lower <= COUNTS.reshape(-1)) & (COUNTS.reshape(-1) <= table.upper)) > 0.7
    both = intervals(release, "a", "b", is_simultaneous=True)
    assert np.all(both.upper - both.lower >= table.upper - table.lower - 1e-9)
    assert goodness_of_fit(release, COUNTS / COUNTS.sum(), "a", "b", replicates=99).p_value > 0.01
    with pytest.raises(Unsupported, match="combines several"):
        posterior(release, "a", "b")
