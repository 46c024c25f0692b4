"""Smooth sensitivity: tight constants on a fine grid, losses on exhaustive neighbours, exact draws."""

from fractions import Fraction
from functools import partial
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy import stats
from tests.measurements.derived_laws import stated
from tests.measurements.smooth_densities import log_density

from dalenius.audit import sensitivity as brute
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.ideal_rounding import rounded
from dalenius.exact.order_statistics import rational_base
from dalenius.exact.smooth_noise import Cauchy, LaplaceLogNormal, Lomax, Polynomial, StudentT
from dalenius.measurements.smooth import Smooth
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.quantile import Quantile
from dalenius_lab.reproductions.idp import paper_quantile

F = Fraction
REPLACE, ADD_REMOVE = Neighbours(relation=Relation.REPLACE), Neighbours(relation=Relation.ADD_REMOVE)
Z = np.concatenate([-np.geomspace(1e-4, 1e6, 4000)[::-1], [0.0], np.geomspace(1e-4, 1e6, 4000)])


def worst_loss(log_density_at, alpha: float, beta: float) -> float:
    """Supremum of both conditions of `exact.smooth_noise` on a grid of z, s and b."""

    def g(z):
        return -log_density_at(z)

    here, most = g(Z), -np.inf
    for b in np.linspace(0, beta, 7):
        for s in np.linspace(-alpha, alpha, 9):
            most = max(most, float(np.max(g(np.exp(b) * Z + s) - b - here)))
            most = max(most, float(np.max(g(np.exp(-b) * (Z + s)) + b - here)))
    return most


def test_vectors():
    for eps, beta, alpha in (("0.1", "0.05", 0.0888411456), ("1", "0.9", 0.7355843907), ("2", "1.8", 2.3504023873)):
        assert 1 / float(Cauchy(F(eps), F(beta)).scale) == pytest.approx(alpha, abs=1e-9)
    assert 1 / float(Cauchy(F(1), F("0.7")).scale) == pytest.approx(1.042190611, abs=1e-9)
    for eps, beta, a, sd in (
        ("1", "0.02", 0.01979343, 1.4733),
        ("1", "0.05", 0.04864961, 1.5719),
        ("1", "0.1", 0.09422518, 1.7688),
        ("1", "0.2", 0.17420967, 2.3434),
        ("0.5", "0.05", 0.04389834, 3.7967),
        ("2", "0.2", 0.19939610, 0.83586),
    ):
        law = Lomax(F(eps), F(beta))
        assert float(law.a) == pytest.approx(a, abs=5e-9)
        assert sqrt(law.variance) == pytest.approx(sd, abs=1e-4)
    for t, s, sd in (("0.1", "0.309", 2.655), ("0.2", "0.423", 4.196)):
        assert sqrt(LaplaceLogNormal(F(1), F(t), F(s)).variance) == pytest.approx(sd, abs=2e-3)


@pytest.mark.parametrize(
    "noise",
    [Cauchy(F(1), F("0.7")), Cauchy(F(1), F("0.9")), Cauchy(F("0.1"), F("0.05")), Cauchy(F(2), F("1.8"))],
    ids=str,
)
def test_cauchy_is_tight(noise):
    found = worst_loss(partial(log_density, noise), 1 / float(noise.scale), float(noise.beta))
    assert found <= float(noise.epsilon) + 1e-9
    assert found > float(noise.epsilon) * 0.995


@pytest.mark.parametrize("noise", [Lomax(F(1), F("0.1")), Lomax(F("0.5"), F("0.05")), Lomax(F(2), F(1))], ids=str)
def test_lomax_is_tight(noise):
    found = worst_loss(partial(log_density, noise), 1 / float(noise.scale), float(noise.beta))
    assert found <= float(noise.epsilon) + 1e-9
    assert found > float(noise.epsilon) * 0.99


@pytest.mark.parametrize(
    "noise",
    [
        Polynomial(F(1), F("0.1"), F(3)),
        Polynomial(F(1), F("0.05"), F(9)),
        Polynomial(F(1), F("0.2"), F(3, 2)),
        StudentT(F(1), F("0.1"), F(3)),
        StudentT(F(1), F("0.05"), F(5)),
    ],
    ids=str,
)
def test_sufficient_constants_suffice(noise):
    found = worst_loss(partial(log_density, noise), 1 / float(noise.scale), float(noise.beta))
    assert float(noise.epsilon) * 0.6 < found <= float(noise.epsilon) + 1e-9


