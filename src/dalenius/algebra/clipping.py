"""Sums between chosen bounds on the grid of the widest: the whole number that multiplies them before noise.

The narrower the bounds, the less one row moves a sum, and the larger the factor by which the sum may be multiplied for
the same noise. So the noise, and with it every view of the price, is fixed before anything is chosen.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from dalenius.algebra.bases import pair, sized
from dalenius.algebra.estimate_law import EstimateLaw, LinearForm
from dalenius.algebra.intervals import Estimated
from dalenius.algebra.sums import Sums
from dalenius.core.law import FloatArray
from dalenius.core.release import Block


def middle(low: int, high: int) -> int:
    return (low + high) // 2


def largest_square(low: int, high: int) -> int:
    """About the centre."""
    return max(high - middle(low, high), middle(low, high) - low) ** 2


def square_shift(low: int, high: int) -> int:
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


def with_learned_bounds(law: EstimateLaw, learned: Block) -> EstimateLaw:
    """The law of sums between the candidates that the released block names: bounds, centre, shift, and factors."""
    said = law.more["learned_bounds"]
    candidates = [int(each) for each in said["candidates"]]
    low, high = (candidates[int(place)] for place in learned.values.tolist())
    widest = (candidates[0], candidates[-1])
    made = {kind: Fraction(1, factor(kind, widest, int(many), low, high)) for kind, many in said["fineness"].items()}
    centre = middle(low, high)
    sums = pair(low, high, centre) if law.size is None else sized(low, centre, law.size)
    arrays = 2 if law.size is None else 1
    sums = {name: form.scaled(made["totals"]) for name, form in sums.items()}
    products = {}
    if "x x" in law.products:
        products["x x"] = LinearForm.array(arrays, made["squares"]).plus(sums["1"], square_shift(low, high))
        arrays += 1
    if "under" in law.products:
        products |= {name: LinearForm.array(arrays + k, made["clipped"]) for k, name in enumerate(("under", "over"))}
    return replace(
        law,
        sums=sums,
        products=products,
        ends={"x": (low, high)},
        centres={"x": Fraction(centre)},
        offset=centre * law.scale,
    )


# Of the error probability, the part that the mean between the bounds has; the rest is for numbers of rows.
_OF_MEAN = 0.8


def beside_clipped(sums: Sums, made: Estimated) -> Estimated:
    """The mean between learned bounds; where rows outside were counted, intervals allow for the declared bounds.

    A row below the lower bound would lower the mean by at most the distance of the two lower bounds, and so above. An
    eighth of the error probability that the mean leaves is for each of the four errors of these numbers of rows, and
    half for their total.
    """
    law, count = sums.law, sums.forms["1"]
    (low, high), (floor, ceiling), scale = law.ends["x"], law.more["tails"], float(law.scale)
    room = [low - floor, ceiling - high]

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        error = 1 - confidence
        inner = made.ends(1 - _OF_MEAN * error, is_sampling)
        tail = (1 - _OF_MEAN) * error / 8
        z = NormalDist().inv_cdf(1 - tail)
        fewest = np.maximum(count.values - NormalDist().inv_cdf(1 - 4 * tail) * np.sqrt(count.variance), 1.0)
        shares = []
        for name in ("under", "over"):
            cut = sums.measured.combined(law.products[name])
            most = np.maximum(cut.values + np.asarray(cut.exact_half(1 - 2 * tail)), 0.0)
            if is_sampling:
                # Rows come in numbers of up to so many at once: at most that multiple of a Poisson number.
                rows = sums.rows
                most = most + rows * z**2 / 2 + z * np.sqrt(rows * most + (rows * z) ** 2 / 4)
            shares.append(np.clip(most / fewest, 0.0, 1.0))
        return inner[0] - scale * room[0] * shares[0], inner[1] + scale * room[1] * shares[1]

    return replace(made, ends=ends, spread=None)
