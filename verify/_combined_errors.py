"""The kit of errors over the matrix of combinations: every estimator with every modifier, in every shape that plans.

Budgets are those of the estimator's first example, times so much that guards are clear of their noise: the kit judges
what is stated of errors, and a cell about which nothing is said has nothing to judge. They are not so large that noise
is narrower than a few whole numbers, because intervals of what is combined are normal. A public number of rows is used
for one number of all rows, so that each replicate is a file of its own there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import Any

from dalenius.core.law import Additive
from dalenius.core.plan import TablePlan
from dalenius.testing import error_kit
from dalenius.testing.combinations import asked, methods
from dalenius.testing.error_kit import ErrorFinding
from dalenius.testing.error_worlds import WORLDS
from dalenius.testing.simulated import QUICK, ReplicatedExample, Request, SimulationEffort, in_world
from dalenius_lab.combinations import Combination, combined, matrix

THIN = SimulationEffort(cells=48, limited=48, listed=20, lists=1, chosen=9, numbers=9)
"""For what is judged in every run of the tests, in one world."""
LARGER = {"number": 4, "table": 4, "list": 16}
"""By how much the budget of an estimator's example is multiplied: lists share it among margins."""
LARGEST = 1000
"""A budget may be so large."""
NARROWEST = 3
"""Standard deviations of noise are at least so many whole numbers, or a quarter of the budget is taken."""
_HIDDEN = "cells of few rows are hidden, so that corners do not show what weights make possible"
_PRODUCTS = (
    "products of four numbers carry noise that hides a small error of sampling, which is never stated below zero, so "
    "that intervals are too wide; influences do not add up along margins, and a table of them for each margin had "
    "more noise in the finest one, in equal shares of epsilon"
)
KNOWN = {
    ("", "", "list", "limits"): "quotients of a list stay one sum over another, so that lists add up; "
    "`infer intervals` cuts them to the bounds",
    ("", "weighted", "", "limits"): _HIDDEN,
    ("correlation", "", "list", "variance"): _PRODUCTS,
    ("covariance", "", "list", "variance"): _PRODUCTS,
    (
        "correlation",
        "bootstrap",
        "",
        "variance",
    ): "near a perfect correlation influences are hardly more than the noise "
    "in their spread, which is never stated below zero: intervals are too wide",
}
"""What is not kept, by estimator, modifier, shape (where one is named) and judgement, and why."""
SEVERAL_RESAMPLES = 20
"""Replicates of a bootstrap, in place of the few of its example."""


def cells(*estimators: str, shapes: Sequence[str] = tuple(LARGER)) -> Iterator[Combination]:
    """Cells of the matrix that plan, shape by shape; of all estimators, or of the named ones."""
    every = (cell for shape in shapes for cell in matrix(shapes=(shape,), estimators=estimators))
    return (cell for cell in every if not cell.refusal)


def replicated(cell: Combination, effort: SimulationEffort = QUICK) -> ReplicatedExample:
    """What is simulated of a cell. Raises `AssertionError` where no way to ask for it is planned."""
    method, modifier = methods()[cell.estimator], {each.name: each for each in combined()}[cell.modifiers[0]]
    for is_brief in (False, True):
        for budget in _budgets(method, cell.shape):
            request, dataset = asked(method, (modifier,), cell.shape, budget, is_brief=is_brief)
            made = ReplicatedExample.of(method.name, _resampled(request), effort, is_sized=_is_sized(dataset))
            plan = made.planned()
            if plan is not None and not _is_narrow(plan):
                return made
    raise AssertionError(f"{name_of(cell)} is not planned on simulated files")


def findings(cell: Combination, effort: SimulationEffort = QUICK) -> list[ErrorFinding]:
    """Everything that a cell does not keep and that is not listed."""
    example = replicated(cell, effort)
    found = error_kit.judge(example, name_of(cell))
    if any(each.judgement == "variance" for each in found):
        large = _overstated(example, name_of(cell))
        found = [each for each in found if each.judgement != "variance" or _error_of(each) in large]
    return [each for each in found if not is_listed(cell, each)]


def is_listed(cell: Combination, finding: ErrorFinding) -> bool:
    """Whether a reason is known for what a cell does not keep."""
    own = (cell.estimator, *cell.modifiers, cell.shape, finding.judgement)
    return any(all(a in ("", b) for a, b in zip(listed, own, strict=True)) for listed in KNOWN)


def _overstated(example: ReplicatedExample, seed: str) -> set[str]:
    """Which of both errors is stated wrongly for a larger budget, too.

    A variance of sampling that noise hides is stated as zero where it is measured below, so that it is too large on
    average, and numbers that are cut to what is possible vary less than noise does; coverage is judged all the same.
    """
    privacy = {**example.request["privacy"]}
    for key, factor in (("rho", 25), ("epsilon", 5)):
        if key in privacy:
            privacy[key] = str(min(factor * Fraction(str(privacy[key])), LARGEST))
    large = replace(example, request={**example.request, "privacy": privacy})
    worlds = [in_world(large, world, f"{seed} {world}") for world in [*WORLDS][: large.worlds]]
    return {*map(_error_of, error_kit.judge_variance(worlds))}


def _error_of(finding: ErrorFinding) -> str:
    """The error that a variance is of: of noise, or of noise and sampling."""
    return finding.detail.partition(":")[0]


def name_of(cell: Combination) -> str:
    return f"{cell.estimator}, {cell.modifiers[0]}, {cell.shape}"


def _budgets(method: Any, shape: str) -> Iterator[Mapping[str, Any]]:
    """In rho with a delta for those who need one, or in epsilon; each a quarter of the one before."""
    privacy = method.examples[0]["privacy"]
    epsilon = Fraction(str(privacy.get("epsilon", 0)))
    rho = LARGER[shape] * (Fraction(str(privacy["rho"])) if "rho" in privacy else epsilon**2 / 2)
    quarters = [rho / 4**k for k in range(4)]
    yield from ({"definition": "zero_concentrated", "rho": str(own), "delta": "1/1000000"} for own in quarters)
    yield from ({"definition": "pure", "epsilon": str(Fraction(isqrt(int(200 * own)), 10))} for own in quarters)


def _resampled(request: Request) -> Request:
    if "replicates" not in request["table"]:
        return request
    return {**request, "table": {**request["table"], "replicates": SEVERAL_RESAMPLES}}


def _is_sized(dataset: Mapping[str, Any]) -> bool:
    return any("size" in section for section in dataset.values())


def _is_narrow(plan: TablePlan) -> bool:
    laws = [getattr(measurement, "law", None) for measurement in plan.measurements]
    return any(isinstance(law, Additive) and law.noise.variance < NARROWEST**2 for law in laws)
