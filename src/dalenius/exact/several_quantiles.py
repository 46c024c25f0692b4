"""Several quantiles of one list by exact selection: the middle one first, then those on either side of it.

Targets are public ranks, and `algebra/ranks.py` says in which order they are asked for. Between two targets that were
answered before, a third one is a rank among the values in between, at the share at which it lies between them; so each
level of the recursion works on disjoint parts of the data, and a record takes part in one selection of each level.
Weights are whole numbers; no floating point touches the data.

References: Kaplan, Schnapp & Stemmer (2022), with the tie-aware score of `quantile_selection`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np

from dalenius.core.law import IntArray
from dalenius.core.randomness import RandomSource
from dalenius.exact.quantile_selection import Aim, Records, Score, Weights, drawn_point, score_runs, score_weights

# Grains by which one row may move a score, where records count by weights: rounding costs a part in so many.
_MOST_MOVES = 32


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


def grain_of(parts: int, heaviest: int) -> int:
    """The public unit in which scores are written, where a row moves them by so many parts of `heaviest`."""
    return 1 if heaviest == 1 else -(-parts * heaviest // _MOST_MOVES)


def row_moves(parts: int, heaviest: int) -> int:
    """By how many grains one row moves a score; rounding down may add one."""
    return -(-parts * heaviest // grain_of(parts, heaviest))


def largest_part(step: RankStep) -> int:
    """By how many parts of itself a record moves a score."""
    return max(step.part, step.parts - step.part)


def score_moves(step: RankStep, most: int, heaviest: int = 1) -> Fraction:
    """How far a unit moves all scores together when its rows are added to the values of a level, or removed.

    `most` is the number of its rows, each of which counts at most `heaviest`. Rows are rounded one by one, because they
    may be in several parts.
    """
    return Fraction(most * row_moves(largest_part(step), heaviest))


def part_of(records: Records, step: RankStep, answers: Mapping[int, int], count: int, *, is_open: bool) -> Records:
    """The records between two answers: a record is in at most one part of each level, by its own value.

    Values at an answer are in no later part where `is_open`, and in the part above it elsewhere.
    """
    side: Literal["left", "right"] = "right" if is_open else "left"
    values = records.values
    first = 0 if step.left == -1 else int(np.searchsorted(values, answers[step.left], side=side))
    last = len(values) if step.right == count else int(np.searchsorted(values, answers[step.right], side="left"))
    return records.between(min(first, last), last)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSelection:
    """How several ranks of a list are selected between two bounds.

    `epsilons` are the losses of the levels when a unit's rows are added or removed, `most` is the number of these rows
    and `heaviest` what one of them counts at most.
    """

    low: int
    high: int
    steps: Sequence[RankStep]
    epsilons: Sequence[Fraction]
    most: int
    score: Score = Score.DISTANCE
    heaviest: int = 1

    @property
    def is_open(self) -> bool:
        """Whether values at an answer are in no later part: by depth an answer is a value of many records."""
        return self.score is Score.DEPTH

    def weights(self, step: RankStep) -> Weights:
        """By the score of a point; made for the loss of the step's level."""
        moved = score_moves(step, self.most, self.heaviest)
        return score_weights(self.epsilons[step.level], moved, self.low, self.high, self.score)

    def grain(self, step: RankStep) -> int:
        return grain_of(largest_part(step), self.heaviest)

    def aim(self, part: Records, step: RankStep, w: Weights) -> Aim:
        rank = step.part * part.total + step.shift
        return Aim(parts=step.parts, rank=rank, depth=w.depth, grain=self.grain(step))

    def draw(self, lists: Sequence[Records], rng: RandomSource) -> list[int]:
        """One grid point per target, in the order of the targets; each step selects from a list of its own place."""
        count = len(self.steps)
        answers: dict[int, int] = {-1: self.low, count: self.high}
        for step, records in zip(self.steps, lists, strict=True):
            part, w = part_of(records, step, answers, count, is_open=self.is_open), self.weights(step)
            aim = self.aim(part, step, w)
            runs = score_runs(part, answers[step.left], answers[step.right], aim, len(w) - 1)
            answers[step.target] = drawn_point(runs, w, rng)
        return [answers[i] for i in range(count)]


def spread(values: IntArray, fineness: int, rng: RandomSource) -> IntArray:
    """Values on a grid `fineness` (a power of two up to 256) times finer, each moved by a uniform part of a step.

    Records that share a value can then be parted by rank; what is done to a record depends on no other record.
    """
    if fineness == 1:
        return values
    parts = np.frombuffer(rng.bytes(len(values)), dtype=np.uint8).astype(np.int64) % fineness
    return values * fineness + parts
