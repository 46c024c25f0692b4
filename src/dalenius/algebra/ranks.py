"""In which order several ranks of one list are asked for: the middle one first, then those on either side of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

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
        """How far it lies between the two."""
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
