"""No finite loss of a law on a finite range exceeds the largest one it states, in exact arithmetic."""

from fractions import Fraction

import pytest

from dalenius.mechanisms.max_entropy import MaxEntropy
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal

LAWS = [
    TruncatedNormal(rate=Fraction(1, 7), limit=5),
    MaxEntropy(cap=Fraction(2), limit=5),
    TruncatedLaplace(rate=Fraction(1, 3), limit=5),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("size", range(1, 6))
def test_the_largest_loss_is_reached_and_not_exceeded(law, size):
    unit, key = law.log_weight()
    low, high = law.support
    losses = [unit * abs(key(x) - key(x - size)) for x in range(low + size, high + 1)]
    assert max(losses) == law.largest_loss(size)
