"""Policy documents: defaults and refusals."""

from fractions import Fraction
from typing import Any

import pytest

from dalenius.core.evidence import Evidence, Level
from dalenius.core.neighbours import Relation
from dalenius.errors import DocumentError, ParameterError
from dalenius.spec.load import load_policy
from dalenius.spec.policy import PolicyDocument


def test_defaults() -> None:
    policy = PolicyDocument()
    assert (policy.budget.rho, policy.budget.delta) == (2, Fraction(1, 10**6))
    assert policy.budget.limit(Relation.REPLACE).rho == 2
    for level in Level:
        strong = level in (Level.PROVED, Level.ENUMERATED, Level.COMPUTATIONAL)
        assert policy.allows("definitions", "any", Evidence(level=level)) is strong
        assert policy.allows("mechanisms", "any", Evidence(level=level)) is strong
    assert policy.quota("anyone") is None
    assert policy.table.structural_zeros
    assert policy.table.unbiased is None
    assert not policy.table.nonnegative


def test_what_a_custodian_may_say() -> None:
    policy = load_policy(
        """
        population = "p"
        official_share = 0.25
        approval_above = 0.5
        [budget]
        rho = 1
        delta = 1e-9
        [analysts.ada]
        rho = 0.1
        [default_quota]
        rho = 0.01
        [sensitive.race]
        rho = 0.2
        [allow]
        definitions = ["pure"]
        acknowledge = ["individual"]
        most_cells = 1000
        [table]
        threshold = 5
        maximum_entropy = true
        sparse = 2
        nonnegative = true
        structural_zeros = true
        unbiased = false
        variance_cap = 10
        truncation = 7
        [floors]
        bootstrap = 1
        """
    )
    assert policy.quota("ada").rho == Fraction(1, 10)
    assert policy.quota("other").rho == Fraction(1, 100)
    assert policy.allows("definitions", "pure", Evidence(level=Level.PROVED))
    assert not policy.allows("definitions", "approximate", Evidence(level=Level.PROVED))
    assert policy.allows("definitions", "individual", Evidence(level=Level.NONE))
    assert policy.table.truncation == 7


@pytest.mark.parametrize(
    "content",
    [
        {"budget": {"rho": -1}},
        {"budget": {"rho": 10**9}},
        {"budget": {"delta": 1}},
        {"budget": {"delta": "nan"}},
        {"budget": {"rh": 1}},
        {"official_share": 2},
        {"approval_above": -1},
        {"allow": {"evidence": ["hope"]}},
        {"allow": {"most_cells": 0}},
        {"allow": {"most_cells": 10**12}},
        {"table": {"threshold": 0}},
        {"table": {"nonnegative": 1}},
        {"table": {"variance_cap": 0}},
        {"floors": {"x": 0}},
        {"analysts": {"a": {}}},
    ],
)
def test_refusals(content: dict[str, Any]) -> None:
    with pytest.raises((DocumentError, ParameterError)):
        load_policy(content)
