"""Reconstruction of every bit from many subset counts: slight noise does not stop it, a total epsilon does."""

from fractions import Fraction

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius_lab.attacks.dinur_nissim import dinur_nissim
from dalenius_lab.attacks.result import AttackResult

__all__ = ["demonstrate"]


def demonstrate() -> tuple[AttackResult, ...]:
    """400 answers about 100 people: with noise of standard deviation about 1 each, and with epsilon 1 for
    all of them.
    """
    rng = RecordedRandomness("reconstruction")
    one, share = DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(1, 400))
    return (
        dinur_nissim("400 answers, noise of about 1 each", lambda count: sample(one, count, rng)),
        dinur_nissim("400 answers, epsilon 1 in all", lambda count: sample(share, count, rng), epsilon=1.0),
    )
