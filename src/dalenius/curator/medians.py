"""Plans for medians and other quantiles, cell by cell: looks at documents, never at data."""

from fractions import Fraction
from math import isqrt

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.contracts import Definition
from dalenius.core.domain import Domain
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.rationals import plain, rational
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.learned_bounds import cell_queries
from dalenius.measurements.quantile_table import QuantileTable


def plan_median(
    domain: Domain, query: TableQuery, of: str, budget: Budget, definition: Definition, q: object = "1/2"
) -> TablePlan:
    """One quantile for each cell, by default the median."""
    epsilon = pure_amount(budget)
    bounds = domain.variable(of).bounds
    level = rational(q, "q")
    what = "median" if level == Fraction(1, 2) else f"quantile {plain(level)}"
    measurement = QuantileTable(
        name=f"{what} of {of}",
        space=query.space,
        queries=cell_queries(domain, of, query.space, query.where),
        low=bounds.low,
        high=bounds.high,
        epsilon=epsilon,
        neighbours=domain.neighbours,
        q=level,
        step=bounds.step,
    )
    profile = measurement.profile(domain.neighbours)
    if not definition.fits([profile], budget):
        raise Unsupported(
            f"Medians are selections of bounded loss; they do not fit {budget.definition!r} here."
        )

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        (block,) = blocks
        values = block.values.astype(np.float64) * float(bounds.step)
        unknown = np.full(len(values), np.nan)
        return (
            Table(
                name=block.name,
                space=block.space,
                values=values,
                variance=unknown,
                measure=what,
                is_unbiased=False,
            ),
        )

    return TablePlan(
        measurements=(measurement,),
        assemble=assemble,
        law=measurement.law,
        reservation=definition.cost([profile]),
        budget=budget,
        mechanism="exponential_quantile",
        strategy="selection",
        evidence=measurement.evidence,
        preview={"cells": query.space.size, "law": measurement.law.to_dict(), "step": plain(bounds.step)},
        warnings=(
            "A released median is a selected value: its error depends on how dense the data are around it, which is not"
            " published. It is reliable where a cell holds many records.",
        ),
    )


def pure_amount(budget: Budget) -> Fraction:
    """The epsilon of a selection under a budget; rho pays for an epsilon of bounded range with epsilon^2 / 8 = rho."""
    if budget.epsilon is not None:
        return budget.epsilon
    if budget.rho is None:
        raise ParameterError("A median needs epsilon or rho.", name="epsilon")
    # The largest rational of a short denominator whose square does not exceed 8 rho.
    scaled = 8 * budget.rho * 10**12
    return Fraction(isqrt(scaled.numerator // scaled.denominator), 10**6)
