"""Draws decided by a byte: every pair of bytes gives what sixteen bits give, and what is rare is exact too."""

from collections import deque

import numpy as np
import pytest
from scipy.stats import chisquare, poisson

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.multiplicities import ByteSampler, PoissonLaw, weighted_sums
from dalenius.exact.sampling import TableSampler


class Replayed:
    """Bytes that a test lists call by call, and recorded ones after them."""

    is_tainted = True

    def __init__(self, *calls: bytes) -> None:
        self._calls, self._rest = deque(calls), RecordedRandomness("rest")

    def bytes(self, count: int) -> bytes:
        if not self._calls:
            return self._rest.bytes(count)
        call = self._calls.popleft()
        assert len(call) == count
        return call


@pytest.mark.parametrize("rate", [1, 8])
def test_every_two_bytes_give_what_the_table_of_sixteen_bits_gives(rate: int) -> None:
    sampler, table = ByteSampler(PoissonLaw(rate)), TableSampler(PoissonLaw(rate))
    undecided = [w for w in range(256) if len(set(table.guide[256 * w : 256 * w + 256].tolist())) > 1]
    first = bytes(np.repeat(np.arange(256, dtype=np.uint8), 256))
    second = bytes(range(256)) * len(undecided)
    drawn = sampler.draw(1 << 16, Replayed(first, second))
    is_decided = table.guide >= 0
    assert (drawn[is_decided] == table.guide[is_decided]).all()
    # Eight bits suffice at all but a few words, and sixteen at all but a few of those.
    assert len(undecided) <= 5 * rate and (~is_decided).sum() <= 20 * rate


def test_the_rarest_words_are_refined_until_they_are_decided() -> None:
    """Both bytes full: the largest values, each to be told from its neighbours by further bits."""
    sampler = ByteSampler(PoissonLaw(1))
    drawn = sampler.draw(3, Replayed(b"\xff" * 3, b"\xff" * 3, b"\x00" * 8 + b"\xff" * 16))
    assert drawn[0] == 7 and (drawn[1:] > 15).all()


def test_draws_fit_the_law() -> None:
    drawn = ByteSampler(PoissonLaw(1)).draw(400_000, RecordedRandomness("fit"))
    seen = np.bincount(drawn, minlength=9)[:9].astype(float)
    seen[8] += len(drawn) - seen.sum()
    expected = np.append(poisson.pmf(np.arange(8), 1), poisson.sf(7, 1)) * len(drawn)
    assert chisquare(seen, expected).pvalue > 0.001


@pytest.mark.parametrize("largest", [1, (1 << 24) - 1, 1 << 24, (1 << 47) + 5, 1 << 62])
def test_sums_are_whole_numbers_at_every_size_of_value(largest: int) -> None:
    drawn = np.frombuffer(RecordedRandomness("k").bytes(600), dtype=np.uint8).reshape(3, 200)
    values = np.array([largest, -largest, 1 - largest, 3] * 50, dtype=np.int64)
    exact = [sum(k * v for k, v in zip(row, values.tolist(), strict=True)) for row in drawn.tolist()]
    assert weighted_sums(drawn, values) == exact
    assert weighted_sums(drawn.astype(np.int64), values) == exact
