"""The work of a plan is bounded by a count that does not depend on the clock or on what is cached."""

import pytest

from dalenius import limits
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator.planner import Planner
from dalenius.definitions.approximate import Approximate
from dalenius.errors import TooLarge
from dalenius.mechanisms.truncated_normal import TruncatedNormal
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius.testing.toy import toy_domain

REQUEST = {
    "table": {"rows": ["sex"]},
    "privacy": {"definition": "approximate", "epsilon": "1", "delta": "1e-6", "mechanism": "truncated_normal"},
}


def work() -> int:
    """The least limit under which a calibration succeeds."""

    def succeeds(atoms: int) -> bool:
        try:
            with limits.limited(atoms):
                budget = Budget.of("approximate", epsilon=1, delta="1e-6")
                one = Sensitivity.of_patterns(((1,),))
                calibrate(TruncatedNormal, one, Relation.ADD_REMOVE, Approximate(), budget)
        except limits.Exhausted:
            return False
        return True

    low, high = 0, 1 << 20
    assert succeeds(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if succeeds(middle) else (middle, high)
    return high


def test_the_count_is_the_same_whatever_is_cached() -> None:
    assert work() == work() < limits.ATOMS


def test_a_request_beyond_the_limit_is_refused_with_what_would_take_less(monkeypatch: pytest.MonkeyPatch) -> None:
    planner = Planner(domain=toy_domain(), policy=PolicyDocument())
    request = RequestDocument.model_validate(REQUEST)
    planner.plan(request)
    monkeypatch.setattr("dalenius.curator.planner.limits.limited", lambda _: limited_to(10))
    with pytest.raises(TooLarge, match="narrower bounds"):
        planner.plan(request)


def limited_to(atoms: int):
    return _LIMITED(atoms)


_LIMITED = limits.limited


def test_outside_of_a_limit_nothing_is_counted() -> None:
    limits.spend(1 << 60)


def test_a_limit_inside_a_limit_counts_for_both() -> None:
    with limits.limited(10):
        with limits.limited(7):
            limits.spend(6)
        with pytest.raises(limits.Exhausted), limits.limited(7):
            limits.spend(5)
