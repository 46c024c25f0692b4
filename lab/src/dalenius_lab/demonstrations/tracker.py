"""Trackers: a rule of a least group size falls to three allowed questions; charged answers have no such rule to get
around.
"""

from collections.abc import Callable
from fractions import Fraction

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius_lab.attacks.result import AttackResult
from dalenius_lab.attacks.tracker import Mask, MinimumSize, tracker

__all__ = ["demonstrate"]


def demonstrate() -> tuple[AttackResult, ...]:
    """Exact counts of groups of at least 20; and four answers at epsilon 1/4 each."""
    quarter, server = DiscreteLaplace(Fraction(1, 4)), MinimumSize(200, 20)

    def charged(trial: int) -> Callable[[Mask], float]:
        rng = RecordedRandomness(f"tracker {trial}")
        return lambda group: float(group.sum()) + float(sample(quarter, 1, rng)[0])

    return (
        tracker("exact counts of groups of at least 20", lambda _: server.answer),
        tracker("four charged answers, epsilon 1 in all", charged),
    )