def test_the_papers_constants_fail_from_nine_on():
    """alpha = eps/(4 g), beta = eps/g: private but loose for small g, and not private for g >= 9."""
    losses = {}
    for g in (2, 3, 8, 9, 20):
        losses[g] = worst_loss(lambda z, g=g: -np.log1p(abs(z) ** g), 1 / (4 * g), 1 / g)
    assert losses[2] == pytest.approx(0.51, abs=0.01)
    assert losses[3] == pytest.approx(0.70, abs=0.01)
    assert losses[8] == pytest.approx(0.996, abs=0.005)
    assert losses[9] > 1.015
    assert losses[20] == pytest.approx(1.13, abs=0.01)


def test_eight_times_less_noise_than_the_paper():
    ours = float(stats.cauchy.ppf(0.975)) * float(Cauchy(F(1), F("0.73")).scale)
    assert ours == pytest.approx(12.19, abs=0.01)
    assert paper_quantile(2, 1 / 8, 0.95) / ours == pytest.approx(8.3, abs=0.05)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=lambda n: str(n.relation))
@pytest.mark.parametrize(
    "noise",
    [Cauchy(F(1), F("0.7")), Lomax(F(1), F("0.3")), StudentT(F(1), F(1, 9), F(3)), Polynomial(F(1), F(1, 8), F(3))],
    ids=lambda n: n.name,
)
def test_losses_on_exhaustive_neighbours(neighbours, noise):
    universe, base = (0, 1, 2, 4), rational_base(noise.beta)
    grid = np.concatenate([np.linspace(-30, 30, 1201), [-1e5, 1e5, -1e8, 1e8]])
    for statistic in (
        Quantile(query=ValuesQuery(value="x"), low=0, high=4),
        Extreme(query=ValuesQuery(value="x"), low=0, high=4),
    ):
        logs = {}
        for n in range(5):
            for data in brute.multisets(universe, n):
                size = float(statistic.smooth(data, base, neighbours) * noise.scale)
                logs[data] = log_density(noise, (grid - statistic.value(data)) / size) - log(size)
        worst = max(
            float(np.max(np.abs(logs[data] - logs[other])))
            for data in logs
            for other in brute.neighbours_of(data, universe, neighbours.relation)
            if other in logs
        )
        assert 0.3 < worst <= 1 + 1e-9


def laplace_log_normal_density(z: np.ndarray, s: float) -> np.ndarray:
    """Of X exp(sY), X Laplace and Y standard normal, by a sum over Y."""
    y = np.linspace(-8, 8, 801)
    weights = np.exp(-y * y / 2) / np.exp(-y * y / 2).sum()
    widths = np.exp(s * y)
    return (weights / (2 * widths) * np.exp(-np.abs(z)[:, None] / widths)).sum(axis=1)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=lambda n: str(n.relation))
def test_laplace_log_normal_noise_loses_at_most_rho_on_exhaustive_neighbours(neighbours):
    """Renyi divergences of several orders; with half of the scale they are too large."""
    noise, universe = LaplaceLogNormal(F(1), F(1, 5), F(1, 2)), (0, 2, 4)
    statistic = Quantile(query=ValuesQuery(value="x"), low=0, high=4)
    points = np.concatenate([-np.geomspace(1e-4, 3e4, 1500)[::-1], np.geomspace(1e-4, 3e4, 1500)])
    worst = {F(1): 0.0, F(1, 2): 0.0}
    for factor in (F(1), F(1, 2)):
        logs, base = {}, rational_base(noise.beta)
        for n in range(4):
            for data in brute.multisets(universe, n):
                size = float(statistic.smooth(data, base, neighbours) * noise.scale * factor)
                inside = laplace_log_normal_density((points - statistic.value(data)) / size, 0.5)
                logs[data] = np.log(inside / size)
        for data, p in logs.items():
            for other in brute.neighbours_of(data, universe, neighbours.relation):
                if other in logs:
                    for order in (1.05, 2.0, 8.0):
                        mass = np.trapezoid(np.exp(order * p + (1 - order) * logs[other]), points)
                        worst[factor] = max(worst[factor], log(mass) / (order - 1) / order)
    assert 0.05 < worst[F(1)] <= 0.5 < worst[F(1, 2)]


def ks(noise, cdf, seed: str, draws: int = 1500) -> float:
    rng = RecordedRandomness(seed)
    z = np.array([rounded(F(0), F(10**9), noise.draw(rng)) for _ in range(draws)]) / 1e9
    return float(stats.kstest(z, cdf).pvalue)


