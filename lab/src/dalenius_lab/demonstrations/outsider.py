"""The outsider who joins later: noise fitted to the data at hand says nothing of a value that was not there.

A total under bootstrap differential privacy has noise for the incomes in the file. If somebody whose income is far
above all of them takes another's place and the total is asked again, the change stands far above the noise (Bootstrap
differential privacy, section 3.2.2). Noise for declared bounds is the same before and after, and hides the change.
"""

from fractions import Fraction

import numpy as np

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius_lab.attacks.result import AttackResult

__all__ = ["demonstrate"]

_LARGEST, _USUAL, _TRIALS = 1_000_000, 60, 2000


def demonstrate() -> tuple[AttackResult, ...]:
    """Epsilon 1 each time: noise for the range of the file's incomes (60), and for the declared bounds (a million)."""
    return (
        _joining("noise fitted to the data at hand (bootstrap privacy)", _USUAL, _LARGEST),
        _joining("noise for the declared bounds (differential privacy)", _LARGEST, _LARGEST, epsilon=2.0),
    )


def _joining(target: str, before: int, after: int, epsilon: float | None = None) -> AttackResult:
    """Whether the outsider joined between two totals, decided by which of the two the change is nearer to.

    `before` and `after` are the ranges that the noise is for without and with the outsider in the file.
    """
    rng = RecordedRandomness(f"outsider {target}")
    calm = sample(DiscreteLaplace(Fraction(1, before)), 3 * _TRIALS, rng).reshape(3, _TRIALS)
    joined = sample(DiscreteLaplace(Fraction(1, after)), _TRIALS, rng)
    stays, comes = calm[1] - calm[0], _LARGEST + joined - calm[2]
    # A change is called calm within ten times the noise of calm files, or below half of the outsider's income.
    limit = min(10 * before, _LARGEST // 2)
    right = float(np.mean(np.concatenate([np.abs(stays) <= limit, np.abs(comes) > limit])))
    return AttackResult.of_guesses("outsider", target, right, 2 * _TRIALS, epsilon)
