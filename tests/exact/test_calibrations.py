"""A kept calibration is the one that would be made, and counts as much work."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dalenius import limits
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.approximate import Approximate
from dalenius.definitions.pure import Pure
from dalenius.errors import Unsupported
from dalenius.exact.calibrations import calibrated
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal

ONE = Sensitivity.of_patterns(((1,),))
BUDGET = Budget.of("approximate", epsilon=1, delta="1e-5")
ASKED = (TruncatedNormal, ONE, Relation.ADD_REMOVE, Approximate(), BUDGET)


def test_the_second_answer_is_the_first_and_counts_the_same_work() -> None:
    counts = []
    for _ in range(2):
        with limits.counted() as atoms:
            assert calibrated(*ASKED) == calibrate(*ASKED)
        counts.append(atoms[0])
    assert counts[0] == counts[1] > 0


def test_what_is_kept_is_refused_under_a_limit_all_the_same() -> None:
    calibrated(*ASKED)
    with pytest.raises(limits.Exhausted), limits.limited(10):
        calibrated(*ASKED)


def test_an_exhausted_calibration_is_not_kept_as_a_refusal() -> None:
    asked = (*ASKED[:-1], Budget.of("approximate", epsilon=1, delta="1.5e-5"))
    with pytest.raises(limits.Exhausted), limits.limited(10):
        calibrated(*asked)
    assert calibrated(*asked) == calibrate(*asked)


def test_a_refusal_says_the_same_each_time() -> None:
    def refusal() -> dict[str, object]:
        with pytest.raises(Unsupported) as refused:
            calibrated(DiscreteGaussian, ONE, Relation.ADD_REMOVE, Pure(), Budget.of("pure", epsilon="0.731"))
        return refused.value.to_dict()

    assert refusal() == refusal()


def test_budgets_relations_and_definitions_are_told_apart() -> None:
    wider = calibrated(*ASKED[:-1], Budget.of("approximate", epsilon="1/2", delta="1e-5"))
    replaced = calibrated(TruncatedNormal, ONE, Relation.REPLACE, Approximate(), BUDGET)
    assert len({calibrated(*ASKED), wider, replaced}) >= 2
    assert wider == calibrate(*ASKED[:-1], Budget.of("approximate", epsilon="1/2", delta="1e-5"))
    assert replaced == calibrate(TruncatedNormal, ONE, Relation.REPLACE, Approximate(), BUDGET)


class Stricter(Pure):
    """A definition with a parameter of its own."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        """At a fraction of the budget."""
        assert budget.epsilon is not None
        return super().fits(profiles, replace(budget, epsilon=budget.epsilon / self.factor))


def test_a_definition_with_parameters_is_asked_itself() -> None:
    budget = Budget.of("pure", epsilon=1)
    one, four = (calibrated(DiscreteLaplace, ONE, Relation.ADD_REMOVE, Stricter(factor), budget) for factor in (1, 4))
    assert one.variance < four.variance