def lomax_cdf(k: float):
    return lambda z: np.where(z < 0, 0.5 * (1 + np.abs(z)) ** (1 - k), 1 - 0.5 * (1 + np.abs(z)) ** (1 - k))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("noise", "cdf"),
    [
        (Cauchy(F(1), F("0.7")), stats.cauchy.cdf),
        (Lomax(F(1), F("0.25")), lomax_cdf(5)),
        (StudentT(F(1), F("0.1"), F(3)), lambda w: stats.t.cdf(np.asarray(w) * sqrt(3), 3)),
        (Polynomial(F(1), F("0.1"), F(2)), stats.cauchy.cdf),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_draws_fit_their_law(noise, cdf):
    """Kolmogorov-Smirnov at fixed seeds; the threshold is one in a million."""
    assert ks(noise, cdf, f"fit {noise}") > 1e-6


@pytest.mark.statistical
def test_laplace_log_normal_moments():
    noise, rng = LaplaceLogNormal(F(1), F("0.1"), F("0.309")), RecordedRandomness("lln")
    z = np.array([rounded(F(0), F(10**9), noise.draw(rng)) for _ in range(3000)]) / 1e9
    s = 0.309
    assert np.mean(np.abs(z)) == pytest.approx(exp(s * s / 2), abs=6 * np.std(np.abs(z)) / sqrt(3000))
    assert abs(np.mean(z)) < 6 * np.std(z) / sqrt(3000)


def test_rounding_is_exact_at_any_scale():
    """The same bits give the same ideal number: rounding at a finer grid refines, never contradicts."""
    for seed in range(200):
        coarse = rounded(F(5, 3), F(7), Cauchy(F(1), F("0.7")).draw(RecordedRandomness(seed)))
        fine = rounded(F(5, 3) * 10**12, F(7) * 10**12, Cauchy(F(1), F("0.7")).draw(RecordedRandomness(seed)))
        assert abs(F(fine, 10**12) - coarse) <= F(1, 2) + F(1, 10**12)


def make(noise, neighbours=REPLACE, **more):
    statistic = Quantile(query=ValuesQuery(value="x"), low=0, high=1000, **more)
    return Smooth(name="median", statistic=statistic, noise=noise, neighbours=neighbours)


def test_measurement():
    step, rng = make(Lomax(F(1), F("0.2"))), RecordedRandomness("step")
    values = np.arange(400, 601)
    answers = [int(step.run((Sealed(values),), step.draw(rng), rng).values[0]) for _ in range(60)]
    assert abs(np.median(answers) - 500) < 10
    assert step.profile(REPLACE).epsilon == 1
    with pytest.raises(Unsupported):
        step.profile(ADD_REMOVE)
    block = step.block(step.run((Sealed(values),), step.draw(rng), rng))
    assert block.law.kind == "withheld"
    assert not block.parameters
    zero_concentrated = make(LaplaceLogNormal(F(1), F("0.2"), F("0.423"))).profile(REPLACE)
    assert zero_concentrated.rho == F(1, 2)
    assert zero_concentrated.epsilon is None


def test_refusals_come_before_data():
    with pytest.raises(ParameterError):
        Cauchy(F(1), F(1))
    with pytest.raises(Unsupported):
        make(Cauchy(F(1), F("0.5")), ADD_REMOVE, is_midpoint=True)
    with pytest.raises(Unsupported):
        make(Cauchy(F(1), F("0.5")), Neighbours(unit="person", max_rows=2))
    for values in ([], [5] * 9, [-5, 10**6]):
        rng = RecordedRandomness(2)
        step = make(Cauchy(F(1), F("0.5")))
        assert 0 <= step.run((Sealed(np.array(values, dtype=np.int64)),), step.draw(rng), rng).values[0] <= 1000


@pytest.mark.statistical
@pytest.mark.parametrize(
    "noise",
    [
        Cauchy(F(1), F(1, 2)),
        Lomax(F(1), F(1, 4)),
        Polynomial(F(1), F(1, 8)),
        StudentT(F(1), F(1, 8)),
        LaplaceLogNormal(F(1), F(1, 8)),
    ],
    ids=lambda noise: noise.name,
)
def test_the_stated_law_adds_up_and_draws_follow_it(noise) -> None:
    """1,000 draws at a fixed seed; six standard errors."""
    step = Smooth(
        name="median",
        statistic=Quantile(query=ValuesQuery(value="x"), low=-4, high=4),
        noise=noise,
        neighbours=ADD_REMOVE,
    )
    values, rng, draws = np.array([-3, 0, 0, 1, 2], dtype=np.int64), RecordedRandomness("smooth"), 1000
    law = stated(step, values)
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    seen = [step.run((Sealed(values),), step.draw(rng), rng).values[0] for _ in range(draws)]
    for (answer,), chance in law.items():
        assert abs(seen.count(answer) / draws - chance) < 6 * sqrt(chance * (1 - chance) / draws)
