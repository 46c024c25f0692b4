"""Integer combinations with noise: prices in integers, answers that are the combinations of the cells."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.ranges import Factor
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.measurements._example import COUNTS
from dalenius.measurements.factored_table import FactoredTable
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

FACTOR = (Factor(2, rows=((1, 1), (2, 0), (0, 3))),)


@pytest.mark.parametrize(
    ("relation", "rows", "rho"),
    [
        (Relation.ADD_REMOVE, 1, Fraction(10, 12)),
        (Relation.ADD_REMOVE, 3, Fraction(90, 12)),
        # Columns (1, 2, 0) and (1, 0, 3): at most 10 + 10 - 2, a bound of the true 13.
        (Relation.REPLACE, 1, Fraction(18, 12)),
    ],
)
def test_rho_is_that_of_the_longest_column(relation: Relation, rows: int, rho: Fraction) -> None:
    step = FactoredTable("combinations", COUNTS, FACTOR, DiscreteGaussian(Fraction(6)))
    assert step.profile(Neighbours(relation=relation, max_rows=rows)).rho == rho


@pytest.mark.parametrize(
    ("relation", "epsilon"), [(Relation.ADD_REMOVE, Fraction(4, 5)), (Relation.REPLACE, Fraction(1))]
)
def test_epsilon_is_that_of_the_largest_column_sum(relation: Relation, epsilon: Fraction) -> None:
    step = FactoredTable("combinations", COUNTS, FACTOR, DiscreteLaplace(Fraction(1, 5)))
    assert step.profile(Neighbours(relation=relation)).epsilon == epsilon


def test_answers_are_combinations_of_the_cells_and_noise() -> None:
    step = FactoredTable("combinations", COUNTS, FACTOR, DiscreteGaussian(Fraction(6)))
    drawn = step.draw(RecordedRandomness("combinations"))
    outcome = step.run((Sealed(np.array([5, 7])),), drawn, RecordedRandomness("no more"))
    assert isinstance(outcome, Value)
    np.testing.assert_array_equal(outcome.values - drawn, [12, 10, 21])
    block = step.block(outcome)
    assert block is not None and block.law.to_dict()["structure"] == "factored"
