"""How far the exact answers of a whole request can move between neighbours.

`patterns` lists the extreme ways in which single cells can move: each is a tuple of absolute integer shifts of
the cells that change, and every possible move is dominated by one of them (cell by cell, after relabelling).
Exact losses of finite-support noise are computed from patterns; the norms are enough for everything else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt

from dalenius.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Norms of the largest change; `l2_squared` keeps the Euclidean one rational."""

    l0: int
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    patterns: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        if self.l0 < 0 or min(self.l1, self.l2_squared, self.linf) < 0:
            raise ParameterError("a sensitivity is never negative")

    @classmethod
    def of_patterns(cls, patterns: tuple[tuple[int, ...], ...]) -> "Sensitivity":
        """From an exhaustive list of extreme moves."""
        moves = tuple(tuple(sorted((abs(s) for s in p if s), reverse=True)) for p in patterns)
        moves = tuple(sorted(set(moves)))
        return cls(
            l0=max((len(p) for p in moves), default=0),
            l1=Fraction(max((sum(p) for p in moves), default=0)),
            l2_squared=Fraction(max((sum(s * s for s in p) for p in moves), default=0)),
            linf=Fraction(max((max(p) for p in moves if p), default=0)),
            patterns=moves,
        )

    @classmethod
    def norms(cls, *, l0: int, l1: int | Fraction, l2_squared: int | Fraction, linf: int | Fraction) -> "Sensitivity":
        return cls(l0=l0, l1=Fraction(l1), l2_squared=Fraction(l2_squared), linf=Fraction(linf))

    def times(self, factor: int) -> "Sensitivity":
        """The same answers on a grid `factor` times finer."""
        patterns = self.patterns and tuple(tuple(s * factor for s in p) for p in self.patterns)
        l1, l2_squared, linf = self.l1 * factor, self.l2_squared * factor * factor, self.linf * factor
        return Sensitivity(l0=self.l0, l1=l1, l2_squared=l2_squared, linf=linf, patterns=patterns)

    def halved(self, halvings: int) -> "Sensitivity":
        """The same sums, each released as floor((sum + c / 2) / c) with c = 2**halvings.

        Two whole numbers a and b give |floor(a / c) - floor(b / c)| <= ceil(|a - b| / c) <= (|a - b| + c - 1) / c,
        whatever public number was added to both before. A coordinate that does not move stays, so that at most `l0`
        coordinates gain (c - 1) / c each: in the l1 norm, and by Minkowski in the l2 norm. What moves is whole, so that
        norms are rounded down to whole numbers again. Requires: whole moves, and an `l0` that counts all coordinates
        that one unit can move at once.
        """
        if not halvings:
            return self
        c = 2**halvings
        if self.patterns is not None:
            return Sensitivity.of_patterns(tuple(tuple(-(-move // c) for move in p) for p in self.patterns))
        gained, square = self.l0 * (c - 1) ** 2, ceil(self.l2_squared)
        return Sensitivity.norms(
            l0=self.l0,
            l1=(self.l1 + self.l0 * (c - 1)) // c,
            # The root of what is no square is rounded up.
            l2_squared=(square + gained + isqrt(4 * square * gained) + 1) // c**2,
            linf=ceil(self.linf / c),
        )


def partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """The ways in which `total` rows of a person can fall into cells, largest first.

    >>> list(partitions(3))
    [(3,), (2, 1), (1, 1, 1)]
    """
    if total == 0:
        yield ()
        return
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)
