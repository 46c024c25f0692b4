"""Discrete Laplace noise: published numbers, exact privacy, and agreement with an independent sampler."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
from tests.audit.exact_losses import hockey_stick, max_log_ratio

from dalenius.core.budget import Budget
from dalenius.core.law import Additive
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

F = Fraction


@pytest.mark.parametrize(
    "rate,p0,variance",
    [("1", 0.462117157260, 1.841347188), ("0.5", 0.244918662404, 7.835396178), ("0.1", None, 199.833416634)],
)
def test_vectors(rate, p0, variance):
    law = DiscreteLaplace(F(rate))
    assert law.variance == pytest.approx(variance, abs=1e-8)
    if p0 is not None:
        assert np.exp(law.log_pmf(np.array([0])))[0] == pytest.approx(p0, abs=1e-12)


def test_more_vectors():
    law = Additive(DiscreteLaplace(F(1)))
    k = np.arange(-60, 61)
    assert (np.abs(k) * law.pmf(k)).sum() == pytest.approx(0.850918128, abs=1e-9)
    assert float(law.cdf(3) - law.cdf(-4)) == pytest.approx(0.973220390, abs=1e-9)
    two = DiscreteLaplace(F(log(2)).limit_denominator(10**15))
    assert np.exp(two.log_pmf(np.array([0])))[0] == pytest.approx(1 / 3, abs=1e-14)
    assert two.variance == pytest.approx(4, abs=1e-12)


@pytest.mark.parametrize("rate,shift", [(F(1), 1), (F(1, 2), 2), (F(1, 3), 3), (F(9, 4), 1)])
def test_pure_loss_is_exact(rate, shift):
    law, epsilon = DiscreteLaplace(rate), rate * shift
    low, high = max_log_ratio(law, shift)
    assert abs(low - epsilon) < F(1, 10**9) and abs(high - epsilon) < F(1, 10**9)
    assert hockey_stick(law, shift, epsilon)[1] < F(1, 2**100)
    assert hockey_stick(law, shift, epsilon * F(99, 100))[0] > F(1, 1000)
    profile = law.profile(Sensitivity.of_patterns(((shift,),)), Relation.ADD_REMOVE)
    assert profile.epsilon == epsilon and profile.delta_at(epsilon) == 0


def test_several_cells_share_the_loss():
    law = DiscreteLaplace(F(1, 2))
    profile = law.profile(Sensitivity.of_patterns(((1, 1),)), Relation.REPLACE)
    assert profile.epsilon == 1
    assert float(profile.rho) == pytest.approx(2 * 0.122459, abs=2e-6)
    norms = law.profile(Sensitivity(l0=2, l1=F(2), l2_squared=F(2), linf=F(1)), Relation.REPLACE)
    assert norms.epsilon == 1 and norms.rho == profile.rho
    assert norms.delta_at(F(1, 2)) >= profile.delta_at(F(1, 2))


def test_nothing_moves_nothing_is_lost():
    law = DiscreteLaplace(F(1))
    for patterns in ((), ((),)):
        profile = law.profile(Sensitivity.of_patterns(patterns), Relation.ADD_REMOVE)
        assert profile.epsilon == 0 and profile.rho == 0 and profile.delta_at(F(0)) == 0


def test_family_and_refusals():
    assert DiscreteLaplace.family(F(1, 3), Budget.of("pure", epsilon=1)).rate == F(1, 3)
    for bad in (0, -1, "x", float("nan"), None, 10**7):
        with pytest.raises(ParameterError):
            DiscreteLaplace(bad)
    with pytest.raises(TooLarge):
        DiscreteLaplace(F(1, 2**41))


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [F(1), F(1, 5)])
def test_agrees_with_an_independent_sampler(rate):
    """OpenDP's sampler draws from the same law: chi-square on both samples. Its stream is not recorded, so it is rejected only at 1e-9."""
    import opendp.prelude as dp
    from scipy.stats import chi2_contingency

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=float(1 / rate))([0] * 40_000))
    ours = sample(DiscreteLaplace(rate), 40_000, RecordedRandomness("opendp"))
    edges = np.unique(np.quantile(ours, np.linspace(0, 1, 15)).astype(int))
    table = np.array([np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1) for x in (ours, theirs)])
    assert chi2_contingency(table[:, table.sum(0) > 0]).pvalue > 1e-9
