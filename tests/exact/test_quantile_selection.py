"""A selection gives every grid point exactly its weight: every possible draw is made once."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact import quantile_selection

LONG = [0] * 3 + [1] * 5 + [3] * 7 + [4] * 2


@pytest.mark.parametrize("is_in_digits", [False, True])
@pytest.mark.parametrize("values", [[], [2], [0, 2, 2], [4, 4], [0, 1, 3, 4], LONG], ids=str)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_every_draw_together_is_the_exact_law(
    values: list[int], q: Fraction, is_in_digits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = np.array(values, dtype=np.int64)
    weights: tuple[int, ...] = (7, 3, 2, 1)
    if is_in_digits:
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
def test_runs_beyond_reach_are_put_together_and_no_other_score_changes(rank: int, reach: int) -> None:
    ordered = np.sort(np.random.default_rng(3).integers(0, 12, 17)) * 3
    whole = quantile_selection.score_runs(ordered, -2, 40, 60, rank)
    near = quantile_selection.score_runs(ordered, -2, 40, 60, rank, reach)
    by_point = [
        {
            y: min(s, reach)
            for a, b, s in zip(*(part.tolist() for part in runs), strict=True)
            for y in range(a, b + 1)
        }
        for runs in (whole, near)
    ]
    assert by_point[0] == by_point[1] and list(by_point[1]) == list(range(-2, 41))


def test_sums_in_digits_are_those_of_whole_numbers() -> None:
    weights = quantile_selection.score_weights(Fraction(1, 7), Fraction(30), 0, 10**6)
    sizes, places = np.array([1, 10**6, 3, 77]), np.array([5, 0, len(weights) - 1, 900])
    digits, plain = (quantile_selection._sums(11, sizes, places, w) for w in (weights, tuple(weights)))
    assert [digits[k] for k in range(5)] == plain
