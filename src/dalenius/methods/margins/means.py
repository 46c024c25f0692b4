"""A list of means: a list of counts and a list of totals about the centre of the bounds, with half of the budget each.

Every margin is shown three times, as counts, totals and means, and all agree: the mean is the total over the count,
counts and totals add up along margins and levels, so that the mean of the nation is the mean of its regions weighted by
their counts. Means are therefore not cut at the declared bounds, which small cells may leave; their intervals are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.core.contracts import Measurement
from dalenius.core.domain import DROP, Bounds
from dalenius.core.law import MEANS, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.release import Block, Table
from dalenius.methods.margins.plan import plan_margins
from dalenius.plans.moments import NOISE_ALONE, TYPICAL
from dalenius.plans.priced import priced, share
from dalenius.spec.notes import note
from dalenius.spec.question import Question


def plan_means(question: Question, weight: tuple[str, Bounds] | None = None) -> TablePlan:
    """Both lists, priced as one; with a weight and its bounds, of weighted counts and totals."""
    bounds, of = question.bounds, question.of
    centre = (bounds.low + bounds.high) // 2
    half = share(question.budget, Fraction(1, 2))
    # A row without the number is in no total, so it must not be in the count that the total is divided by.
    may_lack = DROP in (bounds.missing, bounds.outside)
    counted = Amounts.counting(of) if may_lack else None
    summed = Amounts.of(of, bounds, centre)
    if weight is not None:
        counted, summed = (amounts.times(*weight) for amounts in (Amounts.counting(of), summed))
    counts, totals = (plan_margins(question, amounts, half) for amounts in (counted, summed))
    shown = _MeansShown(of, float(centre * bounds.step), len(counts.measurements), counts, totals)
    return priced(
        question,
        (*named(counts.measurements, "counts"), *named(totals.measurements, f"totals of {of}")),
        shown.tables,
        law=Joint(
            MEANS,
            {
                "centre": str(centre * bounds.step),
                "bounds": [str(bounds.lower), str(bounds.upper)],
                "counts": counts.law.to_dict(),
                "totals": totals.law.to_dict(),
            }
            | ({} if weight is None else {"least": str(weight[1].lower)}),
        ),
        mechanism=totals.mechanism,
        strategy=totals.strategy,
        preview=_preview(question, counts, totals),
        warnings=(note("mean"), *(() if weight is None else (note("fixed_weights"),)), NOISE_ALONE),
        refusal=f"The two halves of a list of means do not fit {question.budget.definition!r}; use zero_concentrated.",
    )


def named(measurements: Sequence[Measurement], what: str) -> tuple[Measurement, ...]:
    """The same measurements, named after the list that they are of."""
    return tuple(replace(m, name=f"{what}: {m.name}") for m in measurements)  # type: ignore[type-var]


@dataclass(frozen=True)
class _MeansShown:
    """From the blocks of both lists to means, counts and totals of every margin."""

    of: str
    centre: float
    first: int
    counts: TablePlan
    totals: TablePlan

    def tables(self, blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        """Means first."""
        counts = self.counts.assemble(blocks[: self.first])
        centred = self.totals.assemble(blocks[self.first :])
        pairs = list(zip(counts, centred, strict=True))
        return (
            *(self._mean(count, total) for count, total in pairs),
            *(replace(count, name=f"{count.measure} by {count.name}") for count, _ in pairs),
            *(self._total(count, total) for count, total in pairs),
        )

    def _mean(self, count: Table, total: Table) -> Table:
        """centre + total / count with its first-order variance; NaN where the released count is below one."""
        n = np.where(count.values >= 1, count.values, np.nan)
        above = total.values / n
        return replace(
            total,
            name=f"mean of {self.of} by {total.name}",
            values=self.centre + above,
            variance=(total.variance + above**2 * count.variance) / n**2,
            measure="mean",
            is_unbiased=False,
        )

    def _total(self, count: Table, total: Table) -> Table:
        return replace(
            total,
            name=f"total of {self.of} by {total.name}",
            values=total.values + self.centre * count.values,
            variance=total.variance + self.centre**2 * count.variance,
        )


def _preview(question: Question, counts: TablePlan, totals: TablePlan) -> dict[str, Any]:
    """The error of every margin in a cell of typical size, at the largest distance from the centre that a mean can
    have.
    """
    bounds, size = question.bounds, question.domain.public_size
    farthest = float(bounds.high - bounds.low) / 2 * float(bounds.step)
    margins = []
    for count, total in zip(counts.preview["margins"], totals.preview["margins"], strict=True):
        records = TYPICAL if size is None else max(1, size // int(count["cells"]))
        error = sqrt(total["std_error"] ** 2 + farthest**2 * count["std_error"] ** 2) / records
        margins.append({**total, "records": records, "std_error": error})
    return {
        "strategy": totals.strategy,
        "mechanism": totals.mechanism,
        "objective": totals.preview["objective"],
        "cells": 3 * int(totals.preview["cells"]),
        "margins": margins,
        "counts": dict(counts.preview),
        "totals": dict(totals.preview),
    }
