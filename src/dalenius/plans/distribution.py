"""Plans of distribution functions: numbers of records between neighbouring points, or sums of their weights.

In a table runs of several bins are counted too where that makes the curve more exact: how many levels of runs there
are, and how long the runs are, makes the predicted error of the worst point small. In a list of margins the bins are
one more axis, and every margin is followed by itself by bins. Where rows count by weights, a tenth of the budget is for
squared weights in every bin, if the data set says how rows were drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, sqrt
from typing import Any

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.algebra.distributions import ClassNoise, Distribution, grain_of, nodes_of, point_variances
from dalenius.algebra.estimate_law import STRUCTURE
from dalenius.algebra.estimates import CURVES, estimated, flat
from dalenius.algebra.intervals import Estimated
from dalenius.algebra.listed import LISTS, estimates_of_lists, without_structural
from dalenius.algebra.shapes import mean_power
from dalenius.core.contracts import Mechanism
from dalenius.core.domain import Axis, Bounds, CellSpace
from dalenius.core.law import Additive, FloatArray, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Table
from dalenius.errors import TooLarge, Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.design import design_law, design_notes, public_size
from dalenius.plans.margins.plan import plan_margins
from dalenius.plans.priced import named_steps, priced, share
from dalenius.plans.sum_parts import SHAPES, WEIGHTS, WIDEST
from dalenius.plans.sum_plan import CLIPPED, by_upper_tail, estimate_tables
from dalenius.plans.weighted import SHARE_FOR_VARIANCE, fixed_weight
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics import Separate
from dalenius.statistics.count import Count
from dalenius.statistics.row_sums import RowSums

AXIS, MOST_SHOWN = "at most", 10_000
_BRANCHES = (2, 3, 4, 5, 6, 8, 10, 12, 16)
_MOST_LEVELS = 8
# How many standard errors fewer records there are in one of twenty releases; and which part is left at least.
_FEWER, _LEAST = 1.645, 0.1
# What is divided by must exceed so many standard errors of its noise, where records count by weights.
_SURE = 3
Weight = tuple[str, Bounds]


def plan_distribution(question: Question, points: tuple[int, ...]) -> TablePlan:
    """Curves at these points, in steps, of every cell of a table, or of every margin of a list."""
    if any(axis.name == AXIS for axis in question.space.axes):
        raise Unsupported(f"A variable called {AXIS!r} cannot be in the rows or columns of this table.")
    weight = None if question.weight is None else fixed_weight(question, question.of)
    if question.margins is not None:
        return _plan_list(question, points, weight)
    check_shown(len(points), question.space.size)
    return _plan_table(question, points, weight)


def check_shown(points: int, cells: int, allowed: int = MOST_SHOWN) -> None:
    """Raise `TooLarge` where so many cells would have more points than are shown, or than a policy allows."""
    most = min(MOST_SHOWN, allowed)
    if points * cells > most:
        raise TooLarge(
            f"Distributions are shown at {most:,} points of all cells together at most; received {points} points "
            f"in {cells:,} cells.",
            received=points * cells,
            limit=most,
        )


def _axis(question: Question, points: tuple[int, ...], width: int) -> Axis:
    """Runs of so many bins."""
    bounds = question.bounds
    starts = [bounds.low, *(point + 1 for point in points)]
    cuts = [*starts[::width], bounds.high + 1]
    labels = [f"[{plain(a * bounds.step)}, {plain((b - 1) * bounds.step)}]" for a, b in pairwise(cuts)]
    return Axis(variable=question.of, labels=tuple(labels), cuts=tuple(cuts))


def _beside(space: CellSpace, axis: Axis) -> CellSpace:
    """The same cells with one axis more."""
    zeros = frozenset((*cell, place) for cell in space.structural_zeros for place in range(len(axis)))
    return CellSpace((*space.axes, axis), zeros)


def _points_axis(question: Question, points: tuple[int, ...]) -> Axis:
    return Axis(variable=AXIS, labels=tuple(plain(point * question.bounds.step) for point in points))


def _counting(
    question: Question, points: tuple[int, ...], width: int, weight: Weight | None, power: int = 1
) -> tuple[Count | RowSums, int]:
    """Records of every cell in runs of so many bins, or powers of their weights, and the unit of these."""
    query = TableQuery(space=_beside(question.space, _axis(question, points, width)), where=question.where)
    if weight is None:
        return Count(query), 1
    name, bounds = weight
    most = bounds.high**power
    halvings = max((-(-most // WIDEST) - 1).bit_length(), 0)
    function = RowFunction.of(Power(name, exponent=power))
    summed = TableQuery(space=query.space, where=query.where, function=function, halvings=halvings)
    summed.largest(question.domain)
    return RowSums(needs=(summed,), basis=Separate(low=bounds.low**power, high=most)), 2**halvings


def _designs(bins: int) -> Iterator[tuple[int, ...]]:
    """Lengths of the runs that are counted, level by level; bins alone first."""
    yield (1,)
    for branch in _BRANCHES:
        widths: tuple[int, ...] = (1,)
        while widths[-1] * branch < bins and len(widths) < _MOST_LEVELS:
            widths = (*widths, widths[-1] * branch)
            yield widths


def _notes(question: Question, *, is_weighted: bool) -> tuple[str, ...]:
    if not is_weighted:
        return (CLIPPED, *design_notes(question))
    drawn = (note("design_error"),) if question.domain.draws.has_sampling(is_weighted=True) else ()
    return (note("fixed_weights"), CLIPPED, *design_notes(question, is_weighted=True), *drawn)


def _plan_table(question: Question, points: tuple[int, ...], weight: Weight | None) -> TablePlan:
    size, bins = None if weight else public_size(question), len(points) + 1
    has_squares = weight is not None and question.domain.draws.has_sampling(is_weighted=True)
    whole = 1 - SHARE_FOR_VARIANCE if has_squares else Fraction(1)
    moved, (_, unit) = question.neighbours, _counting(question, points, 1, weight)
    mechanisms: dict[int, Mechanism] = {}

    def mechanism(levels: int) -> Mechanism:
        if levels not in mechanisms:
            sensitivity = _counting(question, points, 1, weight)[0].sensitivity(moved)
            mechanisms[levels] = question.choose(sensitivity, share(question.budget, whole / levels))
        return mechanisms[levels]

    def worst(widths: tuple[int, ...]) -> float:
        variances = (float(mechanism(len(widths)).variance),) * len(widths)
        even = np.arange(1, bins) / bins
        return float(point_variances(bins, widths, variances, even, size is not None).max())

    widths = min(_designs(bins), key=worst)
    noise, what = mechanism(len(widths)), "records" if weight is None else "weights"
    measurements = tuple(
        Noisy(f"{what} between {nodes_of(bins, w) - 1} points", _counting(question, points, w, weight)[0], noise)
        for w in widths
    )
    weighted: dict[str, Any] = {}
    if weight is not None:
        least = ceil(_SURE * unit * sqrt(bins * float(noise.variance)))
        weighted = {"weight": plain(weight[1].step), "unit": unit, "least": least}
    if has_squares:
        squared, square = _counting(question, points, 1, weight, 2)
        law = question.choose(squared.sensitivity(moved), share(question.budget, SHARE_FOR_VARIANCE))
        measurements = (*measurements, Noisy(f"squared weights between {bins - 1} points", squared, law))
        weighted |= {"squares": square}
    axis = _points_axis(question, points)
    stated = Joint(
        STRUCTURE,
        {"estimate": CURVES, "points": list(axis.labels), "widths": list(widths), "limits": ["0", "1"]}
        | ({} if size is None else {"size": size})
        | weighted
        | design_law(question),
    )
    shown, name = _beside(question.space, axis), f"{'weighted ' if weight else ''}distribution of {question.of}"
    return priced(
        question,
        measurements,
        lambda blocks: estimate_tables(stated, blocks, shown, name, "distribution"),
        law=stated,
        mechanism=noise.name,
        strategy="distribution",
        limits=(0.0, 1.0),
        preview=_preview(question, stated, measurements, shown.size, weight),
        warnings=_notes(question, is_weighted=weight is not None),
        refusal=f"Counts of several levels do not fit {question.budget.definition!r}; use zero_concentrated.",
    )


def _typical_bins(records: int, bins: int, weight: Weight | None, power: int) -> FloatArray:
    """What the bins of a curve of each shape count, powers of weights where there are any."""
    ends = np.arange(bins + 1) / bins
    curves = []
    for shape in SHAPES:
        each = 1.0 if weight is None else mean_power(weight[1].low, weight[1].high, power, WEIGHTS[shape])
        curves.append(records * each * -np.diff((1 - ends) ** shape))
    return np.array(curves)


def _preview(
    question: Question, law: Joint, measurements: tuple[Noisy, ...], cells: int, weight: Weight | None
) -> dict[str, Any]:
    """Both bands in a cell of typical size whose values are spread evenly over the bins."""
    records, blocks = int(law.parameters.get("size", question.records)), []
    bins, units = len(law.parameters["points"]) + 1, [law.parameters.get("unit", 1)] * len(law.parameters["widths"])
    noise = 0.0 if "size" in law.parameters else units[0] * sqrt(bins * measurements[0].mechanism.variance)
    levels = [*law.parameters["widths"], *([1] if "squares" in law.parameters else [])]
    units += [law.parameters["squares"]] if "squares" in law.parameters else []
    for place, (measurement, width, unit) in enumerate(zip(measurements, levels, units, strict=True)):
        typical = _typical_bins(records, bins, weight, 1 if place < len(law.parameters["widths"]) else 2) / unit
        counts = np.add.reduceat(typical, np.arange(nodes_of(bins, width)) * width, axis=1)
        values = np.rint(counts).astype(np.int64).reshape(-1)
        space = CellSpace((Axis(variable="drawn", labels=tuple(map(str, range(values.size)))),))
        blocks.append(Block(name=measurement.name, space=space, values=values, law=Additive(measurement.mechanism)))
    made = estimated(law, blocks, len(SHAPES) * (bins - 1))
    return {
        "cells": cells,
        "structural_zeros": len(question.space.structural_zeros) * len(law.parameters["points"]),
        "records": records,
        "levels": len(law.parameters["widths"]),
        **_expected(made, bins, noise / _typical_bins(records, bins, weight, 1).sum(axis=1)),
        "law": measurements[0].law.to_dict(),
    }


def _expected(made: Estimated, bins: int, noise: FloatArray) -> dict[str, Any]:
    """Standard error of the worst point, and the half-width of each band; that of 95 of 100 releases where values are
    skewed, too, and by their upper tail, where noise in the number of records, in parts of these, makes them few.
    """
    lower, upper = (np.reshape(end, (len(SHAPES), -1)) for end in made.ends(0.95, False))
    # Bands are cut to what is possible, in the middle last; where nothing is known they are all of it.
    halves = np.nan_to_num((upper - lower) / 2, nan=0.5).max(axis=1)
    most = np.minimum(halves / np.maximum(1 - _FEWER * noise, _LEAST), 0.5)
    expected: dict[str, Any] = {
        "std_error": sqrt(float(made.variance[: bins - 1].max())),
        "half_width_95": float(halves[0]),
    }
    expected["half_width_95_at_most"] = float(f"{most[:2].max():.9g}")
    expected |= by_upper_tail([most[0], *most[2:]])
    if made.sampled is None:
        return expected
    lower, upper = (end[: bins - 1] for end in made.ends(0.95, True))
    error = sqrt(float(made.sampled[: bins - 1].max()))
    return expected | {
        "std_error_with_sampling": error,
        "half_width_95_with_sampling": float((upper - lower).max()) / 2,
    }


def _plan_list(question: Question, points: tuple[int, ...], weight: Weight | None) -> TablePlan:
    notes = _notes(question, is_weighted=weight is not None)
    if weight is None or not question.domain.draws.has_sampling(is_weighted=True):
        return _listed(question, points, weight, (Fraction(1),), notes)
    try:
        return _listed(question, points, weight, (1 - SHARE_FOR_VARIANCE, SHARE_FOR_VARIANCE), notes)
    except (TooLarge, Unsupported):
        return _listed(question, points, weight, (Fraction(1),), (*notes, note("squares_too_large", of=weight[0])))


def _listed(
    question: Question,
    points: tuple[int, ...],
    weight: Weight | None,
    parts: tuple[Fraction, ...],
    notes: tuple[str, ...],
) -> TablePlan:
    """A list of weights and one of squared weights, each for its part of the budget."""
    axis = _axis(question, points, 1)
    plans = [
        plan_margins(
            question,
            None if weight is None else replace(Amounts.weights(*weight, power), step=Fraction(1)),
            share(question.budget, part),
            axis,
        )
        for power, part in enumerate(parts, start=1)
    ]
    margins = plans[0].preview["margins"][::2]
    shown = sum(margin["cells"] for margin in margins)
    check_shown(len(points), shown, question.policy.allow.most_cells)
    stated: dict[str, Any] = {
        "estimate": CURVES,
        "points": list(_points_axis(question, points).labels),
        "limits": ["0", "1"],
    }
    if weight is not None:
        worst = max(float(margin["std_error"]) for margin in margins)
        stated |= {"weight": plain(weight[1].step), "least": ceil(_SURE * worst)}
    lists = [{"law": plan.law.to_dict(), "blocks": len(plan.measurements), "classes": len(axis)} for plan in plans]
    law = Joint(LISTS, {"estimate": stated | design_law(question), "margins": len(margins), "lists": lists})
    what = ("records" if weight is None else "weights", "squared weights")
    return priced(
        question,
        tuple(step for name, plan in zip(what, plans, strict=False) for step in named_steps(name, plan)),
        lambda blocks: _tables(question, points, law, plans[0], blocks),
        law=law,
        mechanism=plans[0].mechanism,
        strategy=plans[0].strategy,
        limits=(0.0, 1.0),
        preview=_preview_list(question, points, law, plans, weight),
        warnings=notes,
        refusal=f"Lists of distributions do not fit {question.budget.definition!r}; use zero_concentrated.",
    )


def _tables(
    question: Question, points: tuple[int, ...], law: Joint, counted: TablePlan, blocks: tuple[Block, ...]
) -> tuple[Table, ...]:
    shown, weighted = [], "" if question.weight is None else "weighted "
    spaces = counted.assemble(blocks[: len(counted.measurements)])[::2]
    for made, margin in zip(estimates_of_lists(law, blocks), spaces, strict=True):
        space = _beside(margin.space, _points_axis(question, points))
        own = without_structural(made, space.structural_indices)
        shown.append(
            Table(
                name=f"{weighted}distribution of {question.of} by {margin.name}",
                space=space,
                values=own.values,
                variance=own.variance,
                measure="distribution",
                is_unbiased=False,
                sampled=own.sampled,
            )
        )
    return tuple(shown)


def _preview_list(
    question: Question, points: tuple[int, ...], law: Joint, plans: Sequence[TablePlan], weight: Weight | None
) -> dict[str, Any]:
    """Both bands of every margin in a cell of typical size whose values are spread evenly over the bins."""
    bins, stated = len(points) + 1, law.parameters["estimate"]
    margins: list[dict[str, Any]] = []
    grain = grain_of(step.law for step in plans[0].measurements)
    for place, shown in enumerate(question.margins or ()):
        both = [plan.preview["margins"][2 * place : 2 * place + 2] for plan in plans]
        cells = int(both[0][0]["cells"])
        records = question.records_of(cells)
        variances = [(float(b["std_error"]) ** 2, float(a["std_error"]) ** 2) for a, b in both]
        made = _typical_curve(records, bins, variances, grain, weight, stated)
        margins.append({"axes": list(shown), "cells": cells, "records": records} | made)
    first = plans[0].preview
    return {
        "strategy": plans[0].strategy,
        "mechanism": plans[0].mechanism,
        "objective": first["objective"],
        "cells": sum(margin["cells"] for margin in margins) * len(points),
        "margins": margins,
        "lists": [dict(plan.preview) for plan in plans],
    }


def _typical_curve(
    records: int,
    bins: int,
    variances: Sequence[tuple[float, float]],
    grain: float,
    weight: Weight | None,
    stated: Mapping[str, Any],
) -> dict[str, Any]:
    """Errors of one curve; variances are those of a bin and of all bins together, list by list."""
    of_bin, of_all = (np.array([each] * len(SHAPES)) for each in variances[0])
    counts = _typical_bins(records, bins, weight, 1)
    noise = ClassNoise(bins=bins, of_bin=of_bin, of_all=of_all, is_normal=True, grain=grain)
    made = Distribution(
        counts,
        noise,
        rows=int(stated.get("rows_per_unit", 1)),
        squares=_typical_bins(records, bins, weight, 2) if len(variances) > 1 else None,
        is_weighted=weight is not None,
    )
    return _expected(flat(made), bins, sqrt(of_all[0]) / counts.sum(axis=1))
