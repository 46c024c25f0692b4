"""Discrete Gaussian noise: published numbers, exact curve, narrow and wide samplers."""

from fractions import Fraction

import numpy as np
import pytest
from tests.audit.exact_losses import hockey_stick

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.law import Additive
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.approximate import Approximate
from dalenius.definitions.zero_concentrated import ZeroConcentrated
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.gaussian import RejectionSampler
from dalenius.exact.sampling import TableSampler, sample
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

F = Fraction
ONE = Sensitivity.of_patterns(((1,),))


@pytest.mark.parametrize(
    "s2,p0,variance",
    [
        ("0.1", 0.986703287029, 0.013296725),
        ("0.25", None, 0.215012675),
        ("1", 0.398942278267, 0.999999788768),
        ("4", 0.199471140201, 4.0),
    ],
)
def test_vectors(s2, p0, variance):
    law = DiscreteGaussian(F(s2))
    assert law.variance == pytest.approx(variance, abs=1e-9)
    if p0 is not None:
        assert np.exp(law.log_pmf(np.array([0])))[0] == pytest.approx(p0, abs=1e-12)


def test_exact_curve():
    law = DiscreteGaussian(F(25, 3))
    profile = law.profile(ONE, Relation.ADD_REMOVE)
    assert float(profile.delta_at(F(3, 2))) == pytest.approx(9.1776e-7, rel=1e-4)
    low, high = hockey_stick(law, 1, F(3, 2))
    assert low <= profile.delta_at(F(3, 2)) <= high + F(1, 10**24)
    assert profile.rho == F(3, 50) and profile.epsilon is None


def test_exact_curve_agrees_with_an_independent_library():
    from dp_accounting.pld import privacy_loss_distribution as pld

    theirs = pld.from_discrete_gaussian_mechanism(3.0, value_discretization_interval=1e-5)
    ours = DiscreteGaussian(F(9)).profile(ONE, Relation.ADD_REMOVE)
    for epsilon in (0.5, 1.0, 1.45493):
        found = float(ours.delta_at(F(str(epsilon))))
        assert found <= theirs.get_delta_for_epsilon(epsilon) * (1 + 1e-6)
        assert found == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=2e-3)


@pytest.mark.parametrize("epsilon,sigma", [("0.5", 8.05762), ("1", 4.22468), ("2", 2.23048)])
def test_calibration_is_near_the_continuous_law(epsilon, sigma):
    budget = Budget.of("approximate", epsilon=epsilon, delta="1e-6")
    made = calibrate(DiscreteGaussian, ONE, Relation.ADD_REMOVE, Approximate(), budget)
    assert float(made.sigma_squared) ** 0.5 == pytest.approx(sigma, rel=8e-3)
    more = DiscreteGaussian(made.sigma_squared * F(999, 1000))
    assert not Approximate().fits([more.profile(ONE, Relation.ADD_REMOVE)], budget)


def test_rho_is_spent_exactly():
    budget = Budget.of("zero_concentrated", rho="0.5")
    made = calibrate(DiscreteGaussian, Sensitivity.of_patterns(((1, 1),)), Relation.REPLACE, ZeroConcentrated(), budget)
    assert made.sigma_squared == 2


@pytest.mark.statistical
@pytest.mark.parametrize("s2", [F(1, 5), F(9), F(10**6), F(10**9), F(10**18)])
def test_sampler_fits(s2):
    from scipy.stats import chi2

    law = Additive(DiscreteGaussian(s2))
    draws = sample(law.noise, 100_000, RecordedRandomness(str(s2)))
    edges = np.unique([law.quantile(p) for p in np.linspace(0.02, 0.98, 25)])
    cumulative = np.concatenate([[0], law.cdf(edges), [1]])
    expected = np.diff(cumulative) * len(draws)
    observed = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
    keep = expected > 0
    assert observed[~keep].sum() == 0
    statistic = ((observed - expected)[keep] ** 2 / expected[keep]).sum()
    assert chi2.sf(statistic, keep.sum() - 1) > 1e-6
    assert draws.var() == pytest.approx(law.noise.variance, rel=0.03)


@pytest.mark.statistical
def test_rejection_equals_table():
    from scipy.stats import ks_2samp

    s2 = F(40_000)
    a = RejectionSampler(s2).draw(200_000, RecordedRandomness(1))
    b = TableSampler(DiscreteGaussian(s2)).draw(200_000, RecordedRandomness(2))
    assert ks_2samp(a, b).pvalue > 1e-6


def test_rejection_decides_exactly():
    """The word next to the exact probability is refined, and falls on the side its further bits say."""
    from dalenius.core.rationals import exp_enclosure

    class Fixed:
        is_tainted = True

        def __init__(self, byte):
            self.byte = byte

        def bytes(self, count):
            return self.byte * count

    sampler = RejectionSampler(F(40_000))
    exponent = sampler._exponent(500)
    word = exp_enclosure(-exponent, 200)[0] >> 168
    assert sampler._decide(word, 500, Fixed(b"\x00"))
    assert not sampler._decide(word, 500, Fixed(b"\xff"))
    assert sampler._decide(word - 1, 500, Fixed(b"\xff"))
    assert not sampler._decide(word + 1, 500, Fixed(b"\x00"))


@pytest.mark.parametrize("s2", [F(40_000), F(3 * 10**6), F(10**15)])
def test_the_chord_is_within_its_error(s2):
    from dalenius.core.rationals import exp_enclosure

    sampler = RejectionSampler(s2)
    width = sampler._proposal.width
    for i in range(0, sampler._ranges, 7):
        for place in (0, 1, width // 3, width // 2, width - 1, width):
            exact = exp_enclosure(-sampler._exponent(i * width + place), 32)
            chord = int(sampler._start[i]) + (int(sampler._rise[i]) * place >> sampler._low_bits)
            assert exact[0] <= chord + sampler._error and chord - sampler._error <= exact[1]
            assert min(exact[0], 2**32 - 1) <= sampler._most[i]


def test_refusals():
    for bad in (0, -1, F(1, 1000), "x", float("inf")):
        with pytest.raises(ParameterError):
            DiscreteGaussian(bad)
    with pytest.raises(TooLarge):
        DiscreteGaussian(F(2**81))
