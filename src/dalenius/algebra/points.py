"""Which points are selected at and beside quantiles, and their cuts: docs/reference/measurements/grid_selection.md.

Near is where the noise alone should let an interval end, far where noise and sampling together should, and farthest is
for the case that both fail; between two quantiles the next quantile is the farthest point.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, sqrt

from dalenius.algebra.ranks import PARTS, Step, levels, steps_of

# How many standard errors of a tested point its offset lies beyond what the test needs: near, far, farthest.
_BEYOND = (0.5, 1.25, 4.5)
_NORMAL = 1.959963984540054
_HALF = 2
# A share with a larger denominator is met by sixtieths of a record and a public shift.
_MOST_PARTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point of quantile `own`: `side` is -1 below it, 1 above, 0 itself; `ring` 1 near, 2 far, 3 farthest."""

    own: int
    side: int = 0
    ring: int = 0


@lru_cache(maxsize=128)
def points_of(count: int) -> tuple[Point, ...]:
    """All points of so many quantiles, in the order in which they rise.

    >>> [(point.side, point.ring) for point in points_of(1)]
    [(-1, 3), (-1, 2), (-1, 1), (0, 0), (1, 1), (1, 2), (1, 3)]
    """
    points: list[Point] = []
    for own in range(count):
        below = (3, 2, 1) if own == 0 else (2, 1)
        above = (1, 2, 3) if own == count - 1 else (1, 2)
        points += [Point(own=own, side=-1, ring=ring) for ring in below]
        points.append(Point(own=own))
        points += [Point(own=own, side=1, ring=ring) for ring in above]
    return tuple(points)


def cut_places(count: int) -> tuple[tuple[int, int], ...]:
    """(place of a point, steps above it) of every cut: below points under a quantile, above points over it."""
    places = []
    for place, point in enumerate(points_of(count)):
        places += [(place, 0)] if point.side <= 0 else []
        places += [(place, 1)] if point.side >= 0 else []
    return tuple(places)


