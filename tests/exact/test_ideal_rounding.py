"""Enclosures contain the truth; draws are exact, and cost the same at every scale."""

from collections import Counter
from fractions import Fraction
from math import exp, tanh
from random import Random

import mpmath
import numpy as np
import pytest
from scipy import stats

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.enclosures import exp_of, log_enclosure
from dalenius.exact.ideal_rounding import (
    LazyUniform,
    discrete_laplace,
    exponential,
    floor_of,
    is_below,
    rounded,
    rounded_laplace,
    saturated,
    scaled_laplace,
    unit_laplace,
    unit_normal,
)


class Words:
    """Randomness that a test writes down."""

    is_tainted = True

    def __init__(self, *chunks: bytes) -> None:
        self._left = b"".join(chunks)
        self.asked = 0

    def bytes(self, count: int) -> bytes:
        self.asked += count
        found, self._left = self._left[:count], self._left[count:]
        return found.ljust(count, b"\x55")


def test_logarithm_encloses():
    random = Random(1)
    with mpmath.workprec(900):
        for _ in range(600):
            bits, scale = random.choice([20, 64, 192, 300]), random.choice([0, 1, 8, 64, 200, 256])
            value = random.randrange(1, 1 << random.randrange(1, scale + 4))
            low, high = log_enclosure(value, value, scale, bits)
            truth = mpmath.log(mpmath.mpf(value) / mpmath.mpf(2) ** scale) * mpmath.mpf(2) ** bits
            assert low <= truth <= high
            assert high - low <= 16


def test_exponential_function_encloses():
    random = Random(2)
    with mpmath.workprec(1500):
        multiples = [k * 0.6931471805599453 for k in range(-5, 6)]
        points = [random.uniform(-200, 200) for _ in range(300)] + multiples + [0.0, 1e-9, -1e-9]
        for x in points:
            for bits in (20, 64, 192):
                value = int(mpmath.mpf(x) * mpmath.mpf(2) ** bits)
                low, high = exp_of((value, value), bits)
                truth = mpmath.exp(mpmath.mpf(value) / mpmath.mpf(2) ** bits) * mpmath.mpf(2) ** bits
                assert low <= truth <= high
                assert high - low <= 4


def test_a_uniform_is_refined_never_changed():
    uniform = LazyUniform(RecordedRandomness(3))
    first = uniform.enclose(64)
    more = uniform.enclose(256)
    assert first[0] == more[0] >> 192
    assert uniform.enclose(64) == first


def test_a_rounding_on_the_edge_asks_for_more_bits():
    """U = 1/2 exactly to 192 bits: -log U is not decided against log 2 until further bits differ."""
    edge = bytes([0x80]) + bytes(23)
    words = Words(edge, bytes([0xFF] * 24))
    with mpmath.workdps(120):
        boundary = Fraction(int(mpmath.floor(mpmath.log(2) * 10**100)), 10**100)
    answer = floor_of(1 / boundary, exponential(LazyUniform(words)))
    assert answer in (0, 1)
    assert words.asked > 24


@pytest.mark.parametrize(("zeros", "expected"), [(24, 138), (48, 271), (200, 1114)])
def test_zero_bits_at_first_are_no_trouble(zeros, expected):
    """U = 2^-(8 zeros) / 256 and a little: -log U is (8 zeros + 8) log 2 less a little."""
    words = Words(bytes(zeros), bytes([1] * 400))
    assert floor_of(Fraction(1), exponential(LazyUniform(words))) == expected


@pytest.mark.statistical
def test_discrete_laplace_probabilities():
    """20,000 draws at a fixed seed: a chi-square beyond 40 on 8 degrees would be one in 300,000."""
    rng, n, rate = RecordedRandomness("dl"), 20_000, 0.75
    seen = Counter(discrete_laplace(Fraction(4, 3), rng) for _ in range(n))
    expected = {k: n * tanh(rate / 2) * exp(-rate * abs(k)) for k in range(-4, 5)}
    assert sum((seen[k] - e) ** 2 / e for k, e in expected.items()) < 40


@pytest.mark.statistical
def test_rounded_laplace_fits_its_law():
    """Kolmogorov-Smirnov at a fixed seed; the threshold is one in a million."""
    rng = RecordedRandomness("rounded")
    z = [rounded_laplace(unit_laplace(rng), Fraction(10**9)) / 1e9 for _ in range(3000)]
    assert stats.kstest(z, stats.laplace.cdf).pvalue > 1e-6


def test_both_laplace_laws_come_from_the_same_draw():
    for seed in range(50):
        drawn = unit_laplace(RecordedRandomness(seed))
        assert abs(rounded_laplace(drawn, Fraction(100)) - scaled_laplace(drawn, Fraction(100))) <= 1


@pytest.mark.statistical
def test_normal_moments():
    rng = RecordedRandomness("normal")
    y = np.array([rounded(Fraction(0), Fraction(10**9), unit_normal(rng)) for _ in range(4000)]) / 1e9
    assert abs(y.mean()) < 5 / 4000**0.5
    assert abs(y.var() - 1) < 5 * (2 / 4000) ** 0.5
    assert abs((np.abs(y) < 1).mean() - 0.6827) < 5 * (0.2166 / 4000) ** 0.5


def test_randomness_used_does_not_depend_on_the_scale():
    used = []
    for scale in (Fraction(1), Fraction(10**6), Fraction(10**15, 7)):
        words = Words()
        discrete_laplace(scale, words)
        used.append(words.asked)
    assert len(set(used)) == 1


def test_comparison_with_a_uniform():
    assert is_below(LazyUniform(Words(bytes([0x40]))).enclose, lambda bits: (1 << (bits - 1), 1 << (bits - 1)))
    assert not is_below(LazyUniform(Words(bytes([0xC0]))).enclose, lambda bits: (1 << (bits - 1), 1 << (bits - 1)))


def test_saturation_is_symmetric():
    assert saturated(10**30) == 2**62 == -saturated(-(10**30))
