"""Goodness of fit, binomial tests, trend, homogeneity: exact laws, known answers, agreement with the noise-free tests."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from dalenius.errors import ParameterError, RequestError, TooLarge, Unsupported
from dalenius.inference import binomial_test, from_values, goodness_of_fit, homogeneity, independence, trend
from dalenius.inference.binomial import likelihood_ratio, released_law
from dalenius.inference.noise import Noise
from dalenius.inference.questions import binomial


def test_goodness_of_fit_without_noise() -> None:
    counts = np.array([30, 50, 20])
    found = goodness_of_fit(from_values(counts, Noise.none()), [0.3, 0.4, 0.3], method="asymptotic")
    expected = 100 * np.array([0.3, 0.4, 0.3])
    assert found.statistic == pytest.approx(2 * np.sum(counts * np.log(counts / expected)), abs=1e-6)
    assert found.degrees_of_freedom == 2
    simulated = goodness_of_fit(from_values(counts, Noise.none()), [0.3, 0.4, 0.3], total=100)
    assert simulated.p_value == pytest.approx(found.p_value, abs=0.04)


def test_goodness_of_fit_allows_cells_that_must_be_empty(laplace) -> None:
    found = goodness_of_fit(from_values([30, 28, 1], laplace("1")), [1, 1, 0], replicates=199)
    assert found.details["fitted"][2] == 0
    assert found.p_value > 0.05
    clear = goodness_of_fit(from_values([30, 28, 25], laplace("1")), [1, 1, 0], replicates=199)
    assert clear.p_value == pytest.approx(1 / 200)


def test_goodness_of_fit_gives_structural_zeros_no_share(laplace, make_release) -> None:
    values, zeros = [[40, 41, 0], [39, 40, 42]], frozenset({(0, 2)})
    law = laplace("2")
    release = make_release(values, law, zeros=zeros)
    found = goodness_of_fit(release, replicates=199)
    fitted = found.details["fitted"]
    assert found.degrees_of_freedom == 4
    assert fitted[0, 2] == 0 and fitted.sum() == pytest.approx(202, abs=1)
    flat = goodness_of_fit(from_values([40, 41, 39, 40, 42], law), replicates=199)
    assert found.statistic == pytest.approx(flat.statistic, abs=1e-6)
    assert found.p_value > 0.5
    given = goodness_of_fit(release, [[2, 2, 0], [2, 2, 2]], replicates=199)
    assert given.p_value == found.p_value and given.degrees_of_freedom == 4
    with pytest.raises(ParameterError, match=r"\[1, 3\] is a structural zero"):
        goodness_of_fit(release, [1] * 6)
    with pytest.raises(ParameterError, match="before the axes"):
        goodness_of_fit(release, "A", "B")


@pytest.mark.statistical
def test_goodness_of_fit_level(laplace) -> None:
    """Statistical: 300 tables at 5 %, at most 28 rejections (probability below 1e-3 at the nominal level)."""
    law, rng = laplace("0.5"), np.random.default_rng(8)
    template = from_values([10, 10, 10, 10], law)
    rejected = 0
    for k in range(300):
        values = template.channel.send(rng.poisson([12.0, 6.0, 6.0, 6.0]), rng)
        rejected += goodness_of_fit(from_values(values, law), [2, 1, 1, 1], replicates=99, seed=k).p_value <= 0.05
    assert 4 <= rejected <= 28


def test_goodness_of_fit_refusals(laplace) -> None:
    seen = from_values([3, 4], laplace("1"))
    for bad in ([1.0], [-1, 2], [0, 0], [np.nan, 1]):
        with pytest.raises(ParameterError):
            goodness_of_fit(seen, bad)
    with pytest.raises(ParameterError, match="not safe"):
        goodness_of_fit(seen, method="asymptotic")
    with pytest.raises(ParameterError):
        goodness_of_fit(seen, method="chi-square")


def test_released_law_is_a_distribution(laplace) -> None:
    noise = Noise.of(laplace("0.5", 5))
    first, pmf = released_law(noise, 80, 0.5)
    assert pmf.sum() == pytest.approx(1)
    brute = sum(binom.pmf(40 - int(k), 80, 0.5) * p for k, p in zip(noise.points, noise.pmf, strict=True))
    assert pmf[40 - first] == pytest.approx(brute)


def test_exact_critical_point_of_section_six(laplace) -> None:
    """N = 80, epsilon = 0.5, truncated at 5: the exact 95 % point is 4.15; the paper's 500 simulations gave 3.36."""
    noise = Noise.of(laplace("0.5", 5))
    first, pmf = released_law(noise, 80, 0.5)
    ratio = likelihood_ratio(first + np.arange(len(pmf)), noise, 80, 0.5)
    order = np.argsort(ratio, kind="stable")
    reached = np.cumsum(pmf[order]) >= 0.95
    assert ratio[order][np.argmax(reached)] == pytest.approx(4.15, abs=0.005)


