"""Sources of randomness: the recorded one replays and taints, bounded integers are uniform."""

import numpy as np
import pytest

from dalenius.core.randomness import RecordedRandomness, SystemRandomness, below, words
from dalenius.errors import ParameterError


def test_recorded_stream_replays_and_taints():
    a, b = RecordedRandomness("seed"), RecordedRandomness("seed")
    assert a.bytes(10) == b.bytes(10) and a.bytes(10) == b.bytes(10)
    assert RecordedRandomness("seed").bytes(20) != RecordedRandomness("other").bytes(20)
    assert a.is_tainted and not SystemRandomness().is_tainted


def test_blocks_of_the_stream_differ():
    source = RecordedRandomness(1)
    assert source.bytes(32) != source.bytes(32)


def test_system_bytes_pass_a_strict_frequency_test():
    bits = np.unpackbits(np.frombuffer(SystemRandomness().bytes(1 << 18), dtype=np.uint8))
    assert abs(bits.mean() - 0.5) * 2 * len(bits) ** 0.5 < 6.2  # p < 1e-9


def test_words_have_the_asked_width():
    assert words(RecordedRandomness(0), 5, np.uint16).dtype == np.uint16
    assert len(words(RecordedRandomness(0), 5)) == 5


def test_bounded_integers_are_uniform():
    source = RecordedRandomness(3)
    counts = np.bincount([below(source, 6) for _ in range(6000)], minlength=6)
    assert ((counts - 1000) ** 2 / 1000).sum() < 45  # chi-square with 5 degrees: p < 1e-8
    assert below(source, 1) == 0
    with pytest.raises(ParameterError):
        below(source, 0)
