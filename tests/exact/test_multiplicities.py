"""Multiplicities: exact Poisson laws, and totals whose law does not depend on how rows are put together."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, poisson

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.multiplicities import PoissonLaw, resampled_totals

VALUES = np.array([0, 1, 1, 2, 4, 1, 3, 3, 2, 2] * 3, dtype=np.int64)
MANY = 20_000


def p_value(first: list[int], second: list[int]) -> float:
    """Of a chi-squared test that two samples of totals have one law."""
    ends = np.quantile([*first, *second], np.linspace(0, 1, 21)[1:-1])
    counts = [np.bincount(np.digitize(x, ends), minlength=20) for x in (first, second)]
    return float(chi2_contingency(np.array(counts)[:, np.sum(counts, axis=0) > 0]).pvalue)


def row_by_row() -> list[int]:
    return resampled_totals(VALUES, np.ones(len(VALUES), dtype=np.int64), MANY, RecordedRandomness("rows"))


@pytest.mark.parametrize("rate", [1, 2, 64, 1 << 12])
def test_weights_enclose_the_poisson_law(rate: int) -> None:
    table = PoissonLaw(rate).weights(96)
    k = np.arange(table.first, table.last + 1)
    total = sum(table.upper)
    found = np.array([w / total for w in table.upper])
    assert np.abs(found - poisson.pmf(k, rate)).max() < 1e-12
    assert all(low <= high <= low + 2**40 for low, high in zip(table.lower, table.upper, strict=True))
    assert poisson.cdf(table.first - 1, rate) + poisson.sf(table.last, rate) < 1e-20


def test_rows_put_together_by_value_have_the_law_of_rows_one_by_one() -> None:
    values, counts = np.unique(VALUES, return_counts=True)
    together = resampled_totals(values, counts, MANY, RecordedRandomness("values"))
    assert p_value(row_by_row(), together) > 0.001


def test_the_partition_by_multiplicity_has_the_same_law_and_multinomial_ones_another() -> None:
    """Brawner & Honaker 6.3: rows that count i times are summed apart, and the sums are multiplied by i."""
    generator = np.random.default_rng(20181)
    drawn = generator.poisson(1, size=(MANY, len(VALUES)))
    partition = sum(i * ((drawn == i) @ VALUES) for i in range(int(drawn.max()) + 1))
    assert p_value(row_by_row(), np.asarray(partition).tolist()) > 0.001
    fixed = generator.multinomial(len(VALUES), np.full(len(VALUES), 1 / len(VALUES)), size=MANY) @ VALUES
    assert p_value(row_by_row(), fixed.tolist()) < 1e-9


def test_totals_beyond_64_bits_are_whole_numbers() -> None:
    rng = RecordedRandomness("large")
    totals = resampled_totals(np.array([1 << 61]), np.array([40]), 3, rng)
    assert all(total % (1 << 61) == 0 and total > 1 << 62 for total in totals)


def test_nobody_adds_nothing() -> None:
    assert resampled_totals(np.array([5]), np.array([0]), 2, RecordedRandomness(1)) == [0, 0]
