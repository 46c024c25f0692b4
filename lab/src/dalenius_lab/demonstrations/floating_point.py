"""Floating-point noise: some doubles can come from one count only; integers have one support for every count."""

from fractions import Fraction

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius_lab.attacks.floating_point import floating_point, textbook_laplace
from dalenius_lab.attacks.result import AttackResult

__all__ = ["demonstrate"]


def demonstrate() -> tuple[AttackResult, ...]:
    """The textbook's double-precision Laplace noise, and exact integer noise."""
    one = DiscreteLaplace(Fraction(1))
    return (
        floating_point("double-precision Laplace noise", textbook_laplace),
        floating_point(
            "exact integer noise",
            lambda count, size: (count + sample(one, size, RecordedRandomness(f"floating point {count}"))).astype(
                float
            ),
        ),
    )
