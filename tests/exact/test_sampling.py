"""The table sampler: exact by enumeration of a low-precision copy, and fits its law."""

from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np
import pytest

from dalenius.core.law import WeightTable
from dalenius.core.randomness import RecordedRandomness, SystemRandomness
from dalenius.errors import InternalError, ParameterError, TooLarge
from dalenius.exact.gaussian import RejectionSampler
from dalenius.exact.sampling import LARGEST_VALUE, TableSampler, Thresholds, sample, sampler_of
from dalenius.exact.wide_sampling import TwoSidedGeometric
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace


class Scripted:
    """A source that hands out chosen bytes and says when it runs dry."""

    is_tainted = True

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.used = 0

    def bytes(self, count: int) -> bytes:
        if self.used + count > len(self.data):
            raise EOFError
        self.used += count
        return self.data[self.used - count : self.used]


class Coin:
    """A law with dyadic probabilities: 1/4, 1/2, 1/4 on 0, 1, 2; some floors fall exactly on thresholds."""

    name = "coin"
    mean, variance = 1.0, 0.5
    parameters: ClassVar = {}
    support = (0, 2)

    def weights(self, bits: int) -> WeightTable:
        one = 1 << bits
        return WeightTable(bits, 0, [one, 2 * one - 1, one], [one, 2 * one + 1, one])

    def log_pmf(self, k):
        return np.log(np.array([0.25, 0.5, 0.25]))[k]


def small(law):
    return TableSampler(law, first_type=np.uint8, guide_bits=8, next_type=np.uint8, precision=16, deep_bits=8)


def enumerate_law(law, depth=3):
    """Exact dyadic mass of each value decided within `depth` words, and the mass still undecided."""
    sampler, decided, open_mass = small(law), {}, Fraction(0)
    prefixes = [b""]
    for length in range(1, depth + 1):
        longer = []
        for prefix, byte in product(prefixes, range(256)):
            data = prefix + bytes([byte])
            try:
                value = int(sampler.draw(1, Scripted(data))[0])
            except EOFError:
                longer.append(data)
                continue
            decided[value] = decided.get(value, 0) + Fraction(1, 256**length)
        prefixes = longer
    open_mass = Fraction(len(prefixes), 256**depth)
    return decided, open_mass


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_low_precision_copy_has_exactly_the_stated_law(rate):
    law = DiscreteLaplace(rate)
    decided, undecided = enumerate_law(law)
    assert undecided > 0, "the deep path must have been reached"
    assert sum(decided.values()) + undecided == 1
    table = law.weights(200)
    total_low, total_high = sum(table.lower), sum(table.upper) + table.left + table.right
    for value, mass in decided.items():
        i = value - table.first
        low, high = Fraction(table.lower[i], total_high), Fraction(table.upper[i], total_low)
        assert mass <= high, "a decided word must never exceed the law"
        assert mass + undecided >= low


def test_cumulative_masses_bracket_the_cdf_within_the_undecided():
    law = DiscreteLaplace(Fraction(1, 2))
    decided, undecided = enumerate_law(law)
    table = law.weights(200)
    total, running, below = sum(table.upper), Fraction(0), Fraction(0)
    for i, w in enumerate(table.upper):
        running += Fraction(w, total)
        below += decided.get(table.first + i, 0)
        assert below <= running + Fraction(1, 2**150) and running <= below + undecided + Fraction(1, 2**150)


def test_a_law_with_dyadic_thresholds_terminates_and_is_exact():
    decided, undecided = enumerate_law(Coin(), depth=3)
    for value, probability in enumerate([Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]):
        assert probability - undecided <= decided[value] <= probability
    assert undecided <= Fraction(8, 2**24)


def test_thresholds_equal_an_independent_computation():
    from mpmath import floor, mp, mpf

    mp.prec = 400
    rate = Fraction(3, 10)
    found = Thresholds(DiscreteLaplace(rate), 64, 160)
    assert found.low == found.high
    b = mp.exp(-mpf(3) / 10)
    for k in (-40, -7, -1, 0, 1, 5, 60):
        F = b ** (-k) / (1 + b) if k < 0 else 1 - b ** (k + 1) / (1 + b)
        assert found.low[k - found.first] == int(floor(F * mpf(2) ** 64))


def test_ambiguous_words_of_the_real_table_are_refined():
    law = DiscreteLaplace(Fraction(1))
    sampler = TableSampler(law)
    found = Thresholds(law, 64, 160)
    threshold = found.low[0 - found.first]  # floor(2**64 F(0)): this very word is undecided
    first, rest = threshold >> 48, threshold & ((1 << 48) - 1)
    start = first.to_bytes(2, "little") + (rest << 16).to_bytes(8, "little")
    assert sampler.draw(1, Scripted(start + b"\x00" * 8))[0] == 0
    assert sampler.draw(1, Scripted(start + b"\xff" * 8))[0] == 1
    for word, expected_sign in ((0, -1), (2**64 - 1, 1)):
        start = (word >> 48).to_bytes(2, "little") + ((word & (2**48 - 1)) << 16).to_bytes(8, "little")
        value = sampler.draw(1, Scripted(start + b"\x55" * 8))[0]
        assert value * expected_sign > 43


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [1, 10, 100, 1000, 30000])
def test_fits_by_chi_square(scale):
    from scipy.stats import chi2

    law = DiscreteLaplace(Fraction(1, scale))
    draws = sample(law, 200_000, RecordedRandomness(scale))
    edges = np.unique(
        np.round(np.array([-4, -3, -2, -1.5, -1, -0.6, -0.3, -0.1, 0, 0.1, 0.3, 0.6, 1, 1.5, 2, 3, 4]) * scale)
    ).astype(int)
    grid = np.arange(-60 * scale, 60 * scale + 1)
    pmf = np.exp(law.log_pmf(grid))
    expected = np.bincount(np.searchsorted(edges, grid), weights=pmf) * len(draws)
    observed = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert chi2.sf(statistic, len(expected) - 1) > 1e-6


