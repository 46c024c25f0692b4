"""Means between bounds that are learned first, a plan of two steps: docs/reference/modifiers/learned_bounds.md.

The second step depends on the first *answer*, never on data.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.clipping import factor, largest_square, middle, moves, square_shift
from dalenius.algebra.estimate_law import EstimateLaw, LinearForm
from dalenius.algebra.estimates import estimated
from dalenius.algebra.estimator import ROWS
from dalenius.algebra.ranks import WholeList
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds, CellSpace
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import Power, RowFunction, TableQuery, ValuesQuery
from dalenius.core.rationals import plain, rational
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError
from dalenius.exact.quantile_selection import Score
from dalenius.measurements.grid_selection import GridSelection
from dalenius.measurements.noisy import Noisy
from dalenius.plans.design import design_law
from dalenius.plans.priced import priced, selection_epsilon, share
from dalenius.plans.sum_parts import SumPart
from dalenius.plans.sum_plan import (
    UPPER_TAILS,
    Held,
    MeasuredPart,
    SumPlan,
    by_upper_tail,
    estimate_tables,
    forms_of,
    typical_blocks,
)
from dalenius.plans.sum_table import SQUARES
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics import Separate, Simplex
from dalenius.statistics.row_sums import RowSums

TAIL = Fraction(1, 100)
CLIPPED_SHARE = Fraction(1, 20)
# Sums between the widest candidates are multiplied by this at most: narrower ones then lose less than a thousandth to
# whole factors.
FINEST = 1024
# What one row may move without noise becoming wider than is drawn at small budgets.
_WIDE = 2**26


@dataclass(frozen=True, kw_only=True)
class CutSums:
    """Sums over the rows that have x, of y = x cut to [low, high], in steps, all multiplied by `factor`.

    totals   sum of (y - low) and of (high - y), which one row cannot both fill
    total    sum of (y - low) of a public number of rows
    squares  sum of (y - middle)^2 - shift
    clipped  number of rows with x < low, and with x > high

    What a row adds is that of a variable whose declared bounds are `low` and `high`.
    """

    query: TableQuery
    variable: str
    low: int
    high: int
    kind: str
    factor: int = 1

    @property
    def move(self) -> str:
        """Which of the moves of `algebra/clipping.py` it has."""
        return "totals" if self.kind == "total" else self.kind

    def to(self, low: int, high: int) -> "CutSums":
        """The same sums between narrower bounds, multiplied so that a row moves no number further than before."""
        many = factor(self.move, (self.low, self.high), self.factor, low, high)
        return replace(self, low=low, high=high, factor=many)

    @property
    def statistic(self) -> RowSums:
        """The sums with what a row can add to them."""
        low, high, many, cut = self.low, self.high, self.factor, (self.low, self.high)
        if self.kind == "clipped":
            sides = (Filter(variable=self.variable, high=low - 1), Filter(variable=self.variable, low=high + 1))
            counted = replace(RowFunction.present(self.variable), multiple=many)
            queries = [replace(self.query, function=counted, where=(*self.query.where, side)) for side in sides]
            return RowSums(needs=tuple(queries), basis=Simplex(total=many))
        if self.kind == "squares":
            centre, shift = middle(low, high), square_shift(low, high)
            squared = RowFunction.of(Power(self.variable, offset=-centre, exponent=2, cut=cut), multiple=many)
            most = largest_square(low, high)
            basis = Separate(low=-shift * many, high=(most - shift) * many)
            return RowSums(needs=(replace(self.query, function=squared, shift=shift * many),), basis=basis)
        above = replace(self.query, function=RowFunction.of(Power(self.variable, offset=-low, cut=cut), multiple=many))
        width = (high - low) * many
        if self.kind == "total":
            return RowSums(needs=(above,), basis=Separate(low=0, high=width, is_complete=True))
        down = RowFunction.of(Power(self.variable, slope=-1, offset=high, cut=cut), multiple=many)
        return RowSums(needs=(above, replace(self.query, function=down)), basis=Simplex(total=width))


CutPart = tuple[CutSums, MeasuredPart]
"""A part, and its sums, which are cut to bounds that an earlier answer chooses."""


def candidates_of(question: Question) -> tuple[int, ...]:
    bounds = question.bounds
    listed = question.parameter("clip", ())
    named = tuple(rational(each, "clip") for each in (listed if isinstance(listed, list | tuple) else (listed,)))
    steps = [each / bounds.step for each in named]
    if not named:
        return _usual_candidates(bounds.low, bounds.high)
    if any(each.denominator != 1 for each in steps):
        raise ParameterError(
            f"clip must be whole multiples of the step of {question.of!r}, {plain(bounds.step)}.", name="clip"
        )
    return tuple(int(each) for each in steps)


def _usual_candidates(low: int, high: int) -> tuple[int, ...]:
    """The declared bounds, and numbers from a thousandth of them on, each two or two and a half times as far from zero,
    or from the lower bound.

    >>> _usual_candidates(0, 10_000)
    (0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
    """
    start = 0 if low < 0 < high else low
    reach = max(high - start, start - low)
    sizes = {reach * k // 10**d for d in (3, 2, 1) for k in (1, 2, 5)} | {reach}
    every = {start + sign * size for size in sizes for sign in (1, -1)} | {start, low, high}
    return tuple(sorted(each for each in every if low <= each <= high))


def between_learned_bounds(plan: SumPlan) -> TablePlan:
    """The selection, and what a mean needs of values between the widest candidates, priced as one."""
    question = plan.question
    part = rational(question.parameter("learn"), "learn")
    if not 0 < part < 1:
        raise ParameterError("learn is a share of the budget between 0 and 1.", name="learn")
    bounds = question.bounds
    tail = rational(question.parameter("beyond", TAIL), "beyond")
    if not 0 < tail < Fraction(1, 2):
        raise ParameterError("beyond is a share between 0 and 1/2.", name="beyond")
    first = GridSelection(
        name=f"bounds of {question.of}",
        space=CellSpace(()),
        queries=(ValuesQuery(value=question.of, where=question.where),),
        low=bounds.low,
        high=bounds.high,
        candidates=candidates_of(question),
        epsilons=(selection_epsilon(share(question.budget, part), 2),),
        neighbours=question.neighbours,
        targets=WholeList(qs=(tail, 1 - tail)),
        score=Score.DISTANCE,
        axis=Axis(variable=question.of, labels=("lower bound", "upper bound")),
        role="bounds",
    )
    cuts, parts = zip(*_parts(plan, first, 1 - part), strict=True)
    law = _law(plan, first, cuts, parts)
    stored, name, space = law.to_law(), f"mean of {question.of}", question.space

    def between(sums: Noisy, released: tuple[Block, ...]) -> Noisy:
        low, high = (first.candidates[int(place)] for place in released[0].values)
        (cut,) = (cut for cut, part in zip(cuts, parts, strict=True) if part.measurement.name == sums.name)
        return replace(sums, statistic=cut.to(low, high).statistic)

    return priced(
        question,
        (first, *(each.measurement for each in parts)),
        lambda blocks: _shown(stored, blocks, space, name, bounds, first.candidates),
        law=stored,
        mechanism=parts[0].measurement.mechanism.name,
        strategy="learned_bounds",
        limits=(float(bounds.lower), float(bounds.upper)),
        preview=_preview(plan, law, parts, first.candidates)
        | {"share": str(part), "candidates": len(first.candidates)},
        warnings=(note("clipped_share" if "under" in law.products else "clipped_mean"), *plan.notes),
        refusal=f"Learned bounds do not fit {question.budget.definition!r} at this budget.",
        then=between,
    )


def _parts(plan: SumPlan, first: GridSelection, left: Fraction) -> list[CutPart]:
    """Totals, squares and numbers of clipped rows between the widest candidates."""
    low, high, question = first.candidates[0], first.candidates[-1], plan.question
    base = CutSums(
        query=TableQuery(space=question.space, where=question.where),
        variable=question.of,
        low=low,
        high=high,
        kind="totals" if plan.size is None else "total",
    )
    squares = left * SQUARES if plan.has_sampling else Fraction(0)
    clipped = left * CLIPPED_SHARE if question.parameter("bound_clipped") else Fraction(0)
    width, name = high - low, f"{question.of} between learned bounds"
    arrays = 2 if plan.size is None else 1
    made = [_part(plan, base, f"total of {name}", left - squares - clipped, (width / 2,) * arrays, ())]
    if squares:
        statistic = replace(base, kind="squares")
        typical = width**2 / 12 - square_shift(low, high)
        made.append(_part(plan, statistic, f"squares of {name}", squares, (typical,), ("x x",)))
    if clipped:
        statistic = replace(base, kind="clipped")
        name = f"rows with {question.of} outside learned bounds"
        made.append(_part(plan, statistic, name, clipped, (0.0, 0.0), ("under", "over")))
    return made


def _part(
    plan: SumPlan, statistic: CutSums, name: str, part: Fraction, typical: tuple[float, ...], products: tuple[str, ...]
) -> CutPart:
    """The reader finds sums between the chosen bounds by itself: products are named, and stand at their places."""
    reach, fineness = max(moves(statistic.move, statistic.low, statistic.high)), FINEST
    while fineness > 1 and (statistic.kind == "clipped" or fineness * reach > _WIDE):
        fineness //= 2
    finer = replace(statistic, factor=fineness)
    whole = SumPart(
        name=name,
        statistic=finer.statistic,
        typical=tuple(fineness * one for one in typical),
        products={each: Held(LinearForm.array(place)) for place, each in enumerate(products)},
    )
    return finer, whole.measured(plan.question, part)


def _law(
    plan: SumPlan, first: GridSelection, cuts: tuple[CutSums, ...], parts: tuple[MeasuredPart, ...]
) -> EstimateLaw:
    """For the widest candidates; `with_learned_bounds` turns it into that of the chosen ones."""
    bounds = plan.question.bounds
    _, products = forms_of(parts, plan.size)
    fineness = {cut.move: cut.factor for cut in cuts}
    return EstimateLaw(
        estimator=plan.estimator.name,
        version=plan.estimator.version,
        sums={ROWS: LinearForm(constant=Fraction(plan.size))} if plan.size is not None else {ROWS: LinearForm.array(0)},
        products=products,
        ends={"x": (first.candidates[0], first.candidates[-1])},
        scale=bounds.step,
        limits=(plain(bounds.lower), plain(bounds.upper)),
        more={"learned_bounds": {"candidates": list(first.candidates), "fineness": fineness}}
        | ({"tails": [bounds.low, bounds.high]} if "under" in products else {}),
        **design_law(plan.question),  # type: ignore[arg-type]
    )


def _shown(
    law: Joint, blocks: tuple[Block, ...], space: CellSpace, name: str, bounds: Bounds, candidates: tuple[int, ...]
) -> tuple[Table, ...]:
    """The mean, the counts where they were measured, and the bounds."""
    learned = blocks[0]
    values = np.array([candidates[int(place)] for place in learned.values], dtype=np.float64)
    return (
        *estimate_tables(law, blocks, space, name, "mean"),
        Table(
            name=learned.name,
            space=learned.space,
            values=values * float(bounds.step),
            variance=np.full(2, np.nan),
            measure="bound",
            is_unbiased=False,
        ),
    )


def _preview(
    plan: SumPlan, law: EstimateLaw, parts: tuple[MeasuredPart, ...], candidates: tuple[int, ...]
) -> dict[str, Any]:
    """Both errors in a cell of typical size if the widest candidates were chosen, and by where the upper tail is
    assumed: the noise is in proportion to the distance of the bounds.
    """
    many, low, width = len(candidates), candidates[0], candidates[-1] - candidates[0]
    question, stored = plan.question, law.to_law()
    records = plan.size or question.records
    widest = Block(
        name="bounds", space=CellSpace(()), values=np.array([0, many - 1], dtype=np.int64), law=stored, role="bounds"
    )
    typical = estimated(stored, (widest, *typical_blocks(parts, records)), 1)
    error = sqrt(float(typical.variance[0]))
    both = {} if typical.sampled is None else {"std_error_with_sampling": sqrt(float(typical.sampled[0]))}
    half = NormalDist().inv_cdf(0.975) * error
    bounds, ends = question.bounds, []
    for tail in map(Fraction, UPPER_TAILS):
        reached = bounds.low + tail * (bounds.high - bounds.low)
        ends.append(min((each for each in candidates[1:] if each >= reached), default=candidates[-1]))
    return {
        **by_upper_tail([half * (end - low) / width for end in ends]),
        # Both bounds are shown, too.
        "cells": question.space.size + 2,
        "records": records,
        "std_error": error,
        "half_width_95": half,
        "law": parts[0].measurement.law.to_dict(),
        **both,
    }
