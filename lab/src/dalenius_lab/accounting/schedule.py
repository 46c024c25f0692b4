"""Schedules: one budget spread over the waves of a monthly or panel series.

Waves on the same units add up: the schedule only says in advance how much each may take, so that a late wave finds
something left. What a wave leaves is not carried over.
"""

from collections.abc import Sequence
from fractions import Fraction

from dalenius.core.budget import UNIT, units_down
from dalenius.core.rationals import rational
from dalenius.errors import ParameterError

Wave = tuple[str, Fraction, Fraction]


def spread(versions: Sequence[str], rho: object, delta: object, weights: Sequence[object] | None = None) -> list[Wave]:
    """(version, rho, delta) for each wave, in proportion to the weights (equal without), rounded down to units.

    >>> spread(["2025-01", "2025-02"], "0.5", 0)
    [('2025-01', Fraction(1, 4), Fraction(0, 1)), ('2025-02', Fraction(1, 4), Fraction(0, 1))]
    """
    if len(set(versions)) != len(versions) or not versions:
        raise ParameterError("A schedule names each wave once, and at least one.")
    shares = [rational(w, "weight") for w in (weights if weights is not None else [1] * len(versions))]
    if len(shares) != len(versions) or min(shares) <= 0:
        raise ParameterError("A schedule needs one positive weight for each wave.")
    whole = (rational(rho, "rho"), rational(delta, "delta"))
    total = sum(shares)
    return [
        (version, *(units_down(amount * share / total) * UNIT for amount in whole))  # type: ignore[misc]
        for version, share in zip(versions, shares, strict=True)
    ]
