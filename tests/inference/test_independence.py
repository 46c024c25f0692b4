"""Independence: published vectors, level, power, refusals, speed of agreement between methods."""

import numpy as np
import pytest

from dalenius.core.law import Withheld
from dalenius.errors import ParameterError, Unsupported
from dalenius.inference import from_values, independence
from dalenius.inference.calibration import (
    REPLICATES_A_NULL,
    calibrate,
    largest_p,
    monte_carlo_p,
    null_means,
    null_tables,
    shrunken,
)
from dalenius.inference.fitting import fit_one, statistics
from dalenius.inference.formula import independent, model
from dalenius.inference.noise import Noise
from dalenius.inference.simulation import generator

VECTOR = [[12, 7, 0], [5, 9, -1]]


def test_published_vector(laplace) -> None:
    seen = from_values(VECTOR, laplace("0.5", 10))
    fit = fit_one(seen, independent(seen.names))
    assert fit.log_likelihood == pytest.approx(-12.99521884, abs=1e-7)
    assert fit.mean[:, :2] == pytest.approx(np.array([[9.814823, 8.995616], [7.136132, 6.540505]]), abs=2e-6)
    assert fit.mean[:, 2].max() < 1e-6
    assert seen.saturated[1] == pytest.approx(-12.19559499, abs=1e-8)
    found = calibrate(seen, independent(seen.names), replicates=0)
    assert found.statistic == pytest.approx(1.59924771, abs=1e-6)
    # The third column is empty under both models and carries no degree of freedom.
    assert found.degrees_of_freedom == 1


def test_same_seed_same_answer_and_it_prints(laplace) -> None:
    seen = from_values(VECTOR, laplace("0.5", 10))
    first, second = (independence(seen, replicates=199, seed=4) for _ in range(2))
    assert first.p_value == second.p_value
    text = str(first)
    assert "Independence of A and B" in text and "199 simulated measurements" in text
    assert "simulated" not in first.to_dict()["details"]


def test_without_noise_it_is_the_ordinary_likelihood_ratio() -> None:
    table = np.array([[20, 30, 25], [40, 22, 18]])
    found = calibrate(from_values(table, Noise.none()), independent("AB"), replicates=0)
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    assert found.statistic == pytest.approx(2 * np.sum(table * np.log(table / expected)), abs=1e-7)
    assert found.is_asymptotic_safe


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "limit", "mean", "shape"), [("0.2", None, 12, (4, 4)), ("1", None, 5, (3, 3))])
def test_level_by_warp_speed(laplace, epsilon, limit, mean, shape) -> None:
    """Statistical: 4,000 tables, level 5 % within 1.6 points (more than three standard errors). See verify."""
    seen = from_values(np.full(shape, mean), laplace(epsilon, limit))
    null, rng = independent(seen.names), generator(11)
    means = np.full(shape, float(mean)) * np.exp(np.linspace(-0.5, 0.5, shape[0]))[:, None]
    observed, fitted = statistics(seen, seen.simulate(means, 4000, rng), null, None, None)
    again = seen.channel.send(rng.poisson(shrunken(fitted, seen.variance(fitted[0]), null)), rng)
    simulated, _ = statistics(seen, again, null, None, None)
    assert np.mean(observed > np.quantile(simulated, 0.95)) == pytest.approx(0.05, abs=0.016)


@pytest.mark.statistical
def test_dependence_is_found_and_the_naive_test_is_not_used(laplace) -> None:
    """Statistical: one strongly dependent table, p at its smallest possible value."""
    table = np.array([[300, 100, 50], [100, 300, 80], [60, 90, 310]])
    found = independence(from_values(table, laplace("0.1")), replicates=199)
    assert found.p_value == pytest.approx(1 / 200)
    corrected = independence(from_values(table, laplace("0.1")), replicates=199, method="chi-square")
    assert corrected.p_value == pytest.approx(1 / 200)


def test_asymptotic_is_refused_where_it_is_not_safe(laplace) -> None:
    small = from_values([[10, 12], [9, 14]], laplace("0.5"))
    with pytest.raises(ParameterError, match="not safe"):
        independence(small, method="asymptotic")
    assert "asymptotic_p_value" not in independence(small, replicates=19).details
    large = from_values([[1000, 1200], [900, 1100]], laplace("0.5"))
    safe = independence(large, method="asymptotic")
    simulated = independence(large, replicates=999)
    assert safe.p_value == pytest.approx(simulated.p_value, abs=0.05)
    assert simulated.details["asymptotic_p_value"] == safe.p_value


def test_known_total_and_structural_zeros(laplace, make_release) -> None:
    table = np.array([[40, 22, 0], [38, 20, 33], [19, 12, 18]])
    release = make_release(table, laplace("1"), zeros=frozenset({(0, 2)}))
    found = independence(release, replicates=199)
    assert found.degrees_of_freedom == 3
    assert found.details["fitted"][0, 2] == 0
    public = independence(from_values(table[1:], laplace("1")), replicates=199, total=140)
    assert public.details["fitted"].sum() == pytest.approx(140, rel=1e-6)
    assert "multinomial" in public.assumptions[0]


def test_shrinkage_takes_the_spread_that_noise_adds_and_leaves_clear_margins() -> None:
    even = np.full((1, 4, 4), 100.0)
    assert shrunken(even, np.full((4, 4), 5.0), independent("AB")) == pytest.approx(even)
    steep = np.outer([1, 10, 100, 1000.0], [1, 5, 25, 125])[None]
    assert shrunken(steep, np.full((4, 4), 0.1), independent("AB")) == pytest.approx(steep, rel=0.02)
    noisy = np.outer([1, 2, 1, 2.0], [1, 1, 1, 1])[None] * 5
    pulled = shrunken(noisy, np.full((4, 4), 500.0), independent("AB"))
    assert pulled == pytest.approx(np.full((1, 4, 4), 7.5))


