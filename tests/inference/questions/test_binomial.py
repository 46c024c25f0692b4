"""Without noise the test is the exact binomial test."""

import pytest
from scipy.stats import binomtest


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_the_exact_binomial_test(ask, counts, alternative: str) -> None:
    cell = {"A": ("a0",), "B": ("b0",), "C": ("c0",)}
    found = ask("binomial", counts, label=cell, size=100, probability=0.55, alternative=alternative)
    assert found.p_value == pytest.approx(binomtest(60, 100, 0.55, alternative).pvalue, abs=1e-9)
