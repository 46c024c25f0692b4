"""In which order several ranks of one list are asked for: the middle one first, then those on either side of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

# Shares between two ranks are whole sixtieths: quartiles, deciles and their halves are met exactly, others by a shift.
PARTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One selection: of a target between two answered before (-1: the lower bound, their number: the upper one).

    Among the n' values in between its rank is (part * n' + shift) / parts. `level` counts from 0; a record takes part
    in one selection of each level.
    """

    target: int
    left: int
    right: int
    level: int
    part: int
    shift: int
    parts: int = PARTS

    @property
    def share(self) -> Fraction:
        return Fraction(self.part, self.parts)


def steps_of(ranks: Sequence[int], size: int) -> tuple[Step, ...]:
    """Every rank once, level by level; ranks rise, and `size` is the public or released number of values.

    >>> [(step.target, step.part) for step in steps_of([25, 50, 75], 100)]
    [(1, 30), (0, 30), (2, 30)]
    """
    count = len(ranks)

    def rank(place: int) -> int:
        return 0 if place < 0 else size if place == count else ranks[place]

    def between(left: int, right: int, level: int) -> list[Step]:
        if right - left < 2:
            return []
        middle = (left + right) // 2
        width, height = rank(right) - rank(left), rank(middle) - rank(left)
        part = min(max(round(PARTS * height / width), 1), PARTS - 1) if width > 0 else PARTS // 2
        first = Step(target=middle, left=left, right=right, level=level, part=part, shift=PARTS * height - part * width)
        return [first, *between(left, middle, level + 1), *between(middle, right, level + 1)]

    return tuple(sorted(between(-1, count, 0), key=lambda step: (step.level, step.target)))


def levels(count: int) -> int:
    """In how many selections one record takes part.

    >>> levels(1), levels(3), levels(9), levels(27)
    (1, 2, 4, 5)
    """
    return count.bit_length()


class Targets(Protocol):
    """Public ranks that are selected in every list.

    A record takes part in as many selections as there are `levels`, which may be of several kinds; `moves` are the
    parts of a record by which a row may move the scores of each kind, and `is_whole` says that every selection is of
    the whole list.
    """

    @property
    def qs(self) -> tuple[Fraction, ...]: ...
    @property
    def count(self) -> int: ...
    @property
    def levels(self) -> tuple[int, ...]: ...
    @property
    def moves(self) -> tuple[tuple[int, ...], ...]: ...
    @property
    def is_whole(self) -> bool: ...
    def steps(self, size: int, epsilons: tuple[Fraction, ...], most: int) -> tuple[Step, ...]:
        """In a list of a public or released size; epsilons are losses of one level of each kind, `most` a unit's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeList:
    """Quantiles that are selected from the whole list, each by itself at exactly its share."""

    qs: tuple[Fraction, ...]
    is_whole: bool = True

    @property
    def count(self) -> int:
        return len(self.qs)

    @property
    def levels(self) -> tuple[int]:
        return (len(self.qs),)

    @property
    def moves(self) -> tuple[tuple[int, ...]]:
        """In parts of the denominator of each share."""
        return (tuple(max(q.numerator, q.denominator - q.numerator) for q in self.qs),)

    def steps(self, size: int, epsilons: tuple[Fraction, ...], most: int) -> tuple[Step, ...]:
        ends = {"left": -1, "right": len(self.qs), "shift": 0}
        return tuple(
            Step(target=k, level=k, part=q.numerator, parts=q.denominator, **ends) for k, q in enumerate(self.qs)
        )
