"""The likelihood engine: published vectors, brute force, derivatives, kernels, interpolation."""

from math import exp, factorial, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.law import Kernel
from dalenius.errors import RequestError
from dalenius.inference.channel import Kernelled, Repeated, Shifted
from dalenius.inference.grid import GridLikelihood
from dalenius.inference.likelihood import CountLikelihood
from dalenius.inference.noise import Noise

KERNEL = Kernel(name="toy", firsts=(0, 0, 1), rows=((3, 1), (1, 2, 1), (1, 2, 1)), scale=4)


def test_published_vector(laplace) -> None:
    found = CountLikelihood(Shifted(Noise.of(laplace("0.5", 10))), np.array([5]))(np.array([4.0]))
    assert found.log_likelihood[0] == pytest.approx(-2.12561892, abs=1e-8)
    assert found.residual[0] + 4 == pytest.approx(4.44214118, abs=1e-8)
    assert found.variance[0] == pytest.approx(2.06318682, abs=1e-8)


def poisson(a: int, mu: float) -> float:
    return exp(-mu) * mu**a / factorial(a)


def brute(x: int, mu: float, noise: Noise) -> tuple[float, float, float]:
    weights = {
        x - int(k): float(p) * poisson(x - int(k), mu) for k, p in zip(noise.points, noise.pmf, strict=True) if x >= k
    }
    total = sum(weights.values())
    mean = sum(a * w for a, w in weights.items()) / total
    return log(total), mean - mu, sum((a - mean) ** 2 * w for a, w in weights.items()) / total


@settings(max_examples=60, deadline=None)
@given(x=st.integers(-6, 40), mu=st.floats(0.01, 60), seed=st.integers(0, 5))
def test_equals_enumeration(x: int, mu: float, seed: int) -> None:
    pmf = np.random.default_rng(seed).dirichlet(np.ones(14))
    noise = Noise(-7, pmf)
    found = CountLikelihood(Shifted(noise), np.array([x]))(np.array([mu]))
    expected = brute(x, mu, noise)
    assert (found.log_likelihood[0], found.residual[0], found.variance[0]) == pytest.approx(
        expected, rel=1e-8, abs=1e-9
    )


def test_score_and_information_are_derivatives(laplace) -> None:
    x = np.array([-3, 0, 4, 40])
    engine = CountLikelihood(Shifted(Noise.of(laplace("0.5"))), x)
    theta, h = np.log(np.array([2.0, 1.0, 6.0, 33.0])), 1e-4
    up, here, down = (engine(np.exp(theta + d)) for d in (h, 0.0, -h))
    slope = (up.log_likelihood - down.log_likelihood) / (2 * h)
    bend = (up.log_likelihood - 2 * here.log_likelihood + down.log_likelihood) / h**2
    assert here.residual == pytest.approx(slope, abs=1e-6)
    assert np.exp(theta) - here.variance == pytest.approx(-bend, abs=1e-4)


def test_saturated_means_maximise(laplace) -> None:
    x = np.array([12, 7, 0, 5, 9, -1])
    mean, best = CountLikelihood(Shifted(Noise.of(laplace("0.5", 10))), x).saturated
    assert best.sum() == pytest.approx(-12.19559499, abs=1e-8)
    assert mean[2] == mean[5] == 0
    grid = np.linspace(0.01, 30, 3000)
    for value, at, top in zip(x, mean, best, strict=True):
        engine = CountLikelihood(Shifted(Noise.of(laplace("0.5", 10))), np.full(len(grid), value))
        assert engine(grid).log_likelihood.max() <= top + 1e-9
        assert abs(grid[engine(grid).log_likelihood.argmax()] - at) < 0.02


def test_large_counts_keep_their_digits(laplace) -> None:
    engine = CountLikelihood(Shifted(Noise.of(laplace("0.1"))), np.array([10_000_000]))
    found = engine(np.array([1.0e7]))
    assert found.residual[0] == pytest.approx(0, abs=1e-2)
    assert found.variance[0] == pytest.approx(199.8334, rel=1e-3)


