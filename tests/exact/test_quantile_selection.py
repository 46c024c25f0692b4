"""A selection gives every grid point exactly its weight: every possible draw is made once."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact import quantile_selection


@pytest.mark.parametrize("values", [[], [2], [0, 2, 2], [4, 4], [0, 1, 3, 4]], ids=str)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_every_draw_together_is_the_exact_law(
    values: list[int], q: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, weights = np.array(values, dtype=np.int64), (7, 3, 2, 1)
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
