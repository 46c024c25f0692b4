"""Median: the known answer on fixed records."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius.curator.memo import plan_digest
from dalenius.errors import DaleniusError
from dalenius.spec.load import load_dataset, load_policy
from dalenius.spec.remarks import remark
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of


def test_the_answer_is_the_known_one(ask: Callable[..., Any]) -> None:
    table = ask(rows=["sex"], measure="median", of="income")[0]
    assert np.abs(table.values - [30.5, 80]).max() <= 1


def test_by_depth_the_law_says_so_and_by_distance_the_plan_advises_it(ask: Callable[..., Any]) -> None:
    """What a request means that leaves the score out does not change; the advice stands in no release."""
    documents = [
        {
            "table": {"rows": ["sex"], "measure": "median", "of": "income"} | more,
            "privacy": {"definition": "pure", "epsilon": 1},
        }
        for more in ({}, {"score": "distance"}, {"score": "depth"})
    ]
    plans = [plan_of(load_dataset(rule_kit.DATASET).domain(), document, {}) for document in documents]
    digests = [plan_digest(plan, load_policy(rule_kit.policy_of(None))) for plan in plans]
    assert digests[0] == digests[1] != digests[2]
    assert "score" not in plans[0].law.parameters and plans[2].law.parameters["score"] == "depth"
    said = remark("score_distance")
    assert said in plans[0].advice and said not in (*plans[0].warnings, *plans[2].notes)


def test_a_score_is_refused_where_nothing_is_selected_by_it() -> None:
    for more in ({"method": "cauchy"}, {"method": "unbounded"}):
        document = {
            "table": {"measure": "median", "of": "income", "score": "depth", **more},
            "privacy": {"definition": "pure", "epsilon": 1},
        }
        with pytest.raises(DaleniusError, match="score"):
            plan_of(load_dataset(rule_kit.DATASET).domain(), document, {})
