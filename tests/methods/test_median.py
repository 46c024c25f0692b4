"""Median: the known answer on fixed records."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius.curator.memo import plan_digest
from dalenius.errors import DaleniusError
from dalenius.spec.load import load_dataset, load_policy
from dalenius.spec.table import table
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of


def test_the_answer_is_the_known_one(ask: Callable[..., Any]) -> None:
    table = ask(rows=["sex"], measure="median", of="income")[0]
    assert np.abs(table.values - [30.5, 80]).max() <= 1


def test_a_median_has_both_intervals_and_they_are_the_method_of_products(ask: Callable[..., Any]) -> None:
    table = ask(rows=["sex"], measure="median", of="income", amount=100)[0]
    assert np.isfinite(table.variance).all() and (table.sampled >= table.variance).all()
    alone = ask(measure="median", of="income", error="noise", amount=100)[0]
    assert alone.sampled is None and np.isfinite(alone.variance).all()


def test_a_value_that_is_selected_alone_goes_by_depth_unless_it_is_asked_otherwise() -> None:
    plans = [
        plan_of(
            load_dataset(rule_kit.DATASET).domain(),
            {
                "table": {"rows": ["sex"], "measure": "median", "of": "income", "method": "exponential"},
                "privacy": {"definition": "pure", "epsilon": 1, "noise": noise},
            },
            {},
        )
        for noise in ({}, {"score": "depth"}, {"score": "distance"})
    ]
    digests = [plan_digest(plan, load_policy(rule_kit.policy_of(None))) for plan in plans]
    assert digests[0] == digests[1] != digests[2]
    assert [plan.law.parameters["score"] for plan in plans] == ["depth", "depth", "distance"]


@pytest.mark.parametrize(
    "more",
    [
        {"noise": {"score": "depth"}},
        {"method": "cauchy", "noise": {"score": "depth"}},
        {"method": "unbounded", "noise": {"score": "depth"}},
        {"method": "exponential", "error": "sampling"},
    ],
)
def test_a_key_is_refused_where_nothing_goes_by_it(more: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError, match=r"score|error|does not name"):
        plan_of(load_dataset(rule_kit.DATASET).domain(), table(measure="median", of="income", epsilon=1, **more), {})