def test_kernel_by_enumeration() -> None:
    x, mu = np.array([0, 1, 2, 5]), 2.0
    found = CountLikelihood(Kernelled(KERNEL), x)(np.full(4, mu))
    for k, value in enumerate(x):
        weights = {a: float(KERNEL.pmf(a, value)) * poisson(a, mu) for a in range(12)}
        total = sum(weights.values())
        mean = sum(a * w for a, w in weights.items()) / total
        assert found.log_likelihood[k] == pytest.approx(log(total))
        assert found.residual[k] + mu == pytest.approx(mean)


def test_kernel_simulation_follows_its_rows() -> None:
    """Statistical: 40,000 draws, tolerance five standard errors, fixed seed."""
    counts = np.repeat([0, 1, 7], 40_000)
    seen = Kernelled(KERNEL).send(counts, np.random.default_rng(3))
    for a in (0, 1, 7):
        drawn = seen[counts == a]
        for b in np.unique(drawn):
            assert np.mean(drawn == b) == pytest.approx(float(KERNEL.pmf(a, b)), abs=0.0125)


def test_repeated_releases_multiply(laplace) -> None:
    one, two = Noise.of(laplace("1", 8)), Noise.of(laplace("0.5", 12))
    channel = Repeated((Shifted(one), Shifted(two)))
    found = CountLikelihood(channel, np.array([[4, 7]]))(np.array([5.0]))
    total = sum(
        poisson(a, 5.0) * float(one.pmf[4 - a - one.first]) * float(two.pmf[7 - a - two.first])
        for a in range(20)
        if 0 <= 4 - a - one.first < len(one.pmf) and 0 <= 7 - a - two.first < len(two.pmf)
    )
    assert found.log_likelihood[0] == pytest.approx(log(total))


def test_impossible_values_are_refused(laplace) -> None:
    with pytest.raises(RequestError, match="cannot arise"):
        CountLikelihood(Shifted(Noise.of(laplace("0.5", 10))), np.array([-11]))
    with pytest.raises(RequestError):
        CountLikelihood(Kernelled(KERNEL), np.array([-1]))


@pytest.mark.parametrize(("epsilon", "limit"), [("2", None), ("0.5", 10), ("0.1", None)])
def test_interpolation_equals_the_direct_engine(laplace, epsilon, limit) -> None:
    rng = np.random.default_rng(1)
    channel = Shifted(Noise.of(laplace(epsilon, limit)))
    truth = np.concatenate([rng.uniform(0, 3, 200), rng.uniform(0, 2000, 200)])
    values = channel.send(rng.poisson(truth), rng).reshape(4, 100)
    means = np.maximum(truth.reshape(4, 100) + rng.normal(0, 1 + np.sqrt(truth.reshape(4, 100))), 1e-9)
    direct = CountLikelihood(channel, values.reshape(-1))(means.reshape(-1))
    grid = GridLikelihood(channel, values)
    fast = grid(means)
    assert fast.log_likelihood.reshape(-1) == pytest.approx(direct.log_likelihood, abs=5e-6)
    assert fast.residual.reshape(-1) == pytest.approx(direct.residual, rel=1e-5, abs=2e-4)
    part = grid(means[[2]], np.array([2]))
    assert part.residual[0] == pytest.approx(fast.residual[2])


def test_interpolation_under_very_wide_noise_is_the_direct_likelihood(laplace) -> None:
    channel = Shifted(Noise.of(laplace("0.005", 4000)))
    rng = np.random.default_rng(3)
    values = channel.send(rng.poisson(np.geomspace(1, 3000, 40)), rng)[None, :]
    means = rng.uniform(0, 1, 40)[None, :] * np.resize([3.0, 300.0, 9000.0, 60_000.0], 40)
    direct = CountLikelihood(channel, values[0])(means[0])
    fast = GridLikelihood(channel, values)(means)
    assert fast.log_likelihood[0] == pytest.approx(direct.log_likelihood, abs=1e-6)
    assert fast.residual[0] == pytest.approx(direct.residual, rel=1e-5, abs=1e-3)


def test_interpolation_far_off_the_grid(laplace) -> None:
    channel = Shifted(Noise.of(laplace("0.5", 10)))
    values = np.array([[100, 0, 3]])
    grid = GridLikelihood(channel, values)
    means = np.array([[0.5, 900.0, 1e-12]])
    direct = CountLikelihood(channel, values[0])(means[0])
    assert grid(means).log_likelihood[0] == pytest.approx(direct.log_likelihood)
