"""Several quantiles of one list by exact selection: the middle one first, then those on either side of it.

Targets are public ranks, and `algebra/ranks.py` says in which order they are asked for. Between two targets that were
answered before, a third one is a rank among the values in between, at the share at which it lies between them; so each
level of the recursion works on disjoint parts of the data, and a record takes part in one selection of each level.
Weights are whole numbers; no floating point touches the data.

References: Kaplan, Schnapp & Stemmer (2022), with the tie-aware score of `quantile_selection`.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np

from dalenius.core.law import IntArray
from dalenius.core.randomness import RandomSource
from dalenius.exact.quantile_selection import Runs, Score, Weights, drawn_point, score_runs, score_weights


class RankStep(Protocol):
    """One selection: of which target, between which answered ones (-1: the lower bound, their number: the upper bound).

    A record takes part in one selection of each `level`. Among the n' values in between the rank of the target is
    (part * n' + shift) / parts, with a public shift. Ranks are counted in parts of a record, so that scores are whole.
    """

    @property
    def target(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def right(self) -> int: ...
    @property
    def level(self) -> int: ...
    @property
    def part(self) -> int: ...
    @property
    def parts(self) -> int: ...
    @property
    def shift(self) -> int: ...


def score_moves(step: RankStep, rows: int) -> Fraction:
    """How far a unit's rows move every score when they are added to the values of one selection, or removed."""
    return Fraction(max(step.part, step.parts - step.part) * rows)


def _part(ordered: IntArray, step: RankStep, answers: dict[int, int], count: int, *, is_open: bool) -> IntArray:
    """The values between two answers: a record is in at most one part of each level, by its own value.

    Values at an answer are in no later part where `is_open`, and in the part above it elsewhere.
    """
    side: Literal["left", "right"] = "right" if is_open else "left"
    first = 0 if step.left == -1 else int(np.searchsorted(ordered, answers[step.left], side=side))
    last = len(ordered) if step.right == count else int(np.searchsorted(ordered, answers[step.right], side="left"))
    return ordered[min(first, last) : last]


def select_all(
    values: IntArray,
    low: int,
    high: int,
    steps: Sequence[RankStep],
    epsilons: Sequence[Fraction],
    rows: int,
    rng: RandomSource,
    *,
    score: Score = Score.DISTANCE,
    is_open: bool = False,
) -> list[int]:
    """One grid point per target, in the order of the targets, never falling; `epsilons` are the levels' losses."""
    count = len(steps)
    answers: dict[int, int] = {-1: low, count: high}
    # Lists come nearly in order, which a stable sort makes use of.
    ordered = np.sort(np.clip(values, low, high), kind="stable")
    for step in steps:
        w = score_weights(epsilons[step.level], score_moves(step, rows), low, high, score)
        part = _part(ordered, step, answers, count, is_open=is_open)
        answers[step.target] = choose(part, answers[step.left], answers[step.right], step, w, rng)
    return [answers[i] for i in range(count)]


def spread(values: IntArray, fineness: int, rng: RandomSource) -> IntArray:
    """Values on a grid `fineness` (a power of two up to 256) times finer, each moved by a uniform part of a step.

    Records that share a value can then be parted by rank; what is done to a record depends on no other record.
    """
    if fineness == 1:
        return values
    parts = np.frombuffer(rng.bytes(len(values)), dtype=np.uint8).astype(np.int64) % fineness
    return values * fineness + parts


def runs(ordered: IntArray, low: int, high: int, aim: RankStep, reach: int | None = None, depth: int = 0) -> Runs:
    """(first, last, score) of maximal runs of grid points with equal counts below and up to; merged beyond `reach`."""
    return score_runs(ordered, low, high, aim.parts, aim.part * len(ordered) + aim.shift, reach, depth)


def choose(ordered: IntArray, low: int, high: int, aim: RankStep, w: Weights, rng: RandomSource) -> int:
    """One grid point in [low, high], drawn with probability proportional to its weight."""
    return drawn_point(runs(ordered, low, high, aim, len(w) - 1, w.depth), w, rng)
