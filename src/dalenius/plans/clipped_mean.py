"""Means between bounds that are learned first, from a declared list of candidates: a plan of two steps.

Step one chooses two candidates near the quantiles at both ends, for a declared share of the budget. Step two cuts every
row to them and measures what a mean needs. It depends on the first *answer*, never on data. The noise of the second
step is that of the widest candidates, fixed before; sums between narrower bounds are multiplied by a whole number so
that one row moves them as far, so that no view of the price depends on what was chosen.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.clipping import KINDS, moves
from dalenius.algebra.estimates import CLIPPED_MEAN, STRUCTURE, estimated
from dalenius.core.contracts import Measurement
from dalenius.core.domain import Bounds, CellSpace
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import Aggregate
from dalenius.core.rationals import plain, rational
from dalenius.core.release import Block, Outcome, Table, Value
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.candidate_bounds import CandidateBounds
from dalenius.measurements.noisy import Noisy
from dalenius.plans.design import design_law
from dalenius.plans.moments import (
    MANY,
    MeasuredPart,
    check_reach,
    check_size,
    estimate_tables,
    noisy,
    public_size,
    rows_with,
    sampling_notes,
    typical_blocks,
    typical_records,
    wants_sampling,
)
from dalenius.plans.priced import priced, selection_epsilon, share
from dalenius.spec.method import exact_texts
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.clipped_sums import ClippedSums

TAIL = Fraction(1, 100)
SQUARES, CLIPPED_SHARE = Fraction(1, 10), Fraction(1, 20)
# Sums between the widest candidates are multiplied by this at most: narrower ones then lose less than a thousandth to
# whole factors.
FINEST = 1024
_LIMIT = 2**61
# What one row may move without noise becoming wider than is drawn at small budgets.
_WIDE = 2**26


@dataclass(frozen=True, kw_only=True, repr=False)
class ClippedMeanPlan(TablePlan):
    """First the bounds, then sums of values that are cut to them."""

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """The later measurements are made of the first answer; their cost does not depend on it."""
        first, *sums = self.measurements
        assert isinstance(first, CandidateBounds)
        answer = yield first
        if isinstance(answer, Value):
            low, high = (first.candidates[int(place)] for place in answer.values)
            for step in sums:
                assert isinstance(step, Noisy)
                yield replace(step, statistic=step.statistic.cut_to(low, high))  # type: ignore[attr-defined]


def candidates_of(question: Question) -> tuple[int, ...]:
    """The declared candidates in steps."""
    bounds = question.bounds
    named = tuple(rational(each, "candidates") for each in question.parameter("candidates", ()))
    steps = [each / bounds.step for each in named]
    if not named:
        raise ParameterError(
            "learn_bounds chooses among declared candidates: write candidates = [0, 100, …], rising numbers inside "
            "the bounds.",
            name="candidates",
        )
    if any(each.denominator != 1 for each in steps):
        raise ParameterError(
            f"candidates must be whole multiples of the step of {question.of!r}, {plain(bounds.step)}.",
            name="candidates",
        )
    return tuple(int(each) for each in steps)


def plan_clipped_mean(question: Question) -> TablePlan:
    """The selection, and what a mean needs of values between the widest candidates, priced as one."""
    _refuse(question)
    part = rational(question.parameter("learn_bounds"), "learn_bounds")
    if not 0 < part < 1:
        raise ParameterError("learn_bounds is a share of the budget between 0 and 1.", name="learn_bounds")
    bounds, neighbours, size = question.bounds, question.neighbours, public_size(question)
    first = CandidateBounds(
        name=f"bounds of {question.of}",
        variable=question.of,
        where=question.where,
        low=bounds.low,
        high=bounds.high,
        candidates=candidates_of(question),
        epsilon=selection_epsilon(share(question.budget, part), 2),
        neighbours=neighbours,
        tail=rational(question.parameter("tail", TAIL), "tail"),
    )
    parts = _parts(question, first, size, 1 - part)
    law = _law(question, first, parts, size)
    name, space = f"mean of {question.of}", question.space
    has_shares = "under" in law.parameters["arrays"]
    plan = priced(
        question,
        (first, *(each.measurement for each in parts)),
        lambda blocks: _shown(law, blocks, space, name, bounds, first.candidates),
        law=law,
        mechanism=parts[0].measurement.mechanism.name,
        strategy="learned_bounds",
        limits=(float(bounds.lower), float(bounds.upper)),
        preview=_preview(question, law, parts, size, len(first.candidates))
        | {"share": str(part), "candidates": len(first.candidates)},
        warnings=(note("clipped_share" if has_shares else "clipped_mean"), *sampling_notes(question)),
        refusal=f"Learned bounds do not fit {question.budget.definition!r} at this budget.",
    )
    return ClippedMeanPlan(**vars(plan))


def with_tail(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A method's keys, where learned bounds write candidates as exact text and do not repeat the usual tail."""
    if "learn_bounds" not in parameters:
        return dict(parameters)
    canonical = exact_texts(parameters, "candidates")
    if "tail" in canonical and rational(canonical["tail"], "tail") == TAIL:
        del canonical["tail"]
    return canonical


