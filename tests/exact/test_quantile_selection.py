"""A selection gives every grid point exactly its weight: every possible draw is made once."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dalenius.audit.sensitivity import multisets, neighbours_of
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.exact import quantile_selection
from dalenius.exact.order_statistics import rational_base

LONG = [0] * 3 + [1] * 5 + [3] * 7 + [4] * 2


@pytest.mark.parametrize("depth", [0, 3])
@pytest.mark.parametrize("is_in_digits", [False, True])
@pytest.mark.parametrize("values", [[], [2], [0, 2, 2], [4, 4], [0, 1, 3, 4], LONG], ids=str)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_every_draw_together_is_the_exact_law(
    values: list[int], q: Fraction, is_in_digits: bool, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = np.array(values, dtype=np.int64)
    weights: tuple[int, ...] = (7, 3, 2, 1)
    if depth:
        weights = quantile_selection.Weights((40, 17, 11, *weights))
        weights.depth = depth
        if not is_in_digits:
            monkeypatch.setattr(quantile_selection, "_SAFE", 0)
    elif is_in_digits:
        weights = quantile_selection.Weights(weights)
    law = quantile_selection.probabilities(data, 0, 4, q, weights)
    total = 1
    seen: Counter[int] = Counter()
    draw = 0
    while draw < total:

        def planned(rng: object, bound: int, draw: int = draw) -> int:
            nonlocal total
            total = bound
            return draw

        monkeypatch.setattr(quantile_selection, "below", planned)
        seen[quantile_selection.select(data, 0, 4, q, weights, RecordedRandomness(0))] += 1
        draw += 1
    assert [Fraction(seen[y], total) for y in range(5)] == law


@pytest.mark.parametrize("rank", [-50, 0, 37, 60, 600, 1019, 5000])
@pytest.mark.parametrize("reach", [1, 30, 59, 61, 400])
@pytest.mark.parametrize("depth", [0, 50])
def test_runs_beyond_reach_are_put_together_and_no_other_score_changes(rank: int, reach: int, depth: int) -> None:
    ordered = np.sort(np.random.default_rng(3).integers(0, 12, 17)) * 3
    reach += depth
    whole = quantile_selection.score_runs(ordered, -2, 40, 60, rank, depth=depth)
    near = quantile_selection.score_runs(ordered, -2, 40, 60, rank, reach, depth)
    by_point = [
        {y: min(s, reach) for a, b, s in zip(*(part.tolist() for part in runs), strict=True) for y in range(a, b + 1)}
        for runs in (whole, near)
    ]
    assert by_point[0] == by_point[1] and list(by_point[1]) == list(range(-2, 41))


def test_sums_in_digits_are_those_of_whole_numbers() -> None:
    weights = quantile_selection.score_weights(Fraction(1, 7), Fraction(30), 0, 10**6)
    sizes, places = np.array([1, 10**6, 3, 77]), np.array([5, 0, len(weights) - 1, 900])
    digits, plain = (quantile_selection._sums(11, sizes, places, w) for w in (weights, tuple(weights)))
    assert [digits[k] for k in range(5)] == plain


SCORES = (quantile_selection.Score.DISTANCE, quantile_selection.Score.DEPTH)


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
    change = quantile_selection.score_change(q, is_replace=is_replace, rows=1)
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


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 2), Fraction(7)], ids=str)
def test_weights_by_depth_go_on_above_those_by_distance_at_the_same_rate(epsilon: Fraction) -> None:
    base = rational_base(epsilon / 4)
    distance, depth = (quantile_selection.score_weights(epsilon, Fraction(2), 0, 10**6, s) for s in SCORES)
    assert tuple(depth[depth.depth :]) == tuple(distance) and depth.depth > 0
    for above, below in pairwise(depth):
        assert above * base <= below <= above
    # All other points together weigh less than one in 2^40 of an atom that is as deep as it counts.
    assert depth[0] >= distance[0] * 10**6 << 40
    # The widest grid that can be declared has weights too.
    assert quantile_selection.score_weights(epsilon, Fraction(2), -(2**62), 2**62, SCORES[1]).depth


def test_the_odds_of_the_sample_quantile_only_grow_by_depth() -> None:
    by_distance, by_depth = (quantile_selection.score_weights(Fraction(1, 2), Fraction(2), 0, 4, s) for s in SCORES)
    for data in multisets(range(5), 5):
        values = np.array(data, dtype=np.int64)
        one, other = (
            quantile_selection.probabilities(values, 0, 4, Fraction(1, 2), w) for w in (by_distance, by_depth)
        )
        true = data[2]
        assert other[true] > one[true]
        rest = {o / p for y, (p, o) in enumerate(zip(one, other, strict=True)) if y != true}
        assert len(rest) == 1, "no other odds change"
