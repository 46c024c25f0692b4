"""What plans of estimates from moments share: which moments are measured, their price, and what they are shown as.

An estimate is a public function of a few sums over the rows of a cell, each measured with a share of the budget. Where
the number of rows is public it is not paid for; otherwise it comes from two mirrored totals.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.estimates import STRUCTURE, estimated
from dalenius.core.conditions import Filter
from dalenius.core.domain import Bounds, CellSpace
from dalenius.core.law import FloatArray, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import Aggregate, TableQuery
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Table
from dalenius.errors import TooLarge, Unsupported
from dalenius.measurements.block_totals import SILENT, BlockTotals
from dalenius.measurements.noisy import Noisy
from dalenius.plans.design import design_law, design_notes, has_sampling
from dalenius.plans.priced import priced, share
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.mirrored_totals import MirroredTotals
from dalenius.statistics.moment import Moment

# Records of a typical cell, where no public size says how many.
TYPICAL = 1000
# Rows for which sums of squares must stay within the engine's limit, where no public size says how many there are.
MANY = 10_000_000
_LIMIT = 2**62
SAMPLING = "sampling"
CLIPPED, NOISE_ALONE = note("bounded"), note("noise_alone")


@dataclass(frozen=True, kw_only=True)
class MeasuredPart:
    """One measurement of an estimate: what its arrays are called, and what they hold, a row, in a typical cell.

    `shift` was taken off what each row adds, and `unit` is the size of one step of it.
    """

    arrays: tuple[str, ...]
    measurement: Noisy | BlockTotals
    typical: tuple[float, ...]
    shift: int = 0
    unit: Fraction = Fraction(1)


def public_size(question: Question, *others: str) -> int | None:
    """The number of rows, where it is public: replace, one row a unit, everybody in one cell, and nothing that drops
    out.
    """
    neighbours, variables = question.neighbours, (question.domain.variable(name) for name in (question.of, *others))
    is_whole = not question.space.axes and not question.where
    keeps = not any(variable.may_drop for variable in variables)
    is_public = neighbours.is_replace and neighbours.max_rows == 1 and is_whole and keeps
    return question.domain.public_size if is_public else None


def whole_size(question: Question, *others: str) -> int:
    """The public number of rows, or a refusal."""
    size = public_size(question, *others)
    if size is None:
        raise Unsupported(
            "This is a statistic of a public number of rows: it needs relation = 'replace', a declared size, no rows, "
            "columns or conditions, and rules that keep every row. Ask for the total and the count."
        )
    return size


def typical_records(question: Question) -> int:
    """Records of a cell, for a preview."""
    size = question.domain.public_size
    return TYPICAL if size is None else max(1, size // question.space.size)


def wants_sampling(question: Question, *, is_weighted: bool = False) -> bool:
    """Whether the error of sampling is measured: unless the request says otherwise, or no design allows it."""
    is_asked = question.parameter("error", SAMPLING) == SAMPLING
    return is_asked and has_sampling(question, is_weighted=is_weighted)


def sampling_notes(question: Question, *, is_weighted: bool = False) -> tuple[str, ...]:
    """Notes on the error of sampling, where a request may leave it out: not asked for, not stated and why, or what it
    holds for.
    """
    is_asked = question.parameter("error", SAMPLING) == SAMPLING
    return design_notes(question, is_asked=is_asked, is_weighted=is_weighted)


def rows_with(question: Question, *others: str) -> TableQuery:
    """The rows of each cell that have the variable, and the others beside it, whichever of them is summed."""
    names = (question.of, *others) if others and may_lack(question) else others
    present = tuple(Filter(variable=name, low=question.domain.variable(name).bounds.low) for name in names)
    return replace(question.query, value=question.of, where=(*question.where, *present))


def may_lack(question: Question) -> bool:
    """Whether a row can lack the variable."""
    return question.domain.variable(question.of).may_drop


def of_both(question: Question, other: str) -> dict[str, str]:
    """What a law says of rows that have two variables, where they can lack the first.

    A law that is silent there is that of sums of the second variable over rows that may lack the first: neither is
    served for the other.
    """
    return {"counted": f"rows with {question.of} and {other}"} if may_lack(question) else {}


def constants(bounds: Bounds) -> dict[str, int]:
    """Public numbers by which the rows of a variable were centred."""
    return {"low": bounds.low, "high": bounds.high, "centre": middle(bounds)}


def middle(bounds: Bounds) -> int:
    """The centre of declared bounds, in steps."""
    return (bounds.low + bounds.high) // 2


def noisy(question: Question, name: str, statistic: Any, part: Fraction) -> Noisy:
    """A statistic with noise for a share of the budget."""
    neighbours, budget = question.neighbours, share(question.budget, part)
    return Noisy(name, statistic, question.choose(statistic.sensitivity(neighbours), budget))


def totals_part(question: Question, query: TableQuery, size: int | None, part: Fraction) -> MeasuredPart:
    """The total above the lower bound, and beside it the one below the upper bound where the count is not public."""
    bounds, name = question.bounds, f"total of {question.of}"
    width = bounds.high - bounds.low
    if bounds.low == bounds.high:
        raise Unsupported(f"The bounds of {question.of!r} are one number; there is nothing to estimate.")
    if size is not None:
        above = replace(query, aggregate=Aggregate.TOTAL, centre=bounds.low)
        single = MagnitudeTable(query=above, low=0, high=width, is_complete=True)
        return MeasuredPart(arrays=("above",), measurement=noisy(question, name, single, part), typical=(width / 2,))
    mirrored = MirroredTotals.of(query, bounds)
    return MeasuredPart(
        arrays=("above", "below"),
        measurement=noisy(question, f"{name} from both bounds", mirrored, part),
        typical=(width / 2, width / 2),
    )


def squares_part(
    question: Question,
    query: TableQuery,
    variable: str,
    size: int | None,
    part: Fraction,
    *,
    array: str = "squares",
    centre: int | None = None,
    is_shifted: bool = True,
) -> MeasuredPart:
    """Squares about a centre, shifted where the count is measured too."""
    bounds = question.domain.variable(variable).bounds
    about = middle(bounds) if centre is None else centre
    statistic = Moment.squares(
        replace(query, value=variable, centre=about),
        bounds,
        is_complete=size is not None,
        is_shifted=is_shifted and size is None,
    )
    check_size(question, variable, statistic.high - statistic.low)
    mean, width = (bounds.low + bounds.high) / 2 - about, bounds.high - bounds.low
    return MeasuredPart(
        arrays=(array,),
        measurement=noisy(question, f"squares of {variable}", statistic, part),
        typical=(mean**2 + width**2 / 12 + statistic.low,),
        shift=-statistic.low,
    )


def check_size(question: Question, variable: str, largest: int) -> None:
    """Sums of squares must not reach the engine's limit; refused by the declaration alone."""
    rows = question.domain.public_size or MANY
    if largest * rows >= _LIMIT:
        raise TooLarge(
            f"Squares of {variable!r} are too large in its declared steps to be summed over {rows:,} rows. Use a "
            "coarser step"
            ' or narrower bounds; a mean with error = "noise" needs no squares.',
            variable=variable,
        )


