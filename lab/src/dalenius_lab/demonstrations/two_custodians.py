"""Two custodians hold the same person and know nothing of each other: each keeps its guarantee, both together keep the
sum only.

Whoever reads both answers and believes them where they agree is right more often than either guarantee allows, and
never more often than the sum does: what is ever released about somebody adds up (Differential privacy for statistics,
section 4).
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from dalenius.core.law import IntArray
from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius_lab.attacks.result import AttackResult

__all__ = ["demonstrate"]

_TRIALS = 4000


def demonstrate() -> tuple[AttackResult, ...]:
    """One count at each of a group that holds Bob or not; epsilon 1 is guaranteed for what both publish."""
    return (
        _joint("exact counts", np.zeros((2, _TRIALS), dtype=np.int64)),
        _joint("two accounts of epsilon 1", _noise(Fraction(1))),
        _joint("one account of epsilon 1 for both", _noise(Fraction(1, 2))),
    )


def _noise(epsilon: Fraction) -> IntArray:
    rng = RecordedRandomness(f"two custodians {epsilon}")
    return sample(DiscreteLaplace(epsilon), 2 * _TRIALS, rng).reshape(2, _TRIALS)


def _joint(target: str, noise: IntArray, guaranteed: float = 1.0) -> AttackResult:
    """The rate of right decisions where both answers say the same, against what the guarantee for both allows at even
    odds.
    """
    is_in = np.arange(_TRIALS) % 2 == 1
    says_in = is_in + noise >= 1
    agreed = says_in[0] == says_in[1]
    right = float(np.mean(says_in[0][agreed] == is_in[agreed]))
    found = AttackResult.of_guesses("two custodians", target, right, int(agreed.sum()), guaranteed)
    return replace(found, details={**found.details, "agreed": float(np.mean(agreed))})