@pytest.mark.statistical
def test_shrunken_margins_are_nearer_to_the_truth_and_not_more_spread_out(laplace) -> None:
    """Statistical: 3,000 tables at a fixed seed; the plain fit is a fifth too spread out, the shrunken one is not."""
    seen = from_values(np.full((4, 4), 30), laplace("0.2"))
    truth = np.full((4, 4), 30.0) * np.exp(np.linspace(-0.25, 0.25, 4))[:, None]
    null = independent(seen.names)
    _, fitted = statistics(seen, seen.simulate(truth, 3000, generator(3)), null, None, None)

    def spread(means: np.ndarray) -> float:
        return float(np.mean(means.sum(2).var(1)))

    wanted = float(truth.sum(1).var())
    assert spread(fitted) > 1.2 * wanted
    pulled = shrunken(fitted, seen.variance(truth), null)
    assert spread(pulled) < wanted
    assert np.mean((pulled - truth) ** 2) < 0.9 * np.mean((fitted - truth) ** 2)


def test_replicates_are_simulated_from_null_means_that_vary_as_the_fit_does(laplace) -> None:
    seen = from_values(np.full((3, 3), 20), laplace("0.3"))
    fitted, rng = np.full((3, 3), 20.0), generator(1)
    means = null_means(seen, fitted, independent(seen.names), 1000, rng)
    assert means.shape == (1000, 3, 3)
    assert len(np.unique(means[:, 0, 0])) <= -(-1000 // REPLICATES_A_NULL)
    # Each table is independent, and totals vary as those of measured tables do.
    assert means[:, 0, 0] * means[:, 1, 1] == pytest.approx(means[:, 0, 1] * means[:, 1, 0])
    measured = seen.simulate(fitted, 1000, rng).sum((1, 2))
    assert means.sum((1, 2)).std() == pytest.approx(measured.std(), rel=0.15)


def test_null_tables_are_simulated_at_the_fitted_total_and_a_standard_error_above(laplace) -> None:
    law = laplace("0.3")
    seen = from_values(np.full((3, 3), 20), law)
    means = np.full((4000, 3, 3), 20.0)
    (below, first), (above, second) = null_tables(seen, means, means[0].sum(), generator(1))
    error = np.sqrt(180 + 9 * law.noise.variance)
    assert below is means
    assert above.sum((1, 2)) == pytest.approx(180 + error)
    assert second.sum((1, 2)).mean() == pytest.approx(180 + error, abs=1.5)
    # The same noise on counts that only grow.
    assert np.all(second >= first) and np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.8
    public = from_values(np.full((3, 3), 20), law, total=180)
    assert len(null_tables(public, means, means[0].sum(), generator(1))) == 1


def test_the_larger_p_value_is_given_with_its_null_distribution() -> None:
    low, high = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])
    for alternatives in ([low, high], [high, low]):
        p_value, simulated = largest_p(2.5, alternatives)
        assert p_value == 3 / 4 and simulated is high


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [(4, 2), (3, 2)])
def test_where_the_critical_value_rises_with_the_mean_the_level_is_held(laplace, shape) -> None:
    """Statistical: 4,000 tables at a fixed seed, where a total that is underestimated makes the critical value too small."""
    seen, rng = from_values(np.full(shape, 6), laplace("0.38", 10)), generator(8)
    null, truth = independent(seen.names), np.full(shape, 5.6)
    observed, fitted = statistics(seen, seen.simulate(truth, 4000, rng), null, None, None)
    first = shrunken(fitted, seen.variance(truth), null)
    critical = []
    for start, values in null_tables(seen, first, fitted.sum((1, 2), keepdims=True), rng):
        critical.append(np.quantile(statistics(seen, values, null, None, start)[0], 0.95))
    assert np.mean(observed > critical[0]) > 0.05
    assert 0.03 < np.mean(observed > max(critical)) <= 0.05


def test_shrunken_means_stay_in_overlapping_models() -> None:
    rng = np.random.default_rng(2)
    ac, bc = rng.uniform(1, 4, (3, 1, 2)), rng.uniform(1, 4, (1, 2, 2))
    mean = (ac * bc)[None]
    chosen = model("A*C + B*C", "ABC")
    out = shrunken(mean, np.full((3, 2, 2), 1.0), chosen)[0]
    # Conditional independence: all odds ratios of A and B within C are one.
    assert out[0, 0] * out[1, 1] == pytest.approx(out[0, 1] * out[1, 0], rel=1e-6)
    assert out.sum() == pytest.approx(mean.sum(), rel=1e-6)


def test_p_value_counts_the_observed_table() -> None:
    assert monte_carlo_p(3.0, np.array([1.0, 2.0, 3.0, 4.0])) == 3 / 5


def test_refusals(laplace, make_release) -> None:
    with pytest.raises(ParameterError, match="two axes"):
        independence(from_values([3, 4], laplace("1")))
    with pytest.raises(ParameterError, match="method"):
        independence(from_values(VECTOR, laplace("0.5", 10)), method="naive")
    withheld = make_release([[1, 2], [3, 4]], Withheld("the scale depends on the data"))
    with pytest.raises(Unsupported, match="withheld"):
        independence(withheld)