@pytest.mark.statistical
def test_digits_equal_table():
    rate = Fraction(1, 150)
    law = DiscreteLaplace(rate)
    wide, table = TwoSidedGeometric(rate), TableSampler(law)
    a, b = wide.draw(400_000, RecordedRandomness(1)), table.draw(400_000, RecordedRandomness(2))
    from scipy.stats import ks_2samp

    assert ks_2samp(a, b).pvalue > 1e-6
    assert abs((a == 0).mean() - np.exp(law.log_pmf(np.array([0])))[0]) < 5 * (1 / 300 / 400_000) ** 0.5


@pytest.mark.statistical
def test_real_generator_strictly():
    from scipy.stats import chi2

    law = DiscreteLaplace(Fraction(1))
    draws = sample(law, 500_000, SystemRandomness())
    k = np.arange(-6, 7)
    expected = np.exp(law.log_pmf(k)) * len(draws)
    observed = np.array([(draws == i).sum() for i in k])
    rest_e, rest_o = len(draws) - expected.sum(), len(draws) - observed.sum()
    statistic = ((observed - expected) ** 2 / expected).sum() + (rest_o - rest_e) ** 2 / rest_e
    assert chi2.sf(statistic, len(k)) > 1e-9


def test_reproducible_and_cached():
    law = DiscreteLaplace(Fraction(1, 7))
    assert (sample(law, 50, RecordedRandomness("a")) == sample(law, 50, RecordedRandomness("a"))).all()
    assert sampler_of(law) is sampler_of(DiscreteLaplace(Fraction(1, 7)))
    assert sample(law, 0, RecordedRandomness("a")).shape == (0,)
    assert sample(law, 3, RecordedRandomness("a")).dtype == np.int64


def test_refused_before_drawing():
    with pytest.raises(TooLarge):
        DiscreteLaplace(Fraction(1, 2**50))
    with pytest.raises(ParameterError):
        sample(DiscreteLaplace(Fraction(1)), -1, RecordedRandomness(0))


def test_the_widest_law_stays_in_range():
    law = DiscreteLaplace(Fraction(1, 2**40))
    draws = sample(law, 1000, RecordedRandomness(5))
    assert np.abs(draws).max() < LARGEST_VALUE
    assert 0.5 < np.abs(draws).mean() / 2**40 < 2


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(700), DiscreteLaplace(10**6), DiscreteGaussian(Fraction(1, 100))], ids=repr
)
def test_nearly_no_noise_is_still_drawn_exactly(law):
    assert not sample(law, 1000, RecordedRandomness(0)).any()


def test_a_law_that_hides_weight_outside_its_table_is_refused():
    class Leaky(Coin):
        name = "leaky"
        support = (None, None)

        def weights(self, bits: int) -> WeightTable:
            one = 1 << bits
            return WeightTable(bits, 0, [one, one], [one, one], one, one)

    with pytest.raises(InternalError):
        TableSampler(Leaky())


@pytest.mark.parametrize("law", [DiscreteGaussian(Fraction(30001, 7)), DiscreteLaplace(Fraction(1, 40))])
def test_few_draws_and_many_read_the_same_words_to_the_same_values(law) -> None:
    """A sampler that has drawn much looks its first words up in a guide; a new one compares them with the thresholds."""
    fresh, used = TableSampler(law), TableSampler(law)
    used.draw(1 << 15, RecordedRandomness(1))
    assert fresh.draw(3_000, RecordedRandomness(2)).tolist() == used.draw(3_000, RecordedRandomness(2)).tolist()


def test_thresholds_that_are_certain_are_the_same_for_any_number_of_spare_bits() -> None:
    law = DiscreteGaussian(Fraction(301, 7))
    short, long = Thresholds(law, 64, 96), Thresholds(law, 64, 256)
    assert short.low == short.high
    shift = short.first - long.first
    assert short.low == long.low[shift : shift + len(short.low)] == long.high[shift : shift + len(short.low)]


@pytest.mark.parametrize("variance", [Fraction(3_000_001, 7), Fraction(10**9, 3), Fraction(10**15)])
def test_the_ends_of_the_ranges_by_recurrence_are_the_exponentials(variance) -> None:
    sampler = RejectionSampler(variance)
    width = sampler._proposal.width
    some = [0, 1, 2, 127, 500, sampler._ranges]
    assert [int(sampler._start[i]) for i in some] == [sampler._kept(i * width)[0] for i in some]
