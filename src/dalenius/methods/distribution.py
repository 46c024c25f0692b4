"""The distribution function of a numeric variable in each cell: which share of the records is at most so large, with a
band for the whole curve.

Records are counted between neighbouring points, and in runs of several bins where that makes the curve more exact; how
many levels of runs are counted, and how long the runs are, makes the predicted error of the worst point small. Where
the number of records is public it is not paid for. The error of sampling follows from the curve and costs nothing.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from dalenius.algebra.distributions import nodes_of, point_variances
from dalenius.algebra.estimate_law import STRUCTURE
from dalenius.algebra.estimates import CURVES, estimated
from dalenius.core.contracts import Mechanism
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Additive, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.rationals import plain, rational
from dalenius.core.release import Block
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.design import design_law, design_notes, public_size
from dalenius.plans.priced import priced, share
from dalenius.plans.sum_plan import CLIPPED, estimate_tables, typical_records
from dalenius.spec.document import Exact, Part, Whole
from dalenius.spec.method import AnswerKind, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.translation import translated

__all__ = ["DistributionMethod"]

MOST_POINTS, MOST_SHOWN = 255, 10_000
_PARTS = 20
_BRANCHES = (2, 3, 4, 5, 6, 8, 10, 12, 16)
_MOST_LEVELS = 8
AXIS = "at most"


class DistributionParameters(Part):
    """Keys of a distribution function: at which points, or how many equal parts of the bounds they make."""

    at: tuple[Exact, ...] | None = None
    parts: Whole = _PARTS


class DistributionMethod(Method):
    """The share of records whose value is at most so large."""

    name: str = "distribution"
    answer: AnswerKind = AnswerKind.NUMBER
    Parameters: type[Part] = DistributionParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Distribution of {of}",
            preview="In a cell of {records} records, expect no point of the curve to be off by more than ± {error} "
            "(95 %) through privacy noise; in smaller cells by more.",
            caption="± is a band from privacy noise that holds at all points of a curve at once, {level}; a curve is "
            "missing where the released count is below one.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="distribution", of="income", parts=8, rho="1/2"),
        example(measure="distribution", of="age", at=[17, 64], epsilon=2),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """The levels of counts with the least predicted error of the worst point."""
        return _plan(question, _points(question))

    @staticmethod
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        if "at" not in keys:
            return dict(keys)
        points = sorted({rational(point, "at") for point in keys["at"]})
        return {**keys, "at": [plain(point) for point in points]}


def _points(question: Question) -> tuple[int, ...]:
    """In steps, each below the upper bound: the curve is 1 there."""
    bounds, at, parts = question.bounds, question.parameter("at"), question.parameter("parts")
    if at is not None and parts is not None:
        raise ParameterError("Write at (points) or parts (equal parts of the bounds), not both.", name="parts")
    if at is not None:
        points = sorted({rational(point, "at") for point in at})
        if not points:
            raise ParameterError("at needs at least one point.", name="at")
        for point in points:
            if not bounds.lower <= point < bounds.upper or (point / bounds.step).denominator != 1:
                raise ParameterError(
                    f"Points of {question.of!r} are multiples of {plain(bounds.step)} from {plain(bounds.lower)} to "
                    f"below {plain(bounds.upper)}; received {plain(point)}.",
                    name="at",
                )
        steps = tuple(int(point / bounds.step) for point in points)
    else:
        count, width = _PARTS if parts is None else int(parts), bounds.high - bounds.low
        count = min(count, width) if parts is None else count
        if not 2 <= count <= min(width, MOST_POINTS + 1):
            raise ParameterError(
                f"parts must be a whole number from 2 to {min(width, MOST_POINTS + 1)}: {question.of!r} has {width} "
                "steps.",
                name="parts",
            )
        steps = tuple(bounds.low + width * k // count for k in range(1, count))
    shown = len(steps) * question.space.size
    if len(steps) > MOST_POINTS or shown > MOST_SHOWN:
        raise TooLarge(
            f"A distribution has at most {MOST_POINTS} points, and a table at most {MOST_SHOWN:,}; received "
            f"{len(steps)} points in {question.space.size:,} cells.",
            received=shown,
            limit=MOST_SHOWN,
        )
    if any(axis.name == AXIS for axis in question.space.axes):
        raise Unsupported(f"A variable called {AXIS!r} cannot be in the rows or columns of this table.")
    return steps


def _counting(question: Question, points: tuple[int, ...], width: int) -> Count:
    """Records of every cell in runs of so many bins."""
    bounds = question.bounds
    starts = [bounds.low, *(point + 1 for point in points)]
    cuts = [*starts[::width], bounds.high + 1]
    labels = [f"[{plain(a * bounds.step)}, {plain((b - 1) * bounds.step)}]" for a, b in pairwise(cuts)]
    axis = Axis(variable=question.of, labels=tuple(labels), cuts=tuple(cuts))
    zeros = frozenset((*cell, place) for cell in question.space.structural_zeros for place in range(len(axis)))
    return Count(TableQuery(space=CellSpace((*question.space.axes, axis), zeros), where=question.where))


def _designs(bins: int) -> Iterator[tuple[int, ...]]:
    """Lengths of the runs that are counted, level by level; bins alone first."""
    yield (1,)
    for branch in _BRANCHES:
        widths: tuple[int, ...] = (1,)
        while widths[-1] * branch < bins and len(widths) < _MOST_LEVELS:
            widths = (*widths, widths[-1] * branch)
            yield widths


def _plan(question: Question, points: tuple[int, ...]) -> TablePlan:
    size, neighbours, bins = public_size(question), question.neighbours, len(points) + 1
    even = np.arange(1, bins) / bins
    mechanisms: dict[int, Mechanism] = {}

    def mechanism(levels: int) -> Mechanism:
        if levels not in mechanisms:
            moved = _counting(question, points, 1).sensitivity(neighbours)
            mechanisms[levels] = question.choose(moved, share(question.budget, Fraction(1, levels)))
        return mechanisms[levels]

    def worst(widths: tuple[int, ...]) -> float:
        variances = (float(mechanism(len(widths)).variance),) * len(widths)
        return float(point_variances(bins, widths, variances, even, size is not None).max())

    widths = min(_designs(bins), key=worst)
    noise = mechanism(len(widths))
    measurements = tuple(
        Noisy(f"records between {nodes_of(bins, w) - 1} points", _counting(question, points, w), noise) for w in widths
    )
    bounds = question.bounds
    texts = [plain(point * bounds.step) for point in points]
    law = Joint(
        STRUCTURE,
        {"estimate": CURVES, "points": texts, "widths": list(widths), "limits": ["0", "1"]}
        | ({} if size is None else {"size": size})
        | design_law(question),
    )
    axis = Axis(variable=AXIS, labels=tuple(texts))
    zeros = frozenset((*cell, k) for cell in question.space.structural_zeros for k in range(len(points)))
    shown = CellSpace((*question.space.axes, axis), zeros)
    return priced(
        question,
        measurements,
        lambda blocks: estimate_tables(law, blocks, shown, f"distribution of {question.of}", "distribution"),
        law=law,
        mechanism=noise.name,
        strategy="distribution",
        limits=(0.0, 1.0),
        preview=_preview(question, law, measurements, shown.size),
        warnings=(CLIPPED, *design_notes(question)),
        refusal=f"Counts of several levels do not fit {question.budget.definition!r}; use zero_concentrated.",
    )


def _preview(question: Question, law: Joint, measurements: tuple[Noisy, ...], cells: int) -> dict[str, Any]:
    """Both bands in a cell of typical size whose values are spread evenly over the bins."""
    records = int(law.parameters.get("size", typical_records(question)))
    blocks = []
    for measurement, width in zip(measurements, law.parameters["widths"], strict=True):
        bins = len(law.parameters["points"]) + 1
        counts = np.array([min((k + 1) * width, bins) - k * width for k in range(nodes_of(bins, width))])
        space = CellSpace(measurement.space.axes[-1:])
        values = np.rint(records * counts / bins).astype(np.int64)
        blocks.append(Block(name=measurement.name, space=space, values=values, law=Additive(measurement.mechanism)))
    typical = estimated(law, blocks, len(law.parameters["points"]))
    middle = len(law.parameters["points"]) // 2
    halves = [
        float(upper[middle] - lower[middle]) / 2
        for lower, upper in (typical.ends(0.95, kind) for kind in (False, True))
    ]
    sampling = {}
    if typical.sampled is not None:
        error = sqrt(float(typical.sampled.max()))
        sampling = {"std_error_with_sampling": error, "half_width_95_with_sampling": halves[1]}
    return {
        "cells": cells,
        "structural_zeros": len(question.space.structural_zeros) * len(law.parameters["points"]),
        "records": records,
        "levels": len(measurements),
        "std_error": sqrt(float(typical.variance.max())),
        "half_width_95": halves[0],
        **sampling,
        "law": measurements[0].law.to_dict(),
    }
