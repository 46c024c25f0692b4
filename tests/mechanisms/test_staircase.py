"""Staircase: published moments of the continuous law as a limit, and the exact loss at every move."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.integer_law import tails_of
from dalenius.core.law import Additive
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.pure import Pure
from dalenius.errors import ParameterError, TooLarge
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.staircase import Staircase
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.exhaustive import tiny_domain
from dalenius_lab.attackers.grammar import POLICY


def test_width_one_is_the_discrete_laplace_law() -> None:
    x = np.arange(-9, 10)
    assert Staircase(Fraction(1)).log_pmf(x) == pytest.approx(DiscreteLaplace(Fraction(1)).log_pmf(x))


@pytest.mark.parametrize(("epsilon", "variance"), [(1, 1.9181), (2, 0.4227), (4, 0.0650)])
def test_wide_steps_approach_the_published_variance(epsilon: int, variance: float) -> None:
    width = 400
    budget = Budget.of("pure", epsilon=epsilon)
    law = Staircase.tailored(Fraction(epsilon), budget, Sensitivity.of_patterns(((width,),)))
    assert law.variance / width**2 == pytest.approx(variance, rel=0.01)


@pytest.mark.parametrize(("width", "gap"), [(1, 1), (2, 1), (5, 2), (5, 5), (7, 1)])
def test_largest_log_ratio_is_one_step_for_every_move_up_to_the_width(width: int, gap: int) -> None:
    law = Staircase(Fraction(3, 4), width, gap)
    x = np.arange(-12 * width, 12 * width + 1)
    for move in range(1, 3 * width):
        ratio = np.abs(law.log_pmf(x) - law.log_pmf(x - move)).max()
        assert ratio <= float(law.largest_loss(move)) + 1e-12
        if move in (width, 2 * width):
            assert ratio == pytest.approx(float(law.largest_loss(move)))


def test_probabilities_add_up_and_tails_are_enclosed() -> None:
    law = Staircase(Fraction(1, 2), 3, 2)
    x = np.arange(-600, 601)
    p = np.exp(law.log_pmf(x))
    assert p.sum() == pytest.approx(1)
    assert law.variance == pytest.approx((x * x * p).sum())
    table = law.weights(96)
    beyond = sum(2 * 3 * exp(-0.5 * k) for k in range(-table.first // 3 - 1, -table.first // 3 + 200)) / 2
    assert table.right >= beyond * 2**96 * 0.2
    assert Staircase(**law.parameters) == law


@pytest.mark.parametrize(("epsilon", "width", "gap"), [("1/2", 1, 1), ("1", 5, 2), ("3/100", 7, 7)])
def test_closed_tails_are_those_of_the_exact_weights(epsilon: str, width: int, gap: int) -> None:
    law, k = Staircase(Fraction(epsilon), width, gap), np.arange(-60, 61)
    listed = tails_of(law)
    assert law.cdf(k) == pytest.approx(listed.cdf(k), rel=1e-12)
    assert law.sf(k) == pytest.approx(listed.sf(k), rel=1e-12)


def test_a_preview_lists_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Staircase, "weights", lambda law, bits: pytest.fail("a preview listed the law"))
    request = {
        "table": {"rows": ["g"]},
        "privacy": {"definition": "pure", "epsilon": "1/1000", "mechanism": "staircase"},
    }
    plan = plan_of(tiny_domain(Neighbours()), request, POLICY)
    assert plan.preview["half_width_95"] == Additive(DiscreteLaplace(Fraction(1, 1000))).half_width(0.95)


def test_calibration_under_pure_beats_laplace_for_wide_moves() -> None:
    one_cell = Sensitivity.of_patterns(((6,),))
    budget = Budget.of("pure", epsilon=2)
    law = calibrate(Staircase, one_cell, Relation.ADD_REMOVE, Pure(), budget)
    laplace = calibrate(DiscreteLaplace, one_cell, Relation.ADD_REMOVE, Pure(), budget)
    assert law.profile(one_cell, Relation.ADD_REMOVE).epsilon == 2
    assert law.variance < laplace.variance * 0.9


def test_refusals() -> None:
    with pytest.raises(ParameterError):
        Staircase(Fraction(1), 3, 4)
    with pytest.raises(TooLarge):
        Staircase(Fraction(1, 100), 10**6, 1)
