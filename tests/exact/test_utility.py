"""Utility and risk: losses by hand, and the planner's question "which epsilon for ±5 at 95 %"."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.losses import association, compare
from dalenius.core.budget import Budget
from dalenius.core.law import Additive
from dalenius.errors import ParameterError
from dalenius.exact.utility import epsilon_for, expected, in_words, risk_utility
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace


def test_losses_by_hand() -> None:
    found = compare([[4, 0], [9, 1]], [[9, -1], [4, 1]])
    assert found["l1"] == 11
    assert found["l2"] == 51
    assert found["l3"] == pytest.approx(2)
    assert found["hellinger"] == pytest.approx(2**0.5)
    assert found["mean_absolute_difference"] == 2.75
    assert "cramers_v_after" in found
    with pytest.raises(ParameterError):
        compare([1, 2], [1])


def test_association_against_scipy() -> None:
    from scipy.stats import chi2_contingency
    from scipy.stats.contingency import association as reference

    table = np.array([[10, 20, 3], [4, 5, 60]])
    v, p = association(table.astype(float))
    assert v == pytest.approx(reference(table, method="cramer"))
    assert p == pytest.approx(chi2_contingency(table, correction=False).pvalue)
    assert np.isnan(association(np.array([[1.0, 2.0], [0.0, 0.0]]))[0])


def test_epsilon_for_five_at_95_percent() -> None:
    found = epsilon_for(5, 0.95)
    half = Additive(DiscreteLaplace(Fraction(found["epsilon"]))).half_width(0.95)
    below = Additive(DiscreteLaplace(Fraction(found["epsilon"]) - Fraction(1, 1000))).half_width(0.95)
    assert (half, below) == (5, 6)
    gaussian = epsilon_for(5, budget=Budget.of("zero_concentrated", rho=1), mechanism="discrete_gaussian")
    assert 0.05 < float(Fraction(gaussian["rho"])) < 0.12
    with pytest.raises(ParameterError):
        epsilon_for(-1)


def test_law_only_lines() -> None:
    lines = risk_utility(["0.5", 1], ["discrete_laplace", "truncated_laplace"], delta="1e-6")
    assert len(lines) == 4
    assert lines[0]["l1"] > lines[1]["l1"]
    one = expected(Additive(DiscreteLaplace(Fraction(1))))
    assert one["l1"] == pytest.approx(0.850918128)
    assert one["l2"] == pytest.approx(1.841347188)
    assert risk_utility([1], ["discrete_gaussian"]) == []
    assert "62.2 %" in in_words(0.5)
    assert "except with a probability" in in_words(1, 1e-6)
