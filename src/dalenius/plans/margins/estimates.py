"""Estimates of every margin of a list: each sum is a list of its own, and every shown cell is made of its own sums.

Counts and other sums add up along margins and levels, so that, for example, the mean of the nation is the mean of its
regions weighted by their counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from math import sqrt
from typing import Any

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.algebra.estimate_law import EstimateLaw, LinearForm
from dalenius.algebra.estimates import estimator_of
from dalenius.algebra.estimator import ROWS
from dalenius.algebra.intervals import estimate
from dalenius.algebra.listed import LISTS, class_forms, estimates_of_lists, without_structural
from dalenius.algebra.sums import EXCESS, MeasuredArrays, Sums
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import WIDEST, Ranges, RowFunction
from dalenius.core.release import Block, Table
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.margins.plan import plan_margins
from dalenius.plans.priced import named_steps, priced, share
from dalenius.plans.sum_parts import SHAPES, power_of, typical_of
from dalenius.plans.sum_plan import DRAWS, SumPlan, by_upper_tail, law_of_forms, named, normal_points
from dalenius.spec.notes import note


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """One list: its plan, the sums that it tells, and what its arrays hold of a row in a typical cell of each shape."""

    plan: TablePlan
    names: tuple[str, ...]
    typical: tuple[tuple[float, ...], ...]
    classes: int = 0
    is_product: bool = False

    @property
    def what(self) -> str:
        """How its measurements are called."""
        return f"{'products ' if self.is_product else ''}{' and '.join(self.names)}"


def as_list(plan: SumPlan) -> TablePlan:
    """Return the priced plan of all margins; with the error of the noise alone where squares are too large."""
    plan = replace(plan, size=None)
    try:
        return _planned(plan)
    except (TooLarge, Unsupported):
        if not plan.products or plan.question.parameter("error") is not None:
            raise
        return _planned(
            replace(plan, has_sampling=False, notes=(*plan.notes, note("squares_too_large", of=plan.question.of)))
        )


def _planned(plan: SumPlan) -> TablePlan:
    question, lists = plan.question, _lists(plan)
    law = _law(plan, lists)
    stored = Joint(
        LISTS,
        {
            "estimate": dict(law.to_law().parameters),
            "margins": len(question.margins or ()),
            "lists": [_document(each) for each in lists],
        },
    )
    first = lists[0].plan
    return priced(
        question,
        tuple(step for each in lists for step in named_steps(each.what, each.plan)),
        lambda blocks: _tables(plan, stored, lists, blocks),
        law=stored,
        mechanism=lists[-1].plan.mechanism,
        strategy=first.strategy,
        preview=_preview(plan, law, lists),
        warnings=plan.notes,
        refusal=f"Lists of a {plan.estimator.name} do not fit {question.budget.definition!r}; use zero_concentrated.",
    )


def _lists(plan: SumPlan) -> tuple[_Listed, ...]:
    """Equal shares for what the estimator reads, a declared one for the error of sampling."""
    spread = plan.estimator.spread_share if plan.products else Fraction(0)
    reads, products = list(plan.reads), list(plan.products)
    makers: list[tuple[str, bool]] = []
    if plan.classes is not None:
        groups = {ROWS, *plan.classes.groups}
        makers = [("classes", False)] + ([("classes", True)] if groups & set(products) else [])
        reads, products = ([name for name in names if name not in groups] for names in (reads, products))
    makers += [(name, False) for name in reads] + [(name, True) for name in products]
    made = []
    for name, is_product in makers:
        many = sum(each[1] == is_product for each in makers)
        part = (spread if is_product else 1 - spread) / many
        made.append(_listed(plan, name, part, is_product=is_product))
    return tuple(sorted(made, key=lambda each: each.is_product))


def _listed(plan: SumPlan, name: str, part: Fraction, *, is_product: bool) -> _Listed:
    question, weighted = plan.question, 2 if is_product else 1
    budget = share(question.budget, part)
    if name == "classes":
        assert plan.classes is not None
        amounts = _amounts(plan, ROWS, weighted)
        made = plan_margins(question, amounts, budget, plan.classes.axis)
        own = plan.classes
        shares = (own.typical, own.skewed, own.typical, own.typical)
        counted = [typical_of(plan, ROWS, weighted, shape) for shape in SHAPES]
        return _Listed(
            plan=made,
            names=(ROWS, *own.groups),
            typical=tuple((*(row * part for part in parts), 0.0) for row, parts in zip(counted, shares, strict=True)),
            classes=len(plan.classes.axis),
            is_product=is_product,
        )
    made = plan_margins(question, _amounts(plan, name, weighted), budget)
    typical = tuple((typical_of(plan, name, weighted, shape),) for shape in SHAPES)
    return _Listed(plan=made, names=(name,), typical=typical, is_product=is_product)


def _amounts(plan: SumPlan, name: str, weighted: int) -> Amounts | None:
    """What each row adds; None where that is one for every row of the table."""
    domain = plan.question.domain
    is_everybody = not any(domain.variable(variable).may_drop for variable in plan.variables.values())
    if name == ROWS and plan.weight is None and (is_everybody or plan.classes is not None):
        return None
    function = power_of(plan, name, weighted)
    ranges = {v: (domain.variable(v).bounds.low, domain.variable(v).bounds.high) for v in function.variables}
    step = Fraction(1)
    if weighted == 2:
        function, step = _on_fewer_points(function, ranges)
    low, high = function.ends(ranges)
    amounts = Amounts(function=function, low=low, high=high, step=step)
    counted = "count" if plan.weight is None else "weighted count"
    return replace(amounts, measure=counted) if name == ROWS else amounts


def _on_fewer_points(function: RowFunction, ranges: Ranges) -> tuple[RowFunction, Fraction]:
    """Powers of values on fewer points, row by row, until engines can hold them; and what one is worth then.

    Only the error of sampling needs them, which does not see such points: fourth powers keep 2^21 of them.
    """
    worth = Fraction(1)
    while function.reach(ranges) >= WIDEST:
        raised = (p for p in function.powers if p.exponent)
        widest = max(raised, key=lambda p: max(map(abs, replace(p, exponent=1).ends(*ranges[p.variable]))))
        rest = tuple(p for p in function.powers if p != widest)
        function = replace(function, powers=(*rest, replace(widest, halvings=widest.halvings + 1)))
        worth *= 2**widest.exponent
    return function, worth


def _law(plan: SumPlan, lists: Sequence[_Listed]) -> EstimateLaw:
    sums: dict[str, LinearForm] = {}
    products: dict[str, LinearForm] = {}
    places = 0
    for each in lists:
        target = products if each.is_product else sums
        if each.classes:
            assert plan.classes is not None
            groups = {ROWS: tuple(range(each.classes)), **plan.classes.groups}
            target |= class_forms(places, each.classes, groups, Fraction(1))
        else:
            target[each.names[0]] = LinearForm.array(places)
        places += len(each.typical[0])
    least = _bottom_noise(plan, sums, lists)
    return law_of_forms(plan, sums, products, least)


def _bottom_noise(plan: SumPlan, sums: dict[str, LinearForm], lists: Sequence[_Listed]) -> float:
    """The largest variance of what is divided by, over all margins."""
    name = ROWS if ROWS in sums else "y"
    dividing = [each for each in lists if name in each.names and not each.is_product]
    return max((float(m["std_error"]) ** 2 for each in dividing for m in each.plan.preview["margins"]), default=0.0)


def _document(each: _Listed) -> dict[str, Any]:
    written = {"law": each.plan.law.to_dict(), "blocks": len(each.plan.measurements)}
    return written | ({"classes": each.classes} if each.classes else {})


def _tables(plan: SumPlan, law: Joint, lists: Sequence[_Listed], blocks: tuple[Block, ...]) -> tuple[Table, ...]:
    """Estimates of every margin, then the numbers of rows or sums of weights."""
    made, shown = estimates_of_lists(law, blocks), []
    first = lists[0]
    counts = first.plan.assemble(blocks[: len(first.plan.measurements)])
    counts = counts[::2] if first.classes else counts
    for each, table in zip(made, counts, strict=True):
        own = without_structural(each, table.space.structural_indices)
        shown.append(
            Table(
                name=f"{named(plan)} by {table.name}",
                space=table.space,
                values=np.broadcast_to(own.values, table.values.shape),
                variance=np.broadcast_to(own.variance, table.values.shape),
                measure=plan.estimator.name,
                is_unbiased=False,
                sampled=None if own.sampled is None else np.broadcast_to(own.sampled, table.values.shape),
            )
        )
    if ROWS not in first.names:
        return tuple(shown)
    step = 1.0 if plan.weight is None else float(plan.weight.step)
    totals = _totals(plan, lists, counts, blocks) if plan.reads == (ROWS, "x") else ()
    return (
        *shown,
        *(
            replace(
                table,
                name=f"{'count' if plan.weight is None else 'weighted count'} by {table.name}",
                values=step * table.values,
                variance=step**2 * table.variance,
                measure="count" if plan.weight is None else "weighted count",
            )
            for table in counts
        ),
        *totals,
    )


def _totals(
    plan: SumPlan, lists: Sequence[_Listed], counts: Sequence[Table], blocks: tuple[Block, ...]
) -> tuple[Table, ...]:
    """What means are made of, about zero; both add up."""
    first, second = (len(each.plan.measurements) for each in lists[:2])
    bounds, centre = plan.bounds["x"], plan.centre("x")
    step = float(bounds.step) * (1.0 if plan.weight is None else float(plan.weight.step))
    return tuple(
        replace(
            total,
            name=f"total of {plan.variables['x']} by {total.name}",
            values=step * (total.values + centre * count.values),
            variance=step**2 * (total.variance + centre**2 * count.variance),
        )
        for count, total in zip(counts, lists[1].plan.assemble(blocks[first : first + second]), strict=True)
    )


def _preview(plan: SumPlan, law: EstimateLaw, lists: Sequence[_Listed]) -> dict[str, Any]:
    """Both errors of every margin in a cell of typical size whose values are spread evenly over the declared bounds,
    and the margin of error that 95 of 100 releases keep below, also where values lie near the lower bound, and by their
    upper tail.
    """
    margins: list[dict[str, Any]] = []
    shapes = np.array([[*chain.from_iterable(shape)] for shape in zip(*(one.typical for one in lists), strict=True)])
    points = normal_points(shapes.shape[1], DRAWS)
    for place, shown in enumerate(plan.question.margins or ()):
        by_list = [each.plan.preview["margins"][2 * place if each.classes else place] for each in lists]
        cells = int(by_list[0]["cells"])
        records = plan.question.records_of(cells)
        variance = np.concatenate([_variances(each, margin) for each, margin in zip(lists, by_list, strict=True)])
        noise = np.sqrt(np.maximum(variance, 0.0))[:, None] * points
        values = np.concatenate([records * shape[:, None] + noise for shape in shapes], axis=1)
        excess = np.full((len(values), 1), 0.0 if "gaussian" in lists[-1].plan.mechanism else EXCESS)
        made = estimate(estimator_of(law), Sums(law, MeasuredArrays(values, variance[:, None], excess)))
        lower, upper = made.ends(0.95, False)
        halves = ((upper - lower) / 2).reshape(len(shapes), -1)
        reached = np.quantile(halves, 0.95, axis=1, method="higher")
        both = {} if made.sampled is None else {"std_error_with_sampling": sqrt(float(made.sampled[0]))}
        margins.append(
            {
                "axes": list(shown),
                "cells": cells,
                "records": records,
                "std_error": sqrt(float(made.variance[0])),
                "half_width_95": float(halves[0, 0]),
                "half_width_95_at_most": float(f"{reached[:2].max():.9g}"),
                **(by_upper_tail([reached[0], *reached[2:]]) if np.isfinite(reached).all() else {}),
                **both,
            }
        )
    first = lists[0].plan.preview
    return {
        "strategy": lists[0].plan.strategy,
        "mechanism": lists[-1].plan.mechanism,
        "objective": first["objective"],
        # Estimates, and the counts and totals that they are made of.
        "cells": sum(margin["cells"] for margin in margins)
        * (3 if plan.reads == (ROWS, "x") else 2 if ROWS in plan.reads else 1),
        "margins": margins,
        "lists": [dict(each.plan.preview) for each in lists],
    }


def _variances(each: _Listed, margin: dict[str, Any]) -> Any:
    """Of the arrays of one list in a cell of a margin; classes share what their sum has less."""
    if not each.classes:
        return np.array([float(margin["std_error"]) ** 2])
    margins = each.plan.preview["margins"]
    of_all = float(margin["std_error"]) ** 2
    of_class = float(margins[margins.index(margin) + 1]["std_error"]) ** 2
    common = (of_all / each.classes - of_class) / (each.classes - 1)
    return np.array([*[of_class - common] * each.classes, common])