def check_reach(question: Question) -> None:
    """A square of any declared value, about any other, must be one that engines take; refused by the
    declaration alone.
    """
    if (question.bounds.high - question.bounds.low) ** 2 >= _LIMIT:
        raise TooLarge(
            f"Squares of {question.of!r} reach 2^62 in its declared steps. Use a coarser step or narrower bounds; a "
            "mean with"
            ' error = "noise" needs no squares.',
            variable=question.of,
        )


def plan_estimate(
    question: Question,
    estimate: str,
    name: str,
    parts: tuple[MeasuredPart, ...],
    parameters: Mapping[str, Any],
    limits: tuple[object, object],
    *,
    measure: str = "",
    shown: CellSpace | None = None,
    warnings: tuple[str, ...] = (),
) -> TablePlan:
    """The priced plan: every part measured, one table of estimates shown, and the counts where they were paid for.

    `measure` is what was asked for, where that is not the estimate itself, and `shown` the cells of the answer where
    one cell has several estimates.
    """
    arrays = [array for part in parts for array in part.arrays]
    public = {key: value for key, value in parameters.items() if value is not None}
    public |= {f"{part.arrays[0]} shift": part.shift for part in parts if part.shift}
    public |= {f"{part.arrays[0]} unit": part.unit for part in parts if part.unit != 1}
    law = Joint(
        STRUCTURE,
        {"estimate": estimate, "arrays": arrays, "limits": [_text(end) for end in limits]}
        | {key: _text(value) for key, value in public.items()}
        | design_law(question),
    )
    measurements = tuple(part.measurement for part in parts)
    space = question.space if shown is None else shown

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        return estimate_tables(law, blocks, space, name, measure or estimate)

    return priced(
        question,
        measurements,
        assemble,
        law=law,
        mechanism=measurements[0].mechanism.name,
        strategy=measure or estimate.replace(" ", "_"),
        limits=(_number(limits[0]), _number(limits[1])) if _is_finite(limits) else None,
        preview=_preview(question, law, parts, space.size),
        warnings=warnings,
        refusal=f"The parts of a {estimate} do not fit {question.budget.definition!r}; use zero_concentrated.",
    )