def _refuse(question: Question) -> None:
    if question.parameter("error", "sampling") not in ("noise", "sampling") or question.margins is not None:
        raise Unsupported(
            'A mean with learned bounds is one table with error = "sampling" or error = "noise".', key="learn_bounds"
        )
    if question.weight is not None:
        raise Unsupported("Bounds are learned for means without weights.", key="learn_bounds")


def _parts(question: Question, first: CandidateBounds, size: int | None, left: Fraction) -> tuple[MeasuredPart, ...]:
    """Totals, squares and numbers of clipped rows between the widest candidates."""
    low, high, of = first.candidates[0], first.candidates[-1], question.of
    query = replace(rows_with(question), aggregate=Aggregate.TOTAL)
    check_size(question, of, (high - low) ** 2)
    if wants_sampling(question):
        check_reach(question)
    base = ClippedSums(
        query=query,
        low=low,
        high=high,
        floor=question.bounds.low,
        ceiling=question.bounds.high,
        kind="totals" if size is None else "total",
    )
    squares = left * SQUARES if wants_sampling(question) else Fraction(0)
    clipped = left * CLIPPED_SHARE if question.parameter("bound_clipped") else Fraction(0)
    width = high - low
    arrays = ("above", "below") if size is None else ("above",)
    made = [_part(question, base, f"total of {of} between learned bounds", left - squares - clipped, arrays, width / 2)]
    if squares:
        statistic = replace(base, kind="squares")
        typical = width**2 / 12 - statistic.shift
        made.append(
            _part(question, statistic, f"squares of {of} between learned bounds", squares, ("squares",), typical)
        )
    if clipped:
        statistic = replace(base, kind="clipped")
        made.append(
            _part(question, statistic, f"rows with {of} outside learned bounds", clipped, ("under", "over"), 0.0)
        )
    return tuple(made)


def _part(
    question: Question, statistic: ClippedSums, name: str, part: Fraction, arrays: tuple[str, ...], typical: float
) -> MeasuredPart:
    rows, reach = (question.domain.public_size or MANY, max(moves(_kind(statistic), statistic.low, statistic.high)))
    fineness = FINEST if statistic.kind != "clipped" else 1
    while fineness > 1 and (fineness * reach * rows >= _LIMIT or fineness * reach > _WIDE):
        fineness //= 2
    finer = replace(statistic, factor=fineness)
    return MeasuredPart(
        arrays=arrays,
        measurement=noisy(question, name, finer, part),
        typical=(fineness * typical,) * len(arrays),
        unit=Fraction(1, fineness),
    )


def _kind(statistic: ClippedSums) -> str:
    return "totals" if statistic.kind == "total" else statistic.kind


def _law(question: Question, first: CandidateBounds, parts: tuple[MeasuredPart, ...], size: int | None) -> Joint:
    bounds = question.bounds
    return Joint(
        STRUCTURE,
        {
            "estimate": CLIPPED_MEAN,
            "arrays": [array for part in parts for array in part.arrays],
            "limits": [plain(bounds.lower), plain(bounds.upper)],
            "candidates": [str(each) for each in first.candidates],
            "fineness": {KINDS[part.arrays[0]]: part.unit.denominator for part in parts},
            "floor": str(bounds.low),
            "ceiling": str(bounds.high),
            "scale": plain(bounds.step),
        }
        | ({} if size is None else {"size": size})
        | design_law(question),
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
    question: Question, law: Joint, parts: tuple[MeasuredPart, ...], size: int | None, many: int
) -> dict[str, Any]:
    """Both errors in a cell of typical size if the widest candidates were chosen: with narrower ones they
    are smaller.
    """
    records = size or typical_records(question)
    widest = Block(
        name="bounds", space=CellSpace(()), values=np.array([0, many - 1], dtype=np.int64), law=law, role="bounds"
    )
    typical = estimated(law, (widest, *typical_blocks(parts, records)), 1)
    error = sqrt(float(typical.variance[0]))
    both = {} if typical.sampled is None else {"std_error_with_sampling": sqrt(float(typical.sampled[0]))}
    return {
        # Both bounds are shown, too.
        "cells": question.space.size + 2,
        "records": records,
        "std_error": error,
        "half_width_95": NormalDist().inv_cdf(0.975) * error,
        "law": parts[0].measurement.law.to_dict(),
        **both,
    }
