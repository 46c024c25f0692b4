"""One count under individual privacy: the noise of a pure one, one number, a clamp that the custodian must name."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dalenius.core.budget import MASTER
from dalenius.core.law import Additive
from dalenius.errors import DaleniusError
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

INDIVIDUAL = {"definition": "individual", "epsilon": 1}


def planned(**table: Any) -> Any:
    policy = rule_kit.policy_of(None)
    return plan_of(load_dataset(rule_kit.DATASET).domain(), {"table": table, "privacy": INDIVIDUAL}, policy)


def test_the_answer_is_the_known_one_with_the_noise_of_a_pure_one(ask: Callable[..., Any]) -> None:
    (table,) = ask("individual", 40, where={"sex": ["female"]})
    assert abs(table.values[0] - 60) <= 1
    plan = planned(where={"sex": ["female"]})
    assert plan.law == Additive(DiscreteLaplace(Fraction(1))) and plan.account != MASTER


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"rows": ["sex"]}, "no data-dependent noise"),
        ({"clamp": "data"}, "must be named by the custodian"),
        ({"clamp": "twice"}, "clamp"),
        ({"keyed": True}, "does not use 'keyed'"),
    ],
)
def test_tables_and_clamps_nobody_named_are_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(DaleniusError, match=words):
        planned(**table)
