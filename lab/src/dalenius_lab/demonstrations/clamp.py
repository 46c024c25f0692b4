"""Answers cut to the truth plus or minus one: asked again they show both ends, and the truth between them."""

from fractions import Fraction

import numpy as np

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius_lab.attacks.clamp import ClampAttack, expected_queries
from dalenius_lab.attacks.result import AttackResult

__all__ = ["demonstrate"]

_TRIALS, _MOST = 200, 40
_TRUTH = 17


def demonstrate() -> tuple[AttackResult, ...]:
    """A range query of individual privacy at epsilon 1 that is drawn anew, and one that is answered from the ledger."""
    law = DiscreteLaplace(Fraction(1))
    noise = sample(law, _TRIALS * _MOST, RecordedRandomness("clamp")).reshape(_TRIALS, _MOST)
    drawn = _TRUTH + np.clip(noise, -1, 1)
    stored = np.repeat(drawn[:, :1], _MOST, axis=1)
    return (
        _asked("clamped answers drawn anew", drawn, {"expected_queries": expected_queries(1.0)}),
        _asked("the same answer from the ledger", stored, {}),
    )


def _asked(target: str, answers: np.ndarray, more: dict[str, float]) -> AttackResult:
    attack = ClampAttack(most_queries=_MOST)
    runs = [attack.run(iter(row.tolist()).__next__) for row in answers]
    hits = [used for recovered, used in runs if recovered == _TRUTH]
    rate = len(hits) / len(runs)
    details = {"recovered": rate} | ({"queries": float(np.mean(hits))} if hits else {}) | more
    return AttackResult(name="clamp", target=target, advantage=rate, succeeded=rate > 0.95, details=details)
