"""Points at and beside quantiles: each beside its own, in order, and none that a record meets twice in a level."""

from fractions import Fraction
from itertools import pairwise

import pytest

from dalenius.algebra.points import Precision, cut_places, levels_beside, offsets_of, point_steps, points_of
from dalenius.algebra.ranks import levels

HALF = (Fraction(1, 2),)


def shares(count: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(k, count + 1) for k in range(1, count + 1))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9, 99])
def test_no_record_takes_part_in_more_selections_than_are_paid_for(count: int) -> None:
    steps = point_steps(shares(count), 10_000, [(5, 20, 60)] * count)
    points = points_of(count)
    assert sorted(step.target for step in steps) == list(range(len(points)))
    depth = {-1: 0, len(points): 0}
    for step in steps:
        assert step.left < step.target < step.right
        depth[step.target] = 1 + max(depth[step.left], depth[step.right])
        # Parts of one level are disjoint: whoever is in one of them was in one part of every level before.
        assert step.level + 1 >= depth[step.target]
    assert max(step.level for step in steps) + 1 == levels(count) + levels_beside(count)
    by_level: dict[int, list[tuple[int, int]]] = {}
    for step in steps:
        by_level.setdefault(step.level, []).append((step.left, step.right))
    for parts in by_level.values():
        ends = sorted(parts)
        assert all(a[1] <= b[0] for a, b in pairwise(ends))


def test_ranks_are_those_of_the_offsets_in_evenly_spread_records() -> None:
    """If every answer before stands at its rank, the next rank is the one that was meant."""
    for qs in (HALF, shares(3), (Fraction(1, 10), Fraction(9, 10))):
        n, offsets = 10_000, [(7, 40, 90)] * len(qs)
        points = points_of(len(qs))

        def rank(place: int, qs: tuple[Fraction, ...] = qs, points: tuple = points) -> Fraction:  # type: ignore[type-arg]
            if not 0 <= place < len(points):
                return Fraction(0 if place < 0 else 10_000)
            point = points[place]
            away = (0, 7, 40, 90)[point.ring] * point.side
            return qs[point.own] * 10_000 + away

        for step in point_steps(qs, n, offsets):
            between = rank(step.right) - rank(step.left)
            met = rank(step.left) + Fraction(step.part * between + step.shift, step.parts)
            assert abs(met - rank(step.target)) <= 1, step


def test_offsets_follow_public_numbers_and_grow_with_what_they_must_cover() -> None:
    def offsets(**other: object) -> tuple[int, int, int]:
        numbers = {"count": 10.0, "size": 20.0, "sampling": 1.0} | other
        return offsets_of(HALF, 8000, Fraction(1, 4), Fraction(1, 10), 1, Precision(**numbers))[0]  # type: ignore[arg-type]

    near, far, farthest = offsets()
    assert near < far < farthest
    assert offsets(count=30.0) > offsets() > offsets(size=0.0)
    assert offsets(sampling=0.0)[1] < far
    # 1.96 sqrt(8000 / 4) is 88 records.
    assert 88 < far < 160


def test_cuts_stand_below_lower_points_and_above_upper_ones() -> None:
    assert cut_places(1) == ((0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (4, 1), (5, 1), (6, 1))
