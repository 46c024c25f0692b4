"""Plans for tables of survey weights: the weighted counts, and a second, charged table of squared weights.

The design-based variance of a weighted count is confidential too, so it is estimated from a table of its own. Under
Poisson sampling with inclusion probability 1/w the variance of a cell is sum w (w - 1); both sums are released with noise.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.contracts import Definition, Mechanism
from dalenius.core.domain import Domain
from dalenius.core.law import Additive, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.release import Block, Table
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import InternalError
from dalenius.measurements.noisy import Noisy
from dalenius.statistics.weighted_count import WeightedCount

Choose = Callable[[Sensitivity, Budget], Mechanism]


def plan_weighted(
    domain: Domain,
    query: TableQuery,
    weight: str,
    budget: Budget,
    definition: Definition,
    choose: Choose,
    *,
    is_fixed: bool,
    share_for_variance: Fraction = Fraction(1, 10),
) -> TablePlan:
    """Weighted counts with nine tenths of the budget, squared weights with the rest (none if the share is 0)."""
    step = domain.variable(weight).bounds.step
    parts = [(1, 1 - share_for_variance), (2, share_for_variance)]
    measurements = []
    for power, share in parts:
        if share == 0:
            continue
        statistic = WeightedCount.of(domain, weight, query.space, query.where, power=power, is_fixed=is_fixed)
        part = _share(budget, share)
        mechanism = choose(statistic.sensitivity(domain.neighbours), part)
        name = "weighted count" if power == 1 else "squared weights"
        measurements.append(Noisy(name, statistic, mechanism, step**power))
    profiles = [m.profile(domain.neighbours) for m in measurements]
    if not definition.fits(profiles, budget):
        raise InternalError("A plan for weighted counts exceeds its budget; nothing was read.")
    law = measurements[0].law
    return TablePlan(
        measurements=tuple(measurements),
        assemble=_assemble,
        law=law
        if len(measurements) == 1
        else Joint("weighted", {"blocks": [m.law.to_dict() for m in measurements]}),
        reservation=definition.cost(profiles),
        budget=budget,
        mechanism=measurements[0].mechanism.name,
        strategy="weighted",
        evidence=measurements[0].evidence,
        preview={
            "cells": query.space.size,
            "std_error": law.std_error,
            "largest_weight": str(domain.variable(weight).bounds.upper),
            "squared_weights": len(measurements) == 2,
        },
        warnings=("The weights are fixed by the custodian's declaration.",),
    )


def _share(budget: Budget, share: Fraction) -> Budget:
    """A part of every amount."""
    amounts = {name: getattr(budget, name) for name in ("epsilon", "delta", "rho")}
    return replace(budget, **{name: amount * share for name, amount in amounts.items() if amount is not None})


def _assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
    tables = []
    for block, measure in zip(blocks, ("weighted count", "squared weights"), strict=False):
        assert isinstance(block.law, Additive)
        variance = np.full(len(block.values), block.law.variance)
        variance[list(block.space.structural_indices)] = 0.0
        values = block.values.astype(np.float64) * float(block.law.step)
        tables.append(
            Table(name=block.name, space=block.space, values=values, variance=variance, measure=measure)
        )
    return tuple(tables)


def design_variance(tables: tuple[Table, ...]) -> Table:
    """Estimated sampling variance sum w (w - 1) of each weighted count, from the two released tables; never below zero."""
    weighted, squared = tables
    estimate = np.maximum(squared.values - weighted.values, 0.0)
    return replace(
        weighted,
        name="design variance",
        values=estimate,
        variance=weighted.variance + squared.variance,
        measure="design variance",
        is_unbiased=False,
    )
