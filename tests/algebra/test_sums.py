"""Sums as forms of measured arrays, and as dual numbers."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.estimate_law import EstimateLaw, LinearForm
from dalenius.algebra.sums import MeasuredArrays, Sums
from dalenius.core.domain import CellSpace
from dalenius.core.law import Additive
from dalenius.core.release import Block
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

LAW = EstimateLaw(
    estimator="mean",
    version=1,
    sums={"1": LinearForm.array(0), "x": LinearForm({0: Fraction(-2), 1: Fraction(1)}, Fraction(3))},
    products={"x x": LinearForm.array(2)},
    centres={"x": Fraction(2)},
    least=Fraction(2),
)


def measured(*values: int, variance: Fraction | int = 4) -> MeasuredArrays:
    law = Additive(DiscreteGaussian(Fraction(variance)))
    return MeasuredArrays.of([Block(name="all", space=CellSpace(()), values=np.array(values), law=law)], 1)


def test_forms_know_the_covariance_of_their_noises() -> None:
    both = measured(1, 2)
    total = both.form(0).plus(both.form(1))
    difference = both.form(0).plus(both.form(1), -1.0)
    assert total.variance[0] == pytest.approx(8, rel=1e-6)
    assert total.covariance(difference)[0] == pytest.approx(0, abs=1e-9)
    assert total.times(2.0).values[0] == 6
    assert both.combined(LinearForm(constant=Fraction(5))).values[0] == 5


def test_one_array_has_the_half_width_of_its_exact_law() -> None:
    both = measured(1, 2)
    law = both.laws[0]
    assert both.form(0).times(-3.0).exact_half(0.95) == pytest.approx(3 * law.half_width(0.95))
    assert measured(1, 2, variance=9).form(0).plus(both.form(1)).exact_half(0.95) is None


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999, 1 - 1e-9])
@pytest.mark.parametrize("variance", [Fraction(1, 100), Fraction(1, 4), Fraction(4)])
def test_two_arrays_of_a_few_steps_have_the_least_half_width_that_holds(variance: Fraction, confidence: float) -> None:
    both = measured(1, 2, variance=variance)
    half = both.form(0).times(0.6).plus(both.form(1), -0.5).exact_half(confidence)
    points, masses = both.laws[0].central(1e-15)
    sizes = np.abs(np.subtract.outer(0.6 * points, 0.5 * points)).ravel()
    chances = np.multiply.outer(masses, masses).ravel()
    assert half is not None and chances[sizes <= half].sum() >= confidence - 1e-12
    # What is left out counts as missed: up to a quarter of what may be.
    assert chances[sizes < 0.999 * half[0]].sum() < confidence + (1 - confidence) / 4


def test_sums_are_duals_about_their_centres() -> None:
    sums = Sums(LAW, measured(10, 35, 50))
    mean = sums["x"] / sums["1"]
    assert mean.values[0] == pytest.approx((35 - 20 + 3) / 10)
    assert mean.gradient[:, 0] == pytest.approx([-1.8 / 10, 1 / 10])
    # d mean = (d y - (2 + 1.8) d n) / 10 for the two measured arrays.
    assert sums.noise(mean)[0] == pytest.approx(4 * (1 + 3.8**2) / 100)
    assert sums.about_zero("x").values[0] == pytest.approx(18 + 2 * 10)
    assert sums.mean_product("x", "x").values[0] == pytest.approx(1.8**2 - 4 * (1 + 2**2) / 100)


def test_squares_of_what_rows_add_are_known_where_their_products_are() -> None:
    sums = Sums(LAW, measured(10, 35, 50))
    deviation = sums["x"] - 1.8 * sums["1"]
    found = sums.squares(deviation)
    assert found is not None
    assert found.values[0] == pytest.approx(50 - 2 * 1.8 * 18 + 1.8**2 * 10)
    without = Sums(EstimateLaw(estimator="mean", version=1, sums=LAW.sums), measured(10, 35))
    assert without.squares(without["x"] - without["1"]) is None


def test_too_few_rows_are_no_number() -> None:
    assert np.isnan(Sums(LAW, measured(1, 35, 50))["1"].values).all()
