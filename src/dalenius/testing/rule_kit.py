"""Every rule of a policy on every route of every method: each is refused or honoured, none is left aside.

Rules come from the fields of the policy document and methods from the registry, so that a new one of either is tried by
itself. A method without an example is an error of the kit.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core import registry
from dalenius.core.law import Additive
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.release import Release
from dalenius.curator.curator import Curator
from dalenius.errors import BudgetError, PolicyError, RequestError
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.testing.asking import with_named

DATASET: dict[str, Any] = {
    "dataset": {"name": "toys", "population": "toys", "public": True},
    "design": {"draws": "independent"},
    "variables": {
        "sex": {"categories": ["female", "male"], "missing": "male", "unseen": "male"},
        "region": {
            "categories": ["north", "east", "south"],
            "missing": "south",
            "unseen": "south",
            "hierarchies": {"half": {"upper": ["north", "east"], "lower": ["south"]}},
        },
        "status": {"categories": ["single", "married", "widowed"], "missing": "single", "unseen": "single"},
        "age": {"bounds": [0, 100], "step": 1, "missing": 0},
        "income": {"bounds": [0, 40], "step": 1, "missing": 0},
        "weight": {"weight": True, "bounds": [1, 3], "step": "0.5", "missing": 1},
        "job": {"categories": ["baker", "other"], "missing": "other", "unseen": "other", "unlisted": True},
    },
    "structural_zeros": [{"sex": "male", "status": "widowed"}],
}
ROWS: dict[str, list[Any]] = {
    "sex": ["female", "male", "female"] * 9,
    "region": ["north", "east", "south"] * 9,
    "status": ["single", "married", "widowed"] * 9,
    "age": [20, 40, 60] * 9,
    "income": [5, 12, 30] * 9,
    "weight": [1.0, 2.0, 1.5] * 9,
    "job": ["baker", "=smith", "<b>weaver</b>"] * 9,
}
OPEN = ("individual", "bootstrap", "fixed_weights")
FLOORS = {"individual": 1, "bootstrap": 1}
GENEROUS = {"rho": 1000, "delta": "0.1"}

Judge = Callable[[TablePlan, Release], bool]


@dataclass(frozen=True)
class Rule:
    """A rule as a part of a policy document, and whether a plan with its release keeps it."""

    policy: Mapping[str, Any]
    is_kept: Judge


@dataclass(frozen=True)
class Finding:
    """A cell of the matrix in which a rule was neither honoured nor a reason to refuse."""

    rule: str
    method: str
    route: str
    document: Mapping[str, Any]


def routes() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(method, route, request) for every example of every method, plain and with what other routes write."""
    for name, method in registry.every("methods").items():
        if not method.examples:
            raise AssertionError(f"The method {name!r} has no example.")
        for number, example in enumerate(method.examples):
            table, privacy = dict(example["table"]), dict(example["privacy"])
            axes = [*table.get("rows", ()), *table.get("columns", ())]
            two: dict[str, Any] = {"definition": "approximate", "epsilon": 4, "delta": "1e-4"}
            is_weaker = registry.get("definitions", privacy["definition"])().scope is not Scope.ALL_DATA
            for route, more, named in (
                ("plain", {}, {}),
                ("margins", {"margins": "all"}, {}),
                ("list", {"margins": [axes[:1], []]}, {}),
                ("levels", {"margins": [["region.half"]]}, {}),
                ("strategy", {}, {"strategy": "interior"}),
                ("mechanism", {}, {"mechanism": "discrete_laplace"}),
            ):
                yield name, f"{route} {number}", {"table": table | more, "privacy": privacy | named}
            if not is_weaker:
                yield name, f"two numbers {number}", {"table": table, "privacy": two}
    for strategy in registry.names("plans.margins.strategies"):
        for privacy in (PURE, ALL):
            asked = {"table": PAIRS, "privacy": privacy | {"strategy": strategy}}
            yield DEFAULT_MEASURE, f"strategy {strategy} {privacy['definition']}", asked


PURE, ALL = {"definition": "pure", "epsilon": 4}, {"definition": "zero_concentrated", "rho": 40}
PAIRS: dict[str, Any] = {"rows": ["sex"], "columns": ["job"], "margins": "all"}
"""Margins of two categories each, which every strategy can measure under one of two guarantees."""


def _is_shown_from(least: int) -> Judge:
    """Whole counts of at least this size, or zero, in every table and every block of the document."""

    def is_kept(_: TablePlan, release: Release) -> bool:
        shown = [value for table in release.tables for value in table.values.tolist()]
        shown += [value for block in release.blocks for value in block.values.tolist()]
        return all(table.measure == "count" for table in release.tables) and all(
            value == 0 or (value >= least and float(value).is_integer()) for value in shown
        )

    return is_kept


def _is_within(cap: float) -> Judge:
    def is_kept(_: TablePlan, release: Release) -> bool:
        laws = [b.law for b in release.blocks if isinstance(b.law, Additive)]
        variances = [v for table in release.tables for v in table.variance.tolist()]
        if isinstance(release.law, Additive):
            # A table of one additive block may leave the variance to the law.
            variances = [v for v in variances if not np.isnan(v)]
        return all(v <= cap for v in [*variances, *(law.variance for law in laws)])

    return is_kept


