"""A selection gives every grid point exactly its weight: every possible draw is made once."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from dalenius.algebra.ranks import WholeList
from dalenius.audit.sensitivity import multisets, neighbours_of
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.rationals import exp_upper
from dalenius.exact import quantile_selection
from dalenius.exact.order_statistics import rational_base
from dalenius.exact.quantile_selection import Aim, Records, Score, Weights, drawn_point, score_runs, score_weights
from dalenius.exact.several_quantiles import grain_of, largest_part, score_moves

LONG = [0] * 3 + [1] * 5 + [3] * 7 + [4] * 2
Law = dict[int, Fraction]


def aim_at(records: Records, q: Fraction, weights: Weights, grain: int = 1) -> Aim:
    return Aim(parts=q.denominator, rank=q.numerator * records.total, depth=weights.depth, grain=grain)


def probabilities(values: Sequence[int], q: Fraction, weights: Weights, most: int = 4) -> Law:
    """From the definition of the score."""
    n, a, b = len(values), q.numerator, q.denominator
    ends = [(b * sum(x < y for x in values) - a * n, a * n - b * sum(x <= y for x in values)) for y in range(most + 1)]
    odds = [weights[min(max(*pair, -weights.depth) + weights.depth, len(weights) - 1)] for pair in ends]
    return {y: Fraction(odd, sum(odds)) for y, odd in enumerate(odds)}


def every_draw(draw: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> Law:
    """What is selected by every possible draw of one integer, each made once."""
    total, seen, number = 1, Counter[int](), 0
    while number < total:

        def planned(rng: object, bound: int, number: int = number) -> int:
            nonlocal total
            total = bound
            return number

        monkeypatch.setattr(quantile_selection, "below", planned)
        seen[draw()] += 1
        number += 1
    return {y: Fraction(many, total) for y, many in seen.items()}


@pytest.mark.parametrize("depth", [0, 3])
@pytest.mark.parametrize("is_in_digits", [False, True])
@pytest.mark.parametrize("values", [[], [2], [0, 2, 2], [4, 4], [0, 1, 3, 4], LONG], ids=str)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_every_draw_together_is_the_exact_law(
    values: list[int], q: Fraction, is_in_digits: bool, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = Weights((40, 17, 11, 7, 3, 2, 1)[3 - depth :])
    weights.depth = depth
    if not is_in_digits:
        monkeypatch.setattr(quantile_selection, "_SAFE", 0)
    records = Records.of(np.array(values, dtype=np.int64))
    runs = score_runs(records, 0, 4, aim_at(records, q, weights), len(weights) - 1)
    drawn = every_draw(lambda: drawn_point(runs, weights, RecordedRandomness(0)), monkeypatch)
    assert drawn == probabilities(values, q, weights)


@pytest.mark.parametrize("grain", [1, 2, 5])
@pytest.mark.parametrize("depth", [0, 3])
def test_weights_of_records_count_as_so_many_records(grain: int, depth: int) -> None:
    """Whole weights are repeated values; a score in grains is the score divided and rounded down."""
    values, counts = np.array([3, 0, 1, 4, 3]), np.array([2, 3, 5, 2, 5])
    weighted, repeated = Records.of(values, counts), Records.of(np.repeat(values, counts))
    for q, reach in product((Fraction(1, 2), Fraction(9, 10)), (None, 2 + depth, 40 + depth)):
        aim = Aim(parts=q.denominator, rank=q.numerator * weighted.total, depth=depth, grain=grain)
        plain = score_runs(repeated, -1, 6, replace(aim, depth=10**6, grain=1))
        exact = {y: max(-depth, (s - 10**6) // grain) + depth for y, s in by_point(plain).items()}
        for records in (weighted, repeated):
            found = by_point(score_runs(records, -1, 6, aim, reach))
            assert found.keys() == exact.keys()
            assert all(min(found[y], reach or 10**9) == min(s, reach or 10**9) for y, s in exact.items())


@pytest.mark.parametrize("factor", [2**40, 2**58, 2**61])
@pytest.mark.parametrize("reach", [None, 5, 400])
def test_scores_of_weights_whose_sums_leave_64_bits_are_those_of_small_ones(factor: int, reach: int | None) -> None:
    """Weights and grain that are so many times as large give the same scores, whatever the sums come to."""
    values, counts = np.array([3, 0, 1, 4, 3, 0, 6]), np.array([1, 0, 2, 3, 3, 1, 2])
    for q, shift in product((Fraction(1, 2), Fraction(99, 100)), (0, -7, 40)):
        found = []
        for many in (1, factor):
            records = Records.of(values, counts * many)
            rank = q.numerator * records.total + shift * many
            aim = Aim(parts=q.denominator, rank=rank, depth=3, grain=many)
            scores = by_point(score_runs(records, -1, 7, aim, reach))
            found.append({y: min(s, reach or s) for y, s in scores.items()})
        assert found[0] == found[1]


def by_point(runs: quantile_selection.Runs) -> dict[int, int]:
    return {y: s for a, b, s in zip(*(part.tolist() for part in runs), strict=True) for y in range(a, b + 1)}


@pytest.mark.parametrize("rank", [-50, 0, 37, 60, 600, 1019, 5000])
@pytest.mark.parametrize("reach", [1, 30, 59, 61, 400])
@pytest.mark.parametrize("depth", [0, 50])
def test_runs_beyond_reach_are_put_together_and_no_other_score_changes(rank: int, reach: int, depth: int) -> None:
    records = Records.of(np.random.default_rng(3).integers(0, 12, 17) * 3)
    reach, aim = reach + depth, Aim(parts=60, rank=rank, depth=depth)
    whole, near = (by_point(score_runs(records, -2, 40, aim, within)) for within in (None, reach))
    assert list(near) == list(range(-2, 41))
    assert {y: min(s, reach) for y, s in whole.items()} == {y: min(s, reach) for y, s in near.items()}


def test_sums_in_digits_are_those_of_whole_numbers() -> None:
    weights = score_weights(Fraction(1, 7), Fraction(30), 0, 10**6)
    sizes, places = np.array([1, 10**6, 3, 77]), np.array([5, 0, len(weights) - 1, 900])
    digits, plain = (quantile_selection._sums(11, sizes, places, w) for w in (weights, tuple(weights)))
    assert [digits[k] for k in range(5)] == plain


SCORES = (Score.DISTANCE, Score.DEPTH)


def scores(values: tuple[int, ...], y: int, q: Fraction, least: int | None) -> int:
    """The score from its definition; by depth it has no least value."""
    n, a, b = len(values), q.numerator, q.denominator
    parts = (b * sum(x < y for x in values) - a * n, a * n - b * sum(x <= y for x in values))
    return max(parts) if least is None else max(least, *parts)


@pytest.mark.parametrize("is_replace", [False, True])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)], ids=str)
def test_both_scores_move_by_the_same_and_agree_outside_the_atom_that_holds_the_quantile(
    q: Fraction, is_replace: bool
) -> None:
    (step,) = WholeList(qs=(q,)).steps(0, (), 1)
    change = step.parts if is_replace else score_moves(step, 1)
    relation = Relation.REPLACE if is_replace else Relation.ADD_REMOVE
    most = dict.fromkeys((0, -3, None), 0)
    for n in range(6):
        for data in multisets((0, 1, 2), n):
            deep = [y for y in range(3) if scores(data, y, q, None) < 0]
            assert len(deep) <= 1
            for y in range(3):
                assert scores(data, y, q, 0) == scores(data, y, q, None) or deep == [y]
                for other in neighbours_of(data, (0, 1, 2), relation):
                    for least in most:
                        moved = abs(scores(data, y, q, least) - scores(other, y, q, least))
                        most[least] = max(most[least], moved)
    assert most[None] == change, "half of it would be seen to be false"
    assert max(most.values()) <= change


@pytest.mark.parametrize(("heaviest", "grain"), [(1, 1), (3, 1), (11, 2), (41, 4), (65, 7)])
def test_a_unit_moves_a_score_in_grains_by_no_more_than_is_stated(heaviest: int, grain: int) -> None:
    """Every list of at most three weighted records, and one more with any weight."""
    (step,) = WholeList(qs=(Fraction(1, 4),)).steps(0, (), 1)
    assert grain_of(largest_part(step), heaviest) == grain
    stated, reached = score_moves(step, 1, heaviest), 0
    rows = [(x, w) for x in range(3) for w in {0, 1, heaviest // 2, heaviest}]
    for data in (each for n in range(4) for each in multisets(rows, n)):
        for row in rows:
            found = []
            for records in (data, (*data, row)):
                columns = np.array(records, dtype=np.int64).reshape(-1, 2).T
                listed = Records.of(*columns)
                aim = Aim(parts=4, rank=listed.total, depth=100, grain=grain)
                found.append(by_point(score_runs(listed, 0, 2, aim)))
            reached = max(reached, *(abs(found[0][y] - found[1][y]) for y in range(3)))
    assert reached == stated


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 2), Fraction(7)], ids=str)
def test_weights_by_depth_go_on_above_those_by_distance_at_the_same_rate(epsilon: Fraction) -> None:
    base = rational_base(epsilon / 4)
    distance, depth = (score_weights(epsilon, Fraction(2), 0, 10**6, s) for s in SCORES)
    assert tuple(depth[depth.depth :]) == tuple(distance) and depth.depth > 0
    for above, below in pairwise(depth):
        assert above * base <= below <= above
    # All other points together weigh less than one in 2^40 of an atom that is as deep as it counts.
    assert depth[0] >= distance[0] * 10**6 << 40
    # The widest grid that can be declared has weights too.
    assert score_weights(epsilon, Fraction(2), -(2**62), 2**62, SCORES[1]).depth


def test_weights_follow_the_exponential() -> None:
    w = score_weights(Fraction(1), Fraction(1), 0, 1000)
    assert float(Fraction(w[1], w[0])) == pytest.approx(np.exp(-0.5), rel=1e-15)
    assert w[1] * exp_upper(Fraction(1, 2)) >= w[0]


def test_the_odds_of_the_sample_quantile_only_grow_by_depth() -> None:
    weights = [score_weights(Fraction(1, 2), Fraction(2), 0, 4, s) for s in SCORES]
    for data in multisets(range(5), 5):
        one, other = (probabilities(data, Fraction(1, 2), w) for w in weights)
        true = data[2]
        assert other[true] > one[true]
        assert len({other[y] / one[y] for y in range(5) if y != true}) == 1, "no other odds change"


def test_lists_of_weights_that_are_kept_do_not_fill_the_memory() -> None:
    """However many an epsilon is asked for: of the longest few, and all that can be kept fit into two gigabytes."""
    most = 0
    for cache, rate in (
        (quantile_selection._many, quantile_selection._RATE_OF_MANY),
        (quantile_selection._some, quantile_selection._RATE_OF_SOME),
        (quantile_selection._few, quantile_selection._LEAST_RATE),
    ):
        # A rate of a tenth, and so a list of a tenth and of numbers as large, for the time that the longest take.
        w = quantile_selection._score_weights(10 * rate, Fraction(1), -(2**52), 2**52, Score.DEPTH)
        size = sum(map(sys.getsizeof, w)) + 8 * len(w) + w.limbs.nbytes
        most += 10 * size * cache.cache_info().maxsize
    assert most < 2 * 10**9
    before = quantile_selection._few.cache_info().misses
    score_weights(Fraction(1, 2000), Fraction(1), 0, 1, Score.DEPTH)
    assert quantile_selection._few.cache_info().misses == before + 1
