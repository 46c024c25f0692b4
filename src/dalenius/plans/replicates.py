"""Plans of estimates with bootstrap errors: replicates of one total for each cell, and a count where the number of rows
is not public.

`error = "bootstrap"` resamples the file `replicates` times and publishes one noisy total of each sample. What rows add
is centred at the midpoint of the declared bounds where the number of rows is known, public or measured, which halves
the noise; a total whose number of rows is private is not centred. A private number of rows is measured in the same
step, with a tenth of what neighbours may differ by (squared), and so are the squares of what rows add, unless the
request leaves them out: without them the spread of the replicates alone must tell the error of sampling, and does so
badly. The plan says how wide the interval will be, and how wide the one from two moments would be.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.estimate_law import STRUCTURE
from dalenius.algebra.estimates import BOOTSTRAP
from dalenius.algebra.estimator import ROWS
from dalenius.algebra.replicates import Replicates, sum_variance
from dalenius.core.domain import Axis, Bounds
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Table
from dalenius.errors import DaleniusError, Unsupported
from dalenius.measurements.resampled_totals import COUNT, SQUARES, ResampledTotals, beside, sums_law
from dalenius.plans.cells import cell_queries
from dalenius.plans.influences import resampled_influences
from dalenius.plans.priced import priced
from dalenius.plans.resampling import check_resampling, cluster_notes, resampling_price, with_axis, with_spread
from dalenius.plans.sum_plan import Classes, SumPlan, estimate_tables, named
from dalenius.plans.sum_table import as_table
from dalenius.spec.notes import note
from dalenius.spec.question import Question

# The share that a private number of rows takes, and the squares.
_BESIDE = Fraction(1, 10)
_LISTED_VALUES = 1 << 18
_SCALAR = ({ROWS, "x"}, {"x"}, {ROWS, "x in"})


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """What rows add to a total: factor * value - offset, at most `reach` in size; from counts of classes, or from lists
    of values.

    `evenness` is the mean square of what a row adds in a typical cell, in squares of the reach.
    """

    reach: int
    factor: int = 1
    offset: int = 0
    counting: TableQuery | None = None
    contributions: tuple[int, ...] = ()
    evenness: Fraction = Fraction(1, 3)

    @classmethod
    def of_values(cls, question: Question, *, is_centred: bool) -> "Resampled":
        """Of a numeric variable; counted value by value where the declared values are few."""
        bounds = question.bounds
        if bounds.low == bounds.high:
            raise Unsupported(f"The bounds of {question.of!r} are one number; there is nothing to estimate.")
        total = bounds.low + bounds.high
        factor, offset = (1, 0) if not is_centred else (1, total // 2) if total % 2 == 0 else (2, total)
        reach = max(abs(factor * bounds.low - offset), abs(factor * bounds.high - offset))
        counting = _value_counts(question, bounds)
        values = range(bounds.low, bounds.high + 1) if counting is not None else ()
        return cls(
            reach=reach,
            factor=factor,
            offset=offset,
            counting=counting,
            contributions=tuple(factor * value - offset for value in values),
        )

    @classmethod
    def of_classes(cls, question: Question, classes: Classes) -> "Resampled":
        """Records with a property add one, the others take one off: twice the property less one half."""
        return cls(
            reach=1,
            factor=2,
            offset=1,
            counting=replace(question.query, space=with_axis(question.space, classes.axis)),
            contributions=tuple(1 if k in classes.groups["x in"] else -1 for k in range(len(classes.axis))),
            evenness=Fraction(1),
        )


def _value_counts(question: Question, bounds: Bounds) -> TableQuery | None:
    """A table of how many rows have each value, or None where there are too many values or the variable stands on an
    axis.
    """
    values = range(bounds.low, bounds.high + 1)
    is_axis = question.of in {axis.variable for axis in question.space.axes}
    if is_axis or len(values) * question.space.size > _LISTED_VALUES:
        return None
    axis = Axis(variable=question.of, labels=tuple(map(str, values)), cuts=(*values, bounds.high + 1), level="value")
    return replace(question.query, space=with_axis(question.space, axis))


def as_replicates(plan: SumPlan) -> TablePlan:
    """Replicates of the total about the midpoint, or of records with a property less the others; and the number of rows
    where a quotient needs it and it is not public.
    """
    question, is_quotient = plan.question, ROWS in plan.reads
    if plan.weight is not None or set(plan.reads) not in _SCALAR:
        return resampled_influences(plan)
    if plan.classes is not None:
        added = Resampled.of_classes(question, plan.classes)
        scale = plan.per
    else:
        # A total of a private number of rows is not centred, so that a random number of rows is part of the error.
        added = Resampled.of_values(question, is_centred=is_quotient or plan.size is not None)
        scale = question.bounds.step
    low, high = (end if isinstance(end, str) else end * plan.per for end in plan.estimator.limits(plan.bounds))
    return plan_replicates(
        question,
        plan.estimator.name,
        named(plan),
        added,
        size=plan.size,
        is_quotient=is_quotient,
        scale=scale,
        limits=(low, high),
        moments=_by_moments(plan) if is_quotient else None,
    )


def plan_replicates(
    question: Question,
    measure: str,
    name: str,
    added: Resampled,
    *,
    size: int | None,
    is_quotient: bool,
    scale: Fraction,
    limits: tuple[object, object],
    moments: float | None,
) -> TablePlan:
    """The priced plan; `moments` is the half-width that two moments would give in the same typical cell, if there is
    one.
    """
    check_resampling(question)
    neighbours, budget = question.neighbours, question.budget
    assert budget.delta is not None
    has_count = is_quotient and size is None
    has_squares = added.evenness != 1
    sums = (*((COUNT,) if has_count else ()), *((SQUARES,) if has_squares else ()))
    epsilon = None if budget.rho is not None else budget.epsilon
    price = resampling_price(question, budget, added.reach, beside(sums, added.reach, _BESIDE))
    step = ResampledTotals(
        name=f"replicates of {name}",
        space=question.space,
        price=price,
        failure=budget.delta,
        statement=epsilon,
        lists=()
        if added.counting is not None
        else cell_queries(question.domain, question.of, question.space, question.where),
        counting=added.counting,
        contributions=added.contributions,
        factor=added.factor,
        offset=added.offset,
        unit=scale / added.factor,
        sums=sums,
    )
    law = _law(step, measure, added, size, scale, limits, is_quotient=is_quotient)
    # How rows were drawn; how many rows a unit has is a part of the price, and stands in the law as such.
    drawn = {"draws": str(question.domain.draws)} if question.domain.draws else {}
    law = replace(law, parameters={**law.parameters, **drawn})
    space = question.space

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        return estimate_tables(law, blocks, space, name, measure)

    preview = _preview(question, step, added, size, scale, is_quotient=is_quotient)
    return priced(
        question,
        (step,),
        assemble,
        law=law,
        mechanism=step.noise.name,
        strategy=BOOTSTRAP,
        limits=None if "inf" in str(limits) else (float(Fraction(str(limits[0]))), float(Fraction(str(limits[1])))),
        preview=preview,
        warnings=(
            note("bounded"),
            note("resampled"),
            *cluster_notes(neighbours.max_rows),
            *(
                ()
                if question.domain.draws
                else (note("if_units_independent" if neighbours.max_rows > 1 else "if_independent"),)
            ),
            *_advice(preview, moments),
        ),
        evidence=step.evidence,
        refusal=f"These replicates do not fit {budget.definition!r} at this budget.",
    )


def _law(
    step: ResampledTotals,
    measure: str,
    added: Resampled,
    size: int | None,
    scale: Fraction,
    limits: tuple[object, object],
    *,
    is_quotient: bool,
) -> Joint:
    centre = Fraction(added.offset, added.factor)
    public: dict[str, Any] = {"size": None if size is None else str(size)}
    return Joint(
        STRUCTURE,
        {
            "estimate": BOOTSTRAP,
            "of": measure,
            "is_quotient": is_quotient,
            "centre": plain(centre),
            "factor": str(added.factor),
            "scale": plain(scale),
            "replicates": step.price.replicates,
            "sigma_squared": plain(step.price.sigma_squared),
            "reach": added.reach,
            **({"rows": step.price.rows} if step.price.rows > 1 else {}),
            **sums_law(step.price, step.sums),
            "limits": [str(end) if "inf" in str(end) else plain(Fraction(str(end))) for end in limits],
        }
        | {key: value for key, value in public.items() if value is not None},
    )


def _preview(
    question: Question, step: ResampledTotals, added: Resampled, size: int | None, scale: Fraction, *, is_quotient: bool
) -> Mapping[str, Any]:
    """Both errors in a cell of typical size whose values are spread evenly over the declared bounds, and between what
    nine tenths of the margins lie: they follow the spread of the replicates, which few tell badly.
    """
    from scipy.special import chdtri

    records = size or question.records
    squares = records * step.price.reach**2 * float(added.evenness)
    made = _typical(
        step, squares, records if is_quotient or size else None, is_even=is_quotient and added.evenness == 1
    )
    unit = float(scale) / step.factor / (records if is_quotient else 1)
    error = unit * sqrt(float(made.spread[0]) / made.count)

    def half(tail: float) -> float:
        spread = float(made.spread[0] * chdtri(made.count - 1, tail)) / (made.count - 1)
        drawn = replace(made, totals=with_spread(made.count, spread)[None, :])
        return float(f"{unit * drawn.half_widths(0.95, is_sampling=False)[0]:.9g}")

    return {
        "cells": question.space.size,
        "structural_zeros": len(question.space.structural_zeros),
        "records": records,
        "std_error": error,
        "half_width_95": unit * float(made.half_widths(0.95, is_sampling=False)[0]),
        "half_width_95_at_least": half(0.95),
        "half_width_95_at_most": half(0.05),
        "std_error_with_sampling": unit
        * float(made.half_widths(0.95, is_sampling=True)[0])
        / NormalDist().inv_cdf(0.975),
        "replicates": made.count,
        "law": step.law.to_dict(),
    }


def _typical(step: ResampledTotals, squares: float, records: int | None, *, is_even: bool) -> Replicates:
    """Replicates whose spread is the expected one."""
    z = with_spread(step.price.replicates, float(step.price.sigma_squared) + squares)
    law = step.law.parameters
    has_squares = SQUARES in step.sums
    unit = float(Fraction(str(law["square_unit"]))) if has_squares else 1.0
    return Replicates(
        totals=z[None, :],
        noise=float(step.price.sigma_squared),
        reach=step.price.reach,
        records=None if records is None else np.array([float(records)]),
        records_variance=sum_variance(law, COUNT) if COUNT in step.sums else 0.0,
        is_even=is_even,
        rows=step.price.rows,
        squares=np.array([squares]) if has_squares else None,
        squares_variance=unit**2 * sum_variance(law, SQUARES) if has_squares else 0.0,
    )


def _advice(preview: Mapping[str, Any], moments: float | None) -> tuple[str, ...]:
    """Which interval is expected to be shorter, said before anything is spent."""
    if moments is None:
        return ()
    wide = NormalDist().inv_cdf(0.975) * float(preview["std_error_with_sampling"])
    code = "bootstrap_wider" if moments <= wide else "bootstrap_shorter"
    return (note(code, bootstrap=_three_digits(wide), moments=_three_digits(moments)),)


def _by_moments(plan: SumPlan) -> float | None:
    """What a plan by moments expects of its interval with sampling at the same budget; None where it cannot
    be planned.
    """
    # The keys that the other plan reads are not read by this one.
    other = replace(plan, question=replace(plan.question, _read=set()), has_sampling=True)
    try:
        error = as_table(other).preview.get("std_error_with_sampling")
    except DaleniusError:
        return None
    return None if error is None else NormalDist().inv_cdf(0.975) * float(error)


def _three_digits(value: float) -> str:
    """Three digits without a power of ten, which readers of tables do not expect, and with no mark that languages read
    differently.

    >>> _three_digits(10798.2), _three_digits(0.123456)
    ('10800', '0.123')
    """
    short = f"{value:.3g}"
    return f"{float(short):.0f}" if "e+" in short else short