def test_a_group_of_a_million_is_tested_in_little_memory(laplace) -> None:
    """At this size the law of the ratio is chi-square of one degree, with the variance of the noise beside the binomial one."""
    from scipy.stats import norm

    size, value = 1_000_000, 301_000
    law = laplace("1")
    found = binomial_test(value, size, law, probability=0.3)
    z = (value - 0.3 * size) / np.sqrt(size * 0.21 + law.variance)
    assert found.p_value == pytest.approx(2 * norm.sf(abs(z)), rel=0.02)
    far = binomial_test(400_000, size, law, probability=0.3, alternative="greater")
    assert far.p_value < 1e-11
    with pytest.raises(TooLarge, match="at most 10,000,000"):
        binomial_test(5, 10_000_001, law)


def test_binomial_without_noise_is_the_exact_test() -> None:
    for x, p in [(8, 0.5), (3, 0.3), (15, 0.5)]:
        for side in ("greater", "less"):
            found = binomial_test(x, 20, Noise.none(), probability=p, alternative=side)
            assert found.p_value == pytest.approx(binomtest(x, 20, p, side).pvalue)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_binomial_size_by_summation(laplace, alternative: str) -> None:
    """P(p-value <= 0.05) under the hypothesis, summed over every released value, is at most 0.05."""
    noise = Noise.of(laplace("0.5", 8))
    first, pmf = released_law(noise, 30, 0.4)
    size = 0.0
    for k, p in enumerate(pmf):
        size += p * (binomial_test(first + k, 30, noise, probability=0.4, alternative=alternative).p_value <= 0.05)
    assert 0.02 < size <= 0.05 + 1e-12


@pytest.mark.statistical
def test_tulap_p_values_are_uniform(laplace) -> None:
    """Statistical: 600 randomised p-values, Kolmogorov distance below 0.08 (probability below 1e-3)."""
    law, rng = laplace("1"), np.random.default_rng(4)
    noise = Noise.of(law)
    values = rng.binomial(30, 0.4, 600) + rng.choice(noise.points, 600, p=noise.pmf)
    found = np.sort(
        [
            binomial_test(int(x), 30, law, probability=0.4, alternative="greater", method="tulap", seed=k).p_value
            for k, x in enumerate(values)
        ]
    )
    assert np.abs(found - (np.arange(600) + 0.5) / 600).max() < 0.08


def test_tulap_is_refused_for_other_laws(laplace, make_release) -> None:
    with pytest.raises(Unsupported, match="discrete Laplace"):
        binomial_test(4, 30, laplace("1", 8), method="tulap")
    release = make_release([[5, 9], [7, 3]], laplace("1"))
    with pytest.raises(Unsupported):
        binomial.ask(release, {"A": "a0"}, 30, method="tulap")
    one = binomial.ask(release, {"A": "a0", "B": "b1"}, 30, method="tulap", alternative="less")
    assert 0 < one.p_value < 0.1
    both = binomial.ask(release, {"A": "a0"}, 30)
    assert both.details["value"] == 14


def test_binomial_refusals(laplace) -> None:
    for bad in ({"probability": 1.2}, {"alternative": "other"}, {"method": "wald"}):
        with pytest.raises(ParameterError):
            binomial_test(3, 10, laplace("1"), **bad)
    with pytest.raises(RequestError):
        binomial_test(30, 10, laplace("1", 5))


def test_trend_finds_order_and_ignores_none(laplace) -> None:
    rising = np.array([[60, 40, 20], [45, 45, 40], [20, 40, 70]])
    found = trend(from_values(rising, laplace("0.5")), "A", "B", replicates=199)
    assert found.p_value == pytest.approx(1 / 200) and found.statistic > 4
    wrong = trend(from_values(rising, laplace("0.5")), "A", "B", alternative="decreasing", replicates=199)
    assert wrong.p_value > 0.9
    flat = trend(from_values(np.full((3, 3), 40), laplace("0.5")), "A", "B", replicates=199)
    assert flat.p_value > 0.5
    scored = trend(from_values(rising, laplace("0.5")), "A", "B", row_scores=[0, 0, 1], replicates=99)
    assert scored.p_value < 0.05
    with pytest.raises(ParameterError):
        trend(from_values(rising, laplace("0.5")), "A", "B", row_scores=[0, 1])
    with pytest.raises(ParameterError):
        trend(from_values(rising, laplace("0.5")), "A", "B", alternative="up")


def test_homogeneity_is_the_same_statistic(laplace) -> None:
    seen = from_values([[30, 20], [25, 28]], laplace("1"))
    same = homogeneity(seen, "A", "B", replicates=99)
    assert same.statistic == pytest.approx(independence(seen, replicates=99).statistic)
    assert "alike" in same.name