def levels_beside(count: int) -> int:
    """In how many selections beside quantiles a record takes part."""
    return levels(3 if count == 1 else 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Standard deviations behind offsets: of one count between cuts, and of the released size (0: public).

    `sampling` is the expected variance of sampling of a rank, for each record, or for each step of weights, and over
    q (1 - q): far points are for noise and sampling together. 0 where there is none.
    """

    count: float
    size: float = 0.0
    sampling: float = 0.0


def offsets_of(
    qs: tuple[Fraction, ...], size: int, middle: Fraction, beside: Fraction, most: int, precision: Precision
) -> tuple[tuple[int, int, int], ...]:
    """How many records near, far and farthest are away from each quantile; epsilons are what one level loses a unit,
    whose rows count `most` together.
    """
    cuts, result = cut_places(len(qs)), []
    owns = [points_of(len(qs))[place] for place, _ in cuts]
    for own, q in enumerate(qs):
        share = float(q)
        under = sum(point.own < own or (point.own == own and point.side < 0) for point in owns) + 1
        over = len(cuts) + 1 - under
        rest = 1 - share
        noise = precision.count * precision.count * (rest * rest * under + share * share * over)
        selected = 2 * max(share, rest) * most / float(middle)
        chosen = 2 * most / float(beside)
        if len(qs) == 1:
            chosen, selected = chosen / 2, selected / 2
        moved = max(share, rest) * precision.size / 2
        error = sqrt(noise + 2 * chosen * chosen + 2 * selected * selected + moved * moved)
        sampling = precision.sampling * size * share * rest
        reaches = [_NORMAL * sqrt(noise), _NORMAL * sqrt(noise + sampling), _NORMAL * sqrt(noise + sampling)]
        near, far, farthest = (ceil(reach + beyond * error) for reach, beyond in zip(reaches, _BEYOND, strict=True))
        result.append((near, far, farthest))
    return tuple(result)


def point_steps(qs: tuple[Fraction, ...], size: int, offsets: Sequence[tuple[int, int, int]]) -> tuple[Step, ...]:
    """Every point once: quantiles level by level, then what stands beside them."""
    points = points_of(len(qs))
    middles = [place for place, point in enumerate(points) if not point.side]

    def between(left: int, right: int, level: int) -> list[Step]:
        """Points between two that were answered before."""
        if right - left < 2:
            return []
        target = (left + right) // 2
        point = points[target]

        def away(place: int) -> int | None:
            """How far another point of the same quantile is from it; None for those of others."""
            if not 0 <= place < len(points) or points[place].own != point.own:
                return None
            return offsets[point.own][points[place].ring - 1] if points[place].ring else 0

        own, other = (right, left) if point.side < 0 else (left, right)
        inner = away(own)
        assert inner is not None, "a point is selected beside another one of its quantile"
        distance = offsets[point.own][point.ring - 1] - inner
        beyond, share = away(other), qs[point.own] if point.side < 0 else 1 - qs[point.own]
        if beyond is not None:
            expected: int | None = beyond - inner
        elif other in (-1, len(points)):
            expected = max(int(share * size) - inner, 0)
        else:
            expected = None
        # By half of the values in between one row moves a score half as much; their number must be known roughly.
        part = 1 if expected is not None else _HALF if point.side < 0 else 0
        shift = -point.side * (expected or 0) + _HALF * point.side * distance
        step = Step(target=target, left=left, right=right, level=level, part=part, shift=shift, parts=_HALF)
        return [step, *between(left, target, level + 1), *between(target, right, level + 1)]

    steps = _middle_steps(qs, size, middles, len(points))
    for left, right in pairwise([-1, *middles, len(points)]):
        steps += between(left, right, levels(len(qs)))
    return tuple(sorted(steps, key=lambda step: (step.level, step.target)))


def _middle_steps(qs: tuple[Fraction, ...], size: int, middles: Sequence[int], count: int) -> list[Step]:
    """The quantiles themselves; one alone at exactly its share of the records."""
    if len(qs) == 1 and qs[0].denominator <= _MOST_PARTS:
        (q,) = qs
        return [Step(target=middles[0], left=-1, right=count, level=0, part=q.numerator, shift=0, parts=q.denominator)]
    place = {-1: -1, len(qs): count} | dict(enumerate(middles))
    return [
        Step(
            target=place[step.target],
            left=place[step.left],
            right=place[step.right],
            level=step.level,
            part=step.part,
            shift=step.shift,
        )
        for step in steps_of([round(q * size) for q in qs], size)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointTargets:
    """Quantiles and the points beside them: two kinds of levels, each with a loss of its own."""

    qs: tuple[Fraction, ...]
    precision: Precision
    is_whole: bool = False

    @property
    def count(self) -> int:
        return len(points_of(len(self.qs)))

    @property
    def levels(self) -> tuple[int, int]:
        """In how many selections of quantiles, and of points beside them, a record takes part."""
        return levels(len(self.qs)), levels_beside(len(self.qs))

    @property
    def moves(self) -> tuple[tuple[int, ...], ...]:
        """By how many parts a row moves a score of a quantile, and of a point beside it."""
        (first, *others) = self.qs
        is_exact = not others and first.denominator <= _MOST_PARTS
        most = max(first.numerator, first.denominator - first.numerator) if is_exact else PARTS - 1
        return (most, -(-most // 2)), (_HALF, 1)

    def offsets(self, size: int, epsilons: tuple[Fraction, ...], most: int) -> tuple[tuple[int, int, int], ...]:
        """How many records the points are away from the quantiles."""
        middle, beside = epsilons
        return offsets_of(self.qs, max(size, 1), middle, beside, most, self.precision)

    def steps(self, size: int, epsilons: tuple[Fraction, ...], most: int) -> tuple[Step, ...]:
        """Quantiles first, then what stands beside them."""
        return point_steps(self.qs, max(size, 1), self.offsets(size, epsilons, most))
