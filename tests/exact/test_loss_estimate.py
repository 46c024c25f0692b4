"""The floats that lead a search say what the exact numbers say, so that the search takes the same way."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.approximate import Approximate
from dalenius.definitions.probabilistic import Probabilistic
from dalenius.exact import additive, loss_estimate
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal

CASES = [
    (DiscreteGaussian(Fraction(17)), ((1,),)),
    (DiscreteGaussian(Fraction(17)), ((2, 1, 1),)),
    (DiscreteGaussian(Fraction(10**6) * 19), ((1000,),)),
    (DiscreteGaussian(Fraction(10**8) * 19), ((7000, 7000),)),
    (DiscreteGaussian(Fraction(10**12) * 19), ((10**6,), (7 * 10**5, 7 * 10**5))),
    (DiscreteLaplace(Fraction(1, 3)), ((3,), (2, 1))),
    (TruncatedLaplace(Fraction(1, 3), 40), ((3,), (1, 1, 1))),
    (TruncatedNormal.of_variance(40, 45), ((2,), (1, 1))),
    (TruncatedNormal.of_variance(300_000, 4000), ((60, 60),)),
]


@pytest.mark.parametrize(("law", "patterns"), CASES, ids=lambda value: getattr(value, "name", ""))
def test_estimates_follow_the_exact_distribution_through_every_rounding(law, patterns) -> None:
    products = additive.shifts_of(law, Sensitivity.of_patterns(patterns))
    for text in ("0.3", "1"):
        epsilon = Fraction(text)
        exact = float(additive.product_delta(products, epsilon))
        assert loss_estimate.delta_of(products, epsilon) == pytest.approx(exact, rel=1e-8)
        tail = float(additive.product_tail(products, epsilon))
        about = float(additive.product_tail(products, epsilon, is_estimated=True))
        assert about == pytest.approx(tail, rel=1e-8)


@pytest.mark.parametrize("definition", [Approximate(), Probabilistic()], ids=lambda d: d.name)
@pytest.mark.parametrize("family", [DiscreteGaussian, DiscreteLaplace, TruncatedLaplace, TruncatedNormal])
@pytest.mark.parametrize("patterns", [((1,),), ((1, 1),), ((40,),)])
def test_the_search_finds_the_law_that_exact_numbers_alone_would_find(definition, family, patterns) -> None:
    class Patient:
        """The definition without its estimates."""

        name, amounts, fits = definition.name, definition.amounts, staticmethod(definition.fits)

    budget = Budget.of(definition.name, epsilon=1, delta="1e-6")
    sensitivity = Sensitivity.of_patterns(patterns)
    found = calibrate(family, sensitivity, Relation.ADD_REMOVE, definition, budget)
    assert found == calibrate(family, sensitivity, Relation.ADD_REMOVE, Patient, budget)


def test_what_a_search_keeps_was_judged_exactly() -> None:
    """A wrong estimate costs time, never privacy."""

    class Hasty(Approximate):
        def likely_fits(self, profiles, budget):
            return True

    budget = Budget.of("approximate", epsilon=1, delta="1e-6")
    one = Sensitivity.of_patterns(((1,),))
    law = calibrate(DiscreteGaussian, one, Relation.ADD_REMOVE, Hasty(), budget)
    assert law == calibrate(DiscreteGaussian, one, Relation.ADD_REMOVE, Approximate(), budget)


@pytest.mark.parametrize(("left", "right"), [(1, 1), (5, 9000), (8192, 8193), (9000, 20_000)])
def test_long_sums_in_pieces_are_the_sums(left: int, right: int) -> None:
    rng = np.random.default_rng(left)
    a, b = rng.random(left) * 1e-20, rng.random(right)
    np.testing.assert_allclose(loss_estimate._convolved(a, b), np.convolve(a[::-1], b[::-1])[::-1], rtol=1e-12)
