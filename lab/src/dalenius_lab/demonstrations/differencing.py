"""A group with Bob and the group without him: exact answers give him away, charged ones cannot."""

from fractions import Fraction

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius_lab.attacks.differencing import differencing
from dalenius_lab.attacks.result import AttackResult

__all__ = ["demonstrate"]


def demonstrate() -> tuple[AttackResult, ...]:
    """Exact counts; and two answers at epsilon 1/2 each, which a ledger charges with 1 in all."""
    half = DiscreteLaplace(Fraction(1, 2))

    def charged(trial: int, is_in: bool) -> tuple[float, float]:
        noise = sample(half, 2, RecordedRandomness(f"differencing {trial}"))
        return 40.0 + is_in + noise[0], 40.0 + noise[1]

    return (
        differencing("exact counts", lambda _, is_in: (40.0 + is_in, 40.0)),
        differencing("two charged answers, epsilon 1 in all", charged, epsilon=1.0),
    )
