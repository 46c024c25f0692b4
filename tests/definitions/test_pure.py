"""Pure differential privacy: epsilons add, anything uncertain is refused."""

from fractions import Fraction

import pytest

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.pure import Pure
from dalenius.errors import Unsupported
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

ONE = Budget.of("pure", epsilon=1)


@pytest.mark.parametrize("patterns,l1", [(((1,),), 1), (((1, 1),), 2), (((2, 1), (1, 1, 1)), 3)])
def test_calibrated_noise_spends_exactly_the_budget(patterns, l1):
    made = calibrate(DiscreteLaplace, Sensitivity.of_patterns(patterns), Relation.REPLACE, Pure(), ONE)
    assert made.rate == Fraction(1, l1)
    assert made.profile(Sensitivity.of_patterns(patterns), Relation.REPLACE).epsilon == 1


def test_sums_and_relations():
    part = PrivacyProfile(relation=Relation.ADD_REMOVE, epsilon=Fraction(1, 2))
    assert Pure().fits([part, part], ONE)
    assert not Pure().fits([part, part, part], ONE)
    assert Pure().cost([part, part]).epsilon == 1
    with pytest.raises(Unsupported):
        Pure().fits([part, PrivacyProfile(relation=Relation.REPLACE, epsilon=Fraction(1, 2))], ONE)
    with pytest.raises(Unsupported):
        Pure().fits([PrivacyProfile(relation=Relation.REPLACE, epsilon=Fraction(1), delta=Fraction(1, 9))], ONE)
    assert "exp(1)" in Pure().sentence(ONE)
