"""Statistical audits: published vectors, true claims stand, planted faults are refuted. Error rate 1e-6 per audit."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import ParameterError
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius_lab.empirical import clopper_pearson, one_run, one_run_p_value, two_sample

F = Fraction


@pytest.mark.parametrize(
    "canaries,guesses,correct,delta,epsilon",
    [(1000, 1000, 600, 1e-5, 0.297227), (1000, 100, 95, 1e-5, 2.165176), (100, 100, 100, 0.0, 3.492965)],
)
def test_one_run_vectors(canaries, guesses, correct, delta, epsilon):
    assert one_run(canaries, guesses, correct, delta=delta).epsilon == pytest.approx(epsilon, abs=1e-6)


def test_clopper_pearson():
    low, high = clopper_pearson(0, 100, 0.025)
    assert low == 0 and high == pytest.approx(0.0362, abs=1e-4)
    assert clopper_pearson(100, 100, 0.025)[1] == 1


@pytest.mark.statistical
@pytest.mark.parametrize("claimed,actual", [(F(1), F(1)), (F(1, 2), F(1, 2))])
def test_a_true_claim_stands(claimed, actual):
    law = DiscreteLaplace(actual)
    a = sample(law, 400_000, RecordedRandomness("a"))
    b = sample(law, 400_000, RecordedRandomness("b")) + 1
    found = two_sample(a, b, confidence=1 - 1e-6)
    assert not found.refutes(float(claimed))
    assert found.epsilon > 0.9 * float(claimed), "the audit must have power"


@pytest.mark.statistical
@pytest.mark.parametrize("law", [DiscreteLaplace(F(2)), TruncatedLaplace(F(2), 12)], ids=repr)
def test_half_the_scale_is_refuted(law):
    a = sample(law, 400_000, RecordedRandomness("c"))
    b = sample(law, 400_000, RecordedRandomness("d")) + 1
    assert two_sample(a, b, delta=1e-6, confidence=1 - 1e-6).refutes(1.0)


@pytest.mark.statistical
def test_sigma_for_sigma_squared_is_refuted():
    # Claimed sigma = 4.23 for (1, 1e-6); the planted fault takes sigma for sigma squared.
    law = DiscreteGaussian(F("4.23"))
    a = sample(law, 400_000, RecordedRandomness("e"))
    b = sample(law, 400_000, RecordedRandomness("f")) + 1
    assert two_sample(a, b, delta=1e-6, confidence=1 - 1e-6).refutes(1.0)


def _canaries(law, count, seed):
    """Each canary adds one to its own cell or not; the guess is whether the noisy cell exceeds one half."""
    coins = np.frombuffer(RecordedRandomness(seed).bytes(count), dtype=np.uint8) & 1
    noisy = coins + sample(law, count, RecordedRandomness(seed + "/noise"))
    sure = np.abs(noisy - 0.5) >= 0.5
    return int(sure.sum()), int(((noisy > 0.5) == coins)[sure].sum())


@pytest.mark.statistical
def test_one_run_refutes_half_the_scale():
    guesses, correct = _canaries(DiscreteLaplace(F(1)), 100_000, "true")
    assert one_run(100_000, guesses, correct, confidence=1 - 1e-6).epsilon <= 1
    guesses, correct = _canaries(DiscreteLaplace(F(2)), 100_000, "planted")
    assert one_run(100_000, guesses, correct, confidence=1 - 1e-6).epsilon > 1


def test_refusals_and_silence():
    assert one_run(100, 100, 50).epsilon == 0
    assert one_run_p_value(10, 10, 0, 1.0, 1e-5) == 1
    with pytest.raises(ParameterError):
        one_run_p_value(10, 11, 5, 1.0)
    with pytest.raises(ParameterError):
        two_sample(np.zeros(10, np.int64), np.zeros(10, np.int64))
