"""Sums between chosen bounds on the grid of the widest: the whole number that multiplies them before noise.

The narrower the bounds, the less one row moves a sum, and the larger the factor by which the sum may be multiplied for
the same noise. So the noise, and with it every view of the price, is fixed before anything is chosen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

KINDS = {"above": "totals", "below": "totals", "squares": "squares", "under": "clipped", "over": "clipped"}


def middle(low: int, high: int) -> int:
    """The centre of bounds in steps."""
    return (low + high) // 2


def largest_square(low: int, high: int) -> int:
    """About the centre."""
    return max(high - middle(low, high), middle(low, high) - low) ** 2


def square_shift(low: int, high: int) -> int:
    """What is taken off every square."""
    return largest_square(low, high) // 2


def moves(kind: str, low: int, high: int) -> tuple[int, ...]:
    """By how much one row moves one number when it is added, and when it is replaced.

    >>> moves("totals", 0, 9), moves("squares", 0, 9), moves("clipped", 0, 9)
    ((9, 9), (13, 25), (1, 1))
    """
    if kind == "clipped":
        return 1, 1
    if kind == "squares":
        most = largest_square(low, high)
        return most - square_shift(low, high), most
    return high - low, high - low


def factor(kind: str, widest: Sequence[int], fineness: int, low: int, high: int) -> int:
    """The largest whole factor by which sums in [low, high] move at most `fineness` times as far as the widest.

    >>> factor("totals", (0, 100), 8, 0, 30), factor("clipped", (0, 100), 1, 0, 30)
    (26, 1)
    """
    pairs = zip(moves(kind, *widest), moves(kind, low, high), strict=True)
    return min(fineness * most // own for most, own in pairs)


def chosen(parameters: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
    """What the law of sums between the chosen candidates would state: bounds, centre, shift, and factors."""
    candidates = [int(each) for each in parameters["candidates"]]
    low, high = (candidates[int(place)] for place in places)
    widest = (candidates[0], candidates[-1])
    fineness = {kind: int(many) for kind, many in parameters["fineness"].items()}
    return {
        "low": str(low),
        "high": str(high),
        "centre": str(middle(low, high)),
        "squares shift": str(square_shift(low, high)),
        "factors": {
            array: factor(kind, widest, fineness[kind], low, high)
            for array, kind in KINDS.items()
            if array in parameters["arrays"]
        },
    }
