"""Plans whose later steps are made of answers: every answer is gone through, and every such plan has a tiny request."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any
from unittest.mock import patch

import pytest
from tests.conformance import two_step_kit

from dalenius.core import registry
from dalenius.core.contracts import Measurement
from dalenius.core.domain import Bounds, Categories, Domain, Hierarchy, Variable
from dalenius.core.estimate import Draws
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TwoStepPlan
from dalenius.core.release import Block
from dalenius.engines.memory import MemorySource
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.plans import block_design
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

PURE = {"definition": "pure", "epsilon": 4}
CONCENTRATED = {"definition": "zero_concentrated", "rho": 4}
APPROXIMATE = {"definition": "approximate", "epsilon": 2, "delta": "1e-6"}
MEAN = {"measure": "mean", "of": "x", "learn": "1/5", "clip": [-1, 0, 2]}
CLIP = {"measure": "clipped_count", "rows": ["g"], "clip": [1, "3/2", 2], "learn": "1/7"}
BLOCKS = {"measure": "sample_and_aggregate", "of": "x", "model": "exponential", "clip": [0, 1], "blocks": 40}
REFINED = {"rows": ["g"], "refine": {"half": 2}}
PAIR = {"of": "x", "other": "y"}
CASES = [
    *(
        (table, budget)
        for table in (REFINED, CLIP, CLIP | {"norm": "l2"})
        for budget in (PURE, CONCENTRATED, APPROXIMATE)
    ),
    *(
        (table, budget)
        for table in (
            MEAN,
            MEAN | {"bound_clipped": True},
            MEAN | {"rows": ["g"], "error": "noise"},
            PAIR | {"measure": "covariance"},
            PAIR | {"measure": "correlation"},
            {"measure": "median", "of": "x"},
            {"measure": "quantiles", "of": "x", "q": ["1/4", "1/2"]},
            {"measure": "median", "of": "x", "weight": "w"},
            {"measure": "quantiles", "of": "x", "q": ["1/4", "1/2"], "weight": "w"},
        )
        for budget in (PURE, CONCENTRATED)
    ),
    ({"measure": "total", "of": "x", "rows": ["g"], "learn": "1/5"}, PURE),
    (BLOCKS | {"aggregate": "winsorised"}, PURE | {"epsilon": 90}),
]


def domain_of(neighbours: Neighbours) -> Domain:
    """Three categories in two groups, and two small numbers; persons where the guarantee is about them."""
    labels = Categories(labels=("a", "b", "c"))
    halves = Hierarchy.of("half", {"first": ("a", "b"), "rest": ("c",)}, labels)
    ends = {"lower": Fraction(-1), "upper": Fraction(2)}
    variables = {"g": Variable(name="g", domain=labels, hierarchies=(halves,))}
    variables |= {name: Variable(name=name, domain=Bounds(missing="0", **ends)) for name in ("x", "y")}
    heavy = Bounds(lower=Fraction(0), upper=Fraction(40), missing="0")
    variables["w"] = Variable(name="w", domain=heavy, is_weight=True)
    return Domain(
        name="tiny",
        population="tiny",
        version="1",
        variables=variables,
        neighbours=neighbours,
        draws=Draws.INDEPENDENT,
        unit_id="person" if neighbours.unit == "person" else None,
    )


def planned(table: dict[str, Any], privacy: dict[str, Any], relation: Relation = Relation.ADD_REMOVE) -> TwoStepPlan:
    is_clip = table.get("measure") == "clipped_count"
    neighbours = Neighbours(relation=relation, **({"unit": "person", "max_rows": 2} if is_clip else {}))
    request = {"table": table, "privacy": privacy}
    with patch.object(block_design, "Blocks", partial(Blocks, width=8)):
        plan = plan_of(domain_of(neighbours), request, rule_kit.policy_of(None))
    assert isinstance(plan, TwoStepPlan)
    return plan


def source() -> MemorySource:
    columns = {"g": ["a", "b", "c"], "x": [-1, 0, 2], "y": [0, 1, 1], "w": [1, 40, 9], "person": [1, 1, 2]}
    return MemorySource(domain_of(Neighbours(unit="person", max_rows=2)), columns, b"key")


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("table", "privacy"), CASES)
def test_whatever_was_released_all_steps_fit_the_reservation(
    table: dict[str, Any], privacy: dict[str, Any], relation: Relation
) -> None:
    assert two_step_kit.check(planned(table, privacy, relation), source()) > 1


def test_every_plan_of_two_steps_is_gone_through() -> None:
    domain = load_dataset(rule_kit.DATASET).domain()
    known = {(table.get("measure", "count"), planned(table, budget).strategy) for table, budget in CASES}
    known |= {("clipped_total", "learned_clip"), ("boxplot", "quantiles"), ("quantile", "quantiles")}
    for name, method in registry.every("methods").items():
        for example in method.examples:
            request = {"table": {"measure": name, **example["table"]}, "privacy": example["privacy"]}
            plan = plan_of(domain, request, rule_kit.policy_of(None))
            assert not isinstance(plan, TwoStepPlan) or (name, plan.strategy) in known, (
                f"{plan.strategy} has no tiny request"
            )


def dearer_where_a_count_is_large(plan: TwoStepPlan) -> TwoStepPlan:
    """The second step has twice the rate after one answer in a thousand."""

    def then(worst: Any, released: tuple[Block, ...]) -> Measurement | None:
        step: Any = plan.then(worst, released)
        if released[0].values.min() < 2**30:
            return step
        return replace(step, mechanism=DiscreteLaplace(2 * step.mechanism.rate))

    return replace(plan, then=then)


def changing_its_mind(plan: TwoStepPlan) -> TwoStepPlan:
    """The second step has another name each time."""
    numbers: Iterator[int] = count()

    def then(worst: Any, released: tuple[Block, ...]) -> Measurement | None:
        return replace(worst, name=f"fine {next(numbers)}")

    return replace(plan, then=then)


def refunding(plan: TwoStepPlan) -> TwoStepPlan:
    """Reserved as if there were no second step."""
    return replace(plan, reservation=plan.measurements[0].profile(plan.neighbours).cost())


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (dearer_where_a_count_is_large, "exceed the budget"),
        (changing_its_mind, "nothing else"),
        (refunding, "exceed the reservation"),
        (lambda plan: replace(plan, first=2), "a first and a later"),
    ],
)
def test_planted_faults_are_found(fault: Any, reason: str) -> None:
    right = planned(REFINED, PURE | {"mechanism": "discrete_laplace"})
    assert two_step_kit.check(right, source())
    with pytest.raises(AssertionError, match=reason):
        two_step_kit.check(fault(right), source())
