"""Routes of counts: the first that is asked for is taken, keys of the others are refused, and the answers are the known ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius.core import registry
from dalenius.core.plan import TablePlan
from dalenius.errors import DaleniusError
from dalenius.plans.count_route import routes
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

PURE = {"definition": "pure", "epsilon": 1}
STRATEGIES = {"refine": "coarse_then_fine", "sample": "secret_sample", "keyed": "keyed_list"}


def planned(table: dict[str, Any], privacy: dict[str, Any] = PURE) -> TablePlan:
    domain = load_dataset(rule_kit.DATASET).domain()
    return plan_of(domain, {"table": table, "privacy": privacy}, rule_kit.policy_of(None))


def test_places_differ_and_the_table_comes_last() -> None:
    places = [route.place for route in routes()]
    assert len(set(places)) == len(places)
    assert routes()[-1] is registry.get("plans.counts", "table")


@pytest.mark.parametrize("name", registry.names("plans.counts"))
def test_each_route_plans_its_own_examples(name: str) -> None:
    for example in registry.get("plans.counts", name).examples:
        plan = planned(example["table"], example["privacy"])
        assert plan.strategy == STRATEGIES.get(name, plan.strategy)
        assert (plan.strategy == "table") <= (name in ("table", "at_the_data"))


@pytest.mark.parametrize(
    ("keys", "unused"),
    [
        ({"keyed": True, "sample": "1/2"}, "keyed"),
        ({"refine": {"half": 5}, "sample": "1/2"}, "sample"),
        ({"refine": {"half": 5}, "keyed": True}, "keyed"),
        ({"ranges": {"region": "all"}, "refine": {"half": 5}}, "refine"),
        ({"margins": "all", "sample": "1/2"}, "sample"),
        ({"weight": "weight", "keyed": True}, "keyed"),
        ({"clamp": "data"}, "clamp"),
    ],
)
def test_keys_of_two_routes_do_not_go_together(keys: dict[str, Any], unused: str) -> None:
    with pytest.raises(DaleniusError, match=f"does not use '{unused}'"):
        planned({"rows": ["region"], **keys})


@pytest.mark.parametrize(
    "keys", [{"refine": {"half": 5}}, {"sample": "1/2"}, {"keyed": True}, {"ranges": {"region": "all"}}]
)
def test_a_step_that_stands_for_the_noise_is_for_one_plain_table(keys: dict[str, Any]) -> None:
    named = {"mechanism": "hellinger", "noise": {"limit": 20}}
    with pytest.raises(DaleniusError):
        planned({"rows": ["region"], **keys}, PURE | named)


def test_the_answer_is_the_known_one(ask: Callable[..., Any]) -> None:
    assert np.abs(ask(rows=["sex"])[0].values - [60, 39]).max() <= 1
