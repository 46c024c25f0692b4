"""What selections, curves and other answers lose, exactly, over all neighbours of tiny data, through request documents.

Every one is planned again with twice the budget, or more, and judged by what it should have been: the larger loss is found.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from dalenius.audit.charges import ALLOWED, ratio_of
from dalenius.audit.sensitivity import DataSet, columns_of
from dalenius.audit.steps import pair_of
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Relation
from dalenius.core.plan import TablePlan
from dalenius.engines.memory import MemorySource
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.exhaustive import neighbouring_pairs

KINDS = (("a", 0), ("a", 3), ("b", 1))
PURE = ("pure", "epsilon", 1)
TABLES: dict[str, tuple[dict[str, Any], tuple[str, str, int]]] = {
    "count": ({"rows": ["g"]}, PURE),
    "total": ({"rows": ["g"], "measure": "total", "of": "x"}, PURE),
    "range count": ({"measure": "range_count", "of": "x", "among": {"at_least": 1}}, PURE),
    "distribution": ({"rows": ["g"], "measure": "distribution", "of": "x", "bins": [0, 2]}, PURE),
    "distribution, normal noise": ({"measure": "distribution", "of": "x", "bins": 3}, ("zero_concentrated", "rho", 1)),
    "median": ({"measure": "median", "of": "x"}, PURE),
    "quantile, exponential": ({"measure": "quantile", "of": "x", "q": "1/4", "method": "exponential"}, PURE),
    "medians": ({"rows": ["g"], "measure": "median", "of": "x"}, PURE),
    "medians by depth": ({"rows": ["g"], "measure": "median", "of": "x", "method": "exponential"}, PURE),
    "quantile by distance, exponential": (
        {"measure": "quantile", "of": "x", "q": "1/4", "method": "exponential"},
        (*PURE, {"score": "distance"}),
    ),
    "median, cauchy": ({"measure": "median", "of": "x", "method": "cauchy"}, PURE),
    "median, lomax": ({"measure": "median", "of": "x", "method": "lomax"}, PURE),
    "median, student": ({"measure": "median", "of": "x", "method": "student"}, PURE),
    "median, polynomial": ({"measure": "median", "of": "x", "method": "polynomial"}, PURE),
    "median, laplace log-normal": (
        {"measure": "median", "of": "x", "method": "laplace_log_normal"},
        ("zero_concentrated", "rho", 1),
    ),
    "maximum": ({"measure": "maximum", "of": "x", "method": "cauchy"}, PURE),
    "minimum": ({"measure": "minimum", "of": "x", "method": "student"}, PURE),
    "second maximum": ({"measure": "second_maximum", "of": "x", "method": "lomax"}, PURE),
    "quantiles": ({"measure": "quantiles", "of": "x", "q": 4, "error": "noise"}, PURE),
    "median with its ends": ({"measure": "quantiles", "of": "x", "q": ["1/2"]}, PURE),
    "learned bounds": ({"rows": ["g"], "measure": "total", "of": "x", "learn": "1/4"}, PURE),
    "mode": ({"rows": ["g"], "measure": "mode"}, PURE),
    "mode, exponential": ({"rows": ["g"], "measure": "mode", "method": "exponential"}, PURE),
    "best": ({"rows": ["g"], "measure": "best", "of": "x"}, PURE),
}


@cache
def domain_of(relation: Relation) -> Domain:
    return DatasetDocument.from_dict(
        {
            "dataset": {"name": "d", "population": "p"},
            "unit": {"relation": str(relation)},
            "variables": {
                "g": {"categories": ["a", "b"], "missing": "a", "unseen": "a"},
                "x": {"bounds": [0, 3], "step": 1, "missing": "0"},
            },
        }
    ).domain()


@cache
def source_of(relation: Relation, data: DataSet) -> MemorySource:
    return MemorySource(domain_of(relation), columns_of(data, ["g", "x"]), b"secret")


def planned(name: str, relation: Relation, times: int = 1) -> TablePlan:
    table, (definition, key, amount, *noise) = TABLES[name]
    privacy = {"definition": definition, key: amount * times} | ({"noise": noise[0]} if noise else {})
    return plan_of(domain_of(relation), {"table": table, "privacy": privacy}, {})


def ratios(plan: TablePlan, relation: Relation) -> Iterator[float]:
    for here, there in neighbouring_pairs(KINDS, 3, domain_of(relation).neighbours):
        yield ratio_of(plan, pair_of(plan, source_of(relation, here), source_of(relation, there)))


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("name", TABLES)
def test_no_neighbours_lose_more_than_the_budget_and_a_larger_loss_is_found(name: str, relation: Relation) -> None:
    # The price of Laplace-log-normal noise is far above its loss here.
    plan, double = (planned(name, relation, times) for times in (1, 32 if "log-normal" in name else 2))
    found = max(ratios(plan, relation))
    assert 0 < found <= ALLOWED
    wrong = replace(double, budget=plan.budget, reservation=plan.reservation)
    assert max(ratios(wrong, relation)) > ALLOWED, f"{found:.3f} of the budget"