def _is_finite(limits: tuple[object, object]) -> bool:
    return not any("inf" in str(end) for end in limits)


def _number(value: object) -> float:
    return float(Fraction(_text(value)))


def _text(value: object) -> str:
    return plain(Fraction(value)) if isinstance(value, Fraction | int) else str(value)


def estimate_tables(
    law: Joint, blocks: tuple[Block, ...], space: CellSpace, name: str, measure: str
) -> tuple[Table, ...]:
    """What is shown: estimates with both errors, and the counts if they were measured; nothing in impossible cells."""
    made = estimated(law, blocks, space.size)
    zeros = list(space.structural_indices)

    def shown(array: FloatArray) -> FloatArray:
        whole = np.array(np.broadcast_to(array, space.size), dtype=np.float64)
        whole[zeros] = np.nan
        return whole

    first = Table(
        name=name,
        space=space,
        values=shown(made.values),
        variance=shown(made.variance),
        measure=measure.replace(" ", "_"),
        is_unbiased=False,
        sampled=None if made.sampled is None else shown(made.sampled),
    )
    if made.silent is not None:
        return first, Table(
            name=SILENT, space=space, values=shown(made.silent.values), variance=shown(made.silent.variance)
        )
    counts, is_weighted = made.counts, "weight step" in law.parameters
    if counts is None or not counts.weights.any():
        return (first,)
    return first, Table(
        name="weighted count" if is_weighted else "count",
        measure="weighted count" if is_weighted else "count",
        space=space,
        values=np.nan_to_num(shown(counts.values)),
        variance=np.nan_to_num(shown(counts.variance)),
    )


def typical_blocks(parts: tuple[MeasuredPart, ...], records: int) -> tuple[Block, ...]:
    """What would be measured in a cell of so many typical records, without noise."""
    return tuple(
        Block(
            name=part.measurement.name,
            space=CellSpace(()),
            values=np.rint(records * np.array(part.typical)).astype(np.int64),
            law=part.measurement.law,
        )
        for part in parts
    )


def _preview(question: Question, law: Joint, parts: tuple[MeasuredPart, ...], cells: int) -> dict[str, Any]:
    """Both errors in a cell of typical size whose values are spread evenly over the declared bounds."""
    records = int(law.parameters.get("size", typical_records(question)))
    typical = estimated(law, typical_blocks(parts, records), cells // question.space.size)
    error = sqrt(float(typical.variance[0]))
    lower, upper = typical.ends(0.95, False)
    half = float(f"{float(upper[0] - lower[0]) / 2:.12g}")
    both = {} if typical.sampled is None else {"std_error_with_sampling": sqrt(float(typical.sampled[0]))}
    return {
        "cells": cells,
        "structural_zeros": len(question.space.structural_zeros) * cells // question.space.size,
        "records": records,
        "std_error": error,
        # That of the interval that will be released, which follows the law of the noise; what is possible does not cut
        # it.
        "half_width_95": max(half, NormalDist().inv_cdf(0.975) * error),
        "law": parts[0].measurement.law.to_dict(),
        **both,
    }
