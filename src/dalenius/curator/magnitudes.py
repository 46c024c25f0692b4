"""Plans for totals and means under declared bounds: looks at documents, never at data.

A total is the clamped sum in declared steps plus noise. A mean is a centred total and a count, measured side by side
with half the budget each and divided afterwards: neither is biased, their ratio is nearly unbiased, and where the
released count is below one there is no mean. Both are of the same rows: those that have the number.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.contracts import Definition, Mechanism
from dalenius.core.domain import DROP, Domain
from dalenius.core.law import Additive, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import Aggregate, TableQuery
from dalenius.core.release import Block, Table
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import InternalError, Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.statistics.count import Count
from dalenius.statistics.magnitude_table import MagnitudeTable

Choose = Callable[[Sensitivity, Budget], Mechanism]


def plan_total(
    domain: Domain, query: TableQuery, of: str, budget: Budget, definition: Definition, choose: Choose
) -> TablePlan:
    """One noisy total for each cell."""
    statistic = MagnitudeTable.of(domain, of, query.space, query.where)
    step = domain.variable(of).bounds.step
    mechanism = choose(statistic.sensitivity(domain.neighbours), budget)
    measurement = Noisy(f"total of {of}", statistic, mechanism, step)
    profile = measurement.profile(domain.neighbours)

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        (block,) = blocks
        return (table_of(block, "total"),)

    return TablePlan(
        measurements=(measurement,),
        assemble=assemble,
        law=measurement.law,
        reservation=definition.cost([profile]),
        budget=budget,
        mechanism=mechanism.name,
        strategy="table",
        evidence=mechanism.evidence,
        preview=_preview(query, measurement.law),
    )


def plan_mean(
    domain: Domain, query: TableQuery, of: str, budget: Budget, definition: Definition, choose: Choose
) -> TablePlan:
    """A count and a centred total for each cell; the mean is centre + total / count."""
    bounds = domain.variable(of).bounds
    centre = (bounds.low + bounds.high) // 2
    half = halved(budget)
    # A row without the number is in no total, so it must not be in the count that the total is divided by.
    may_lack = DROP in (bounds.missing, bounds.outside)
    counting = Count(replace(query, value=of) if may_lack else query)
    summing = MagnitudeTable(
        query=replace(query, aggregate=Aggregate.TOTAL, value=of, centre=centre),
        low=bounds.low - centre,
        high=bounds.high - centre,
    )
    name = f"count of rows with {of}" if may_lack else "count"
    count = Noisy(name, counting, choose(counting.sensitivity(domain.neighbours), half))
    total = Noisy(
        f"total of {of} about the centre",
        summing,
        choose(summing.sensitivity(domain.neighbours), half),
        bounds.step,
    )
    profiles = [count.profile(domain.neighbours), total.profile(domain.neighbours)]
    if not definition.fits(profiles, budget):
        raise Unsupported(
            f"The two halves of a mean do not fit {budget.definition!r}; use zero_concentrated."
        )
    middle = float(centre * bounds.step)

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        counts, totals = table_of(blocks[0], "count"), table_of(blocks[1], "centred total")
        return (ratio_about(middle, totals, counts, f"mean of {of}"), counts)

    return TablePlan(
        measurements=(count, total),
        assemble=assemble,
        # The law tells a mean over such rows from the one that counted every row, so that neither is served for the other.
        law=Joint("mean", {"centre": str(centre * bounds.step)} | ({"counted": name} if may_lack else {})),
        reservation=definition.cost(profiles),
        budget=budget,
        mechanism=total.mechanism.name,
        strategy="mean",
        evidence=total.evidence,
        preview=_preview(query, total.law)
        | {"note": "the error of a mean is about the error of the total divided by the released count"},
        warnings=("A mean is a ratio of two released numbers: nearly unbiased where the count is large.",),
    )


def halved(budget: Budget) -> Budget:
    """Half of every amount."""
    two = Fraction(2)
    return Budget(
        definition=budget.definition,
        epsilon=None if budget.epsilon is None else budget.epsilon / two,
        delta=None if budget.delta is None else budget.delta / two,
        rho=None if budget.rho is None else budget.rho / two,
    )


def ratio_about(centre: float, totals: Table, counts: Table, name: str) -> Table:
    """centre + total / count with its first-order variance; NaN where the released count is below one."""
    enough = counts.values >= 1
    n = np.where(enough, counts.values, np.nan)
    mean = totals.values / n
    variance = (totals.variance + mean**2 * counts.variance) / n**2
    return Table(
        name=name,
        space=totals.space,
        values=centre + mean,
        variance=variance,
        measure="mean",
        is_unbiased=False,
    )


def table_of(block: Block, measure: str) -> Table:
    """An additive block in the units of its variable."""
    if not isinstance(block.law, Additive):
        raise InternalError("A magnitude block is additive.")
    values = block.values.astype(np.float64) * float(block.law.step)
    variance = np.full(len(values), block.law.variance)
    variance[list(block.space.structural_indices)] = 0.0
    return Table(name=block.name, space=block.space, values=values, variance=variance, measure=measure)


def _preview(query: TableQuery, law: Additive) -> dict[str, object]:
    return {
        "cells": query.space.size,
        "structural_zeros": len(query.space.structural_zeros),
        "std_error": law.std_error,
        "half_width_95": float(law.half_width(0.95) * law.step),
        "law": law.to_dict(),
    }