def _has_noise(name: str) -> Judge:
    def is_kept(plan: TablePlan, _: Release) -> bool:
        laws = [measurement.law for measurement in plan.measurements]
        return all(
            isinstance(law, Additive) and law.noise.name == name and law.noise.support == (-40, 40) for law in laws
        )

    return is_kept


def _is_opened(plan: TablePlan, name: str) -> bool:
    """Whether the plan's definition, which the kit acknowledges, brings its own noise."""
    return plan.definition in OPEN or name in OPEN


def _mechanisms(plan: TablePlan) -> list[str]:
    own = [getattr(measurement, "mechanism", None) for measurement in plan.measurements]
    return [plan.mechanism if mechanism is None else str(mechanism.name) for mechanism in own]


RULES: dict[str, Rule] = {
    "table.threshold": Rule({"table": {"threshold": 5}}, _is_shown_from(5)),
    "table.nonnegative": Rule({"table": {"nonnegative": True}}, _is_shown_from(1)),
    "table.sparse": Rule({"table": {"sparse": 10**6}}, lambda _, release: not release.tables and not release.blocks),
    "table.truncation": Rule({"table": {"truncation": 40}}, _has_noise("truncated_laplace")),
    "table.maximum_entropy": Rule(
        {"table": {"maximum_entropy": True, "truncation": 40, "variance_cap": 30}}, _has_noise("max_entropy")
    ),
    "table.variance_cap": Rule({"table": {"variance_cap": "1.9"}}, _is_within(1.9)),
    "table.structural_zeros": Rule(
        {"table": {"structural_zeros": False}},
        lambda _, release: (
            not any(table.space.structural_zeros for table in release.tables)
            and not any(block.space.structural_zeros for block in release.blocks)
        ),
    ),
    "table.unbiased": Rule(
        {"table": {"unbiased": True}}, lambda _, release: all(table.is_unbiased for table in release.tables)
    ),
    "allow.definitions": Rule(
        {"allow": {"definitions": ["zero_concentrated"]}},
        lambda plan, _: plan.definition in ("zero_concentrated", *OPEN),
    ),
    "allow.mechanisms": Rule(
        {"allow": {"mechanisms": ["discrete_laplace"]}},
        lambda plan, _: all(n == "discrete_laplace" or _is_opened(plan, n) for n in _mechanisms(plan)),
    ),
    "allow.evidence": Rule(
        {"allow": {"evidence": ["enumerated"]}},
        lambda plan, _: all(
            str(m.evidence.level) == "enumerated" or _is_opened(plan, plan.mechanism) for m in plan.measurements
        ),
    ),
    "allow.acknowledge": Rule(
        {"allow": {"acknowledge": []}},
        lambda plan, _: (
            plan.neighbours.scope is Scope.ALL_DATA
            and not any(getattr(getattr(m, "statistic", None), "is_fixed", False) for m in plan.measurements)
        ),
    ),
    "allow.extensions": Rule({"allow": {"extensions": {}}}, lambda plan, _: not plan.extensions),
    "allow.most_cells": Rule(
        {"allow": {"most_cells": 1}}, lambda _, release: all(table.space.size == 1 for table in release.tables)
    ),
    "floors": Rule(
        {"floors": {"income": 17}},
        lambda plan, _: all(getattr(measurement, "floor", 17) >= 17 for measurement in plan.measurements),
    ),
}


def policy_of(rule: Rule | None) -> dict[str, Any]:
    """A policy that opens everything and spends freely, but for one rule."""
    own = {} if rule is None else rule.policy
    return with_named(
        {
            "allow": {"acknowledge": list(OPEN), **own.get("allow", {})},
            "floors": own.get("floors", FLOORS),
            "table": own.get("table", {}),
            "budget": GENEROUS,
        }
    )


def findings(
    open_curator: Callable[[dict[str, Any]], Curator], only: str | None = None, method: str | None = None
) -> tuple[list[Finding], int]:
    """Cells of the matrix (of one rule or method) where a rule was ignored, and how many were released and judged."""
    ignored, judged = [], 0
    for name, rule in RULES.items():
        if only is not None and name != only:
            continue
        with ExitStack() as stack:
            curator = _opened(open_curator, rule, stack)
            for asked, route, document in routes():
                if method not in (None, asked):
                    continue
                try:
                    plan = curator.plan(document)
                except (PolicyError, RequestError):
                    continue
                judged += 1
                try:
                    release = curator.release(document)
                except BudgetError:
                    curator = _opened(open_curator, rule, stack)
                    release = curator.release(document)
                if not rule.is_kept(plan, release):
                    ignored.append(Finding(name, asked, route, document))
    return ignored, judged


def _opened(open_curator: Callable[[dict[str, Any]], Curator], rule: Rule, stack: ExitStack) -> Curator:
    curator = stack.enter_context(open_curator(policy_of(rule)))
    curator.register()
    return curator
