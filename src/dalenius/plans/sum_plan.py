"""Plans of estimates: which sums an estimator reads, what is combined with it, and what is measured for both errors.

A `SumPlan` begins with an estimator and the variables of its roles. Modifiers act on it in the order of their places,
each on a field of its own. What is left is measured: the number of rows and a total together, every other sum by
itself, and for the error of sampling products of sums, or, where these are many, the squared influence of each row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement
from math import isfinite, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.estimate_law import INFLUENCE, EstimateLaw, LinearForm
from dalenius.algebra.estimates import FAMILY, estimated, sums_of
from dalenius.algebra.estimator import ROWS, Estimator
from dalenius.algebra.influence import GRID
from dalenius.algebra.intervals import influence_of
from dalenius.algebra.sums import product_of
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds, CellSpace
from dalenius.core.law import FloatArray, Joint
from dalenius.core.plan import TablePlan, TwoStepPlan
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Table
from dalenius.errors import Unsupported
from dalenius.measurements.block_totals import SILENT, BlockTotals
from dalenius.measurements.noisy import Noisy
from dalenius.plans.design import design_law
from dalenius.plans.priced import priced
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.squared_influence import SquaredInfluence

CLIPPED, NOISE_ALONE = note("bounded"), note("noise_alone")
# Where the error of sampling needs more products than this, squared influences are measured instead.
MOST_PRODUCTS = 3
# Releases that a preview tries.
DRAWS = 200
# The smaller of two shares of rows with a property for which an accuracy is kept.
FEW = 1 / 10
# Below which part of the bounds 99 of 100 values are assumed to lie.
UPPER_TAILS = ("1", "1/10", "1/100")


@dataclass(frozen=True, slots=True)
class Held:
    """A sum as a form of the arrays of one measurement, plus a multiple of the number of rows."""

    form: LinearForm
    rows: Fraction | int = 0


@dataclass(frozen=True, kw_only=True)
class Telling:
    """What is measured together: the sums that it tells, and what its arrays hold of a row in a typical cell.

    `typical` is for values that are spread evenly, `skewed` for values near the lower bound, `tails` for values whose
    upper tail lies at a tenth and at a hundredth of the bounds. `products` are those that only the error of sampling
    needs.
    """

    typical: tuple[float, ...]
    skewed: tuple[float, ...] = ()
    tails: tuple[tuple[float, ...], ...] = ()
    sums: Mapping[str, Held] = field(default_factory=dict)
    products: Mapping[str, Held] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MeasuredPart(Telling):
    """One measurement of an estimate."""

    measurement: Noisy | BlockTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Rows count multiple * w + common, in steps of a weight over `parts`."""

    variable: str
    bounds: Bounds
    multiple: int = 1
    common: int = 0
    parts: int = 1

    @property
    def largest(self) -> int:
        return self.multiple * self.bounds.high + self.common

    @property
    def least(self) -> int:
        return self.multiple * self.bounds.low + self.common

    @property
    def step(self) -> Fraction:
        return self.bounds.step / self.parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Classes of x on an axis of their own, and which of them make up each sum; `condition` is that of one property."""

    axis: Axis
    groups: Mapping[str, tuple[int, ...]]
    condition: Filter | None = None

    @classmethod
    def equal(cls, variable: str, bounds: Bounds, many: int) -> "Classes":
        """So many classes of equal width over declared bounds, or one for each value where there are fewer."""
        width = bounds.high - bounds.low + 1
        if width < many:
            raise Unsupported(
                f"{variable!r} has {width} values between its bounds, fewer than the {many} classes that are asked for."
            )
        cuts = tuple(bounds.low + width * k // many for k in range(many + 1))
        axis = Axis(variable=variable, labels=tuple(map(str, range(many))), cuts=cuts)
        return cls(axis=axis, groups={f"x in {k}": (k,) for k in range(many)})

    @property
    def typical(self) -> tuple[float, ...]:
        """Share of rows in each class: half of them have a property, and classes without one are even."""
        return self._shares(0.5)

    @property
    def skewed(self) -> tuple[float, ...]:
        """The same where few have the property."""
        return self._shares(FEW)

    def _shares(self, part: float) -> tuple[float, ...]:
        inside = self.groups.get("x in")
        if inside is None:
            return (1 / len(self.axis),) * len(self.axis)
        others = len(self.axis) - len(inside)
        return tuple(part / len(inside) if k in inside else (1 - part) / others for k in range(len(self.axis)))


@dataclass(frozen=True, kw_only=True)
class SumPlan:
    """What will be measured for an estimator; each field is set by one modifier or by the method."""

    question: Question
    estimator: Estimator
    variables: Mapping[str, str]
    classes: Classes | None = None
    per: Fraction = Fraction(1)
    weight: Weight | None = None
    size: int | None = None
    has_sampling: bool = False
    most_products: int = MOST_PRODUCTS
    finish: "Callable[[SumPlan], TablePlan]"
    notes: tuple[str, ...] = ()

    @property
    def bounds(self) -> dict[str, Bounds]:
        """Declared bounds of each role that is numeric."""
        domain = self.question.domain
        return {r: domain.variable(v).bounds for r, v in self.variables.items() if domain.variable(v).is_numeric}

    @property
    def raw(self) -> frozenset[str]:
        """Roles whose values are about zero."""
        return frozenset(role for need in self.estimator.reads if need.is_raw for role in need.roles)

    def centre(self, role: str) -> int:
        bounds = self.bounds[role]
        return 0 if role in self.raw else (bounds.low + bounds.high) // 2

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the sums that the estimator reads."""
        return tuple(name for need in self.estimator.reads for name in need.names)

    @property
    def products(self) -> tuple[str, ...]:
        """Sums that the error of sampling needs and nothing else: of products, with squared weights where rows have
        them.
        """
        if not self.has_sampling or not self.estimator.spread_share:
            return ()
        pairs = (product_of(a, b) for a, b in combinations_with_replacement(self.reads, 2))
        measured = () if self.weight is not None else self.reads
        return tuple(dict.fromkeys(name for name in pairs if name is not None and name not in measured))

    @property
    def uses_influence(self) -> bool:
        """Whether the error of sampling comes from squared influences of rows."""
        return self.classes is None and len(self.products) > self.most_products


def forms_of(parts: Sequence[Telling], size: int | None) -> tuple[dict[str, LinearForm], dict[str, LinearForm]]:
    """All sums and products as forms of all measured arrays, in the order of the parts."""
    sums: dict[str, LinearForm] = {} if size is None else {ROWS: LinearForm(constant=Fraction(size))}
    products: dict[str, LinearForm] = {}
    arrays = 0
    for part in parts:
        for target, held in ((sums, part.sums), (products, part.products)):
            for name, one in held.items():
                form = one.form.moved(arrays)
                target[name] = form.plus(sums[ROWS], one.rows) if one.rows else form
        arrays += len(part.typical)
    return sums, products


def law_of(plan: SumPlan, parts: Sequence[MeasuredPart], **more: Any) -> EstimateLaw:
    """All that a reader needs to find numbers, errors and intervals again."""
    sums, products = forms_of(parts, plan.size)
    bottom = sums.get(ROWS, sums.get("y"))
    noise = 0.0
    if bottom is not None:
        laws = [part.measurement.law for part in parts for _ in part.typical]
        noise = sum(float(weight) ** 2 * laws[place].variance for place, weight in bottom.weights.items())
    return law_of_forms(plan, sums, products, noise, **more)


def law_of_forms(
    plan: SumPlan, sums: Mapping[str, LinearForm], products: Mapping[str, LinearForm], noise: float, **more: Any
) -> EstimateLaw:
    """The law of sums that are known as forms; `noise` is the variance of what is divided by."""
    sums = {name: sums[name] for name in dict.fromkeys((*plan.reads, *sums)) if name in sums}
    estimator, bounds = plan.estimator, plan.bounds
    scale = plan.per
    for role, power in estimator.units.items():
        scale *= bounds[role].step ** power
    if plan.weight is not None and estimator.degree == 1:
        scale *= plan.weight.step
    roles = {role: each for role, each in bounds.items() if role in estimator.roles}
    low, high = estimator.limits(bounds)
    # Where rows can lack the first of two variables, a law that is silent is that of sums of the second variable over
    # rows that may lack the first, and neither is served for the other.
    names = [plan.variables[role] for role in sorted(plan.variables)]
    has_gaps = len(names) > 1 and plan.question.domain.variable(names[0]).may_drop
    counted = {"counted": f"rows with {' and '.join(names)}"} if has_gaps else {}
    # What squared influences are measured in, and the largest weight of a row.
    influence = {INFLUENCE: GRID} if INFLUENCE in products else {}
    if influence and plan.weight is not None:
        influence["heaviest"] = plan.weight.largest
    return EstimateLaw(
        estimator=estimator.name,
        version=estimator.version,
        sums=sums,
        products=products,
        centres={role: Fraction(plan.centre(role)) for role in roles if plan.centre(role)},
        ends={role: (each.low, each.high) for role, each in roles.items()},
        offset=plan.centre("x") * bounds["x"].step if estimator.is_location else Fraction(0),
        scale=scale,
        limits=tuple(end if isinstance(end, str) else plain(end * plan.per) for end in (low, high)),  # type: ignore[arg-type]
        least=_least(plan, sums, noise),
        weight=None if plan.weight is None else plan.weight.step,
        more=more | counted | influence | ({} if plan.has_sampling else {"error": "noise"}),
        **design_law(plan.question),  # type: ignore[arg-type]
    )


def _least(plan: SumPlan, sums: Mapping[str, LinearForm], noise: float) -> Fraction:
    """Below how much a cell has no number: so many rows, or three standard errors of what is divided by."""
    least = plan.estimator.least
    if plan.weight is None and ROWS in sums:
        return Fraction(1 if least is None else least)
    if ROWS not in sums and "y" not in sums:
        return Fraction(1)
    floor = 0.0 if plan.weight is None else 2.0 if least is None else float(least)
    return Fraction(max(3 * sqrt(noise), floor)).limit_denominator(1000)


def finished(plan: SumPlan, parts: Sequence[MeasuredPart], law: EstimateLaw, **keywords: Any) -> TablePlan:
    """The priced plan: every part measured, one table of estimates shown, and the counts where they were paid for."""
    question, shown = plan.question, keywords.pop("shown", plan.question.space)
    measure = keywords.pop("measure", plan.estimator.name)
    name = keywords.pop("name", named(plan))
    stored = law.to_law()
    measurements = tuple(part.measurement for part in parts)
    is_finite = not any("inf" in end for end in law.limits)
    made = priced(
        question,
        measurements,
        partial(estimate_tables, stored, space=shown, name=name, measure=measure),
        law=stored,
        mechanism=measurements[0].mechanism.name,
        strategy=measure,
        limits=tuple(float(Fraction(end)) for end in law.limits) if is_finite else None,  # type: ignore[arg-type]
        preview=preview_of(question, law, parts, shown.size),
        warnings=plan.notes,
        refusal=f"The parts of a {measure} do not fit {question.budget.definition!r}; use zero_concentrated.",
        **keywords,
    )
    if INFLUENCE not in law.products:
        return made
    return TwoStepPlan(**vars(made), then=_at_released(plan.estimator, law), first=len(measurements) - 1)


def named(plan: SumPlan) -> str:
    """What is shown, in words."""
    words = plan.estimator.name.replace("_", " ")
    weighted = "" if plan.weight is None else "weighted "
    names = [plan.variables[role] for role in sorted(plan.variables)]
    if plan.classes is not None and plan.classes.condition is not None:
        return f"{weighted}{words} by {names[0]}"
    between = " to " if plan.estimator.name == "ratio" else " and "
    return f"{weighted}{words} of {between.join(names)}"


def _at_released(estimator: Estimator, law: EstimateLaw) -> Callable[[Any, tuple[Block, ...]], Any]:
    """The last measurement, made of the answers before it; its cost does not depend on them."""
    before = replace(law, products={})

    def then(last: Noisy, released: tuple[Block, ...]) -> Noisy:
        cells, statistic = last.space.size, last.statistic
        assert isinstance(statistic, SquaredInfluence)
        points = influence_of(estimator, sums_of(before, released, cells))
        return replace(last, statistic=replace(statistic, rows=statistic.rows.at(points, cells)))

    return then


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
    counts, is_weighted = made.counts, "weight" in law.parameters
    if counts is None or not counts.weights.any():
        return (first,)
    words = "weighted count" if is_weighted else "count"
    return first, Table(
        name=words,
        measure=words,
        space=space,
        values=np.nan_to_num(shown(counts.values)),
        variance=np.nan_to_num(shown(counts.variance)),
    )


def typical_blocks(
    parts: Sequence[MeasuredPart], records: int, draws: int = 0, *, has_tails: bool = False
) -> tuple[Block, ...]:
    """What would be measured in a cell of so many typical records without noise; with `draws`, in cells of evenly
    spread and then of skewed values, and of those by their upper tails, each without noise and then with so many draws
    of it.
    """
    lengths = [len(part.typical) for part in parts]
    noise = np.split(normal_points(sum(lengths), draws), np.cumsum(lengths)[:-1])
    space, blocks = CellSpace(()), []
    for part, points in zip(parts, noise, strict=True):
        law, many = part.measurement.law, len(UPPER_TAILS) - 1 if has_tails else 0
        shapes = [part.typical]
        if draws:
            shapes += [part.skewed or part.typical, *(part.tails or (part.typical,) * many)[:many]]
            cells = len(shapes) * (draws + 1)
            space = CellSpace((Axis(variable="draw", labels=tuple(map(str, range(cells)))),))
        values = [records * np.array(shape) + sqrt(law.noise.variance) * points.T for shape in shapes]
        whole = np.rint(np.concatenate(values)).astype(np.int64).reshape(-1)
        blocks.append(Block(name=part.measurement.name, space=space, values=whole, law=law))
    return tuple(blocks)


def by_upper_tail(margins: Sequence[float]) -> dict[str, Any]:
    """Margins of error of a preview by where the upper tail of the values is assumed."""
    pairs = zip(UPPER_TAILS, margins, strict=True)
    return {"by_upper_tail": [{"upper_tail": tail, "half_width_95": float(f"{half:.9g}")} for tail, half in pairs]}


@cache
def normal_points(arrays: int, draws: int) -> FloatArray:
    """Normal numbers that are spread evenly, the first of each array 0: a preview is the same whenever it is made."""
    primes = [n for n in range(2, 13 * arrays + 3) if all(n % k for k in range(2, n))][:arrays]
    places = np.outer(np.sqrt(primes), np.arange(1, draws + 1)) % 1
    normal = NormalDist()
    return np.array([[0.0, *(normal.inv_cdf(float(place)) for place in row)] for row in places])


def preview_of(question: Question, law: EstimateLaw, parts: Sequence[MeasuredPart], cells: int) -> dict[str, Any]:
    """Both errors in a cell of typical size whose values are spread evenly over the declared bounds, and margins of
    error that 95 of 100 releases keep below: also where values lie near the lower bound, and by their upper tail.
    """
    records, shown = law.size or question.records, cells // question.space.size
    # Parameters of a family are fitted cell by cell.
    draws = 1 + (1 if FAMILY in law.more else DRAWS)
    has_tails = FAMILY not in law.more and bool(parts[0].tails)
    shapes = 2 + (len(UPPER_TAILS) - 1 if has_tails else 0)
    blocks = typical_blocks(parts, records, draws - 1, has_tails=has_tails)
    typical = estimated(law.to_law(), blocks, shapes * shown * draws)

    lower, upper = typical.ends(0.95, False)
    halves = ((upper - lower) / 2).reshape(shapes, draws, shown)[:, :, 0]
    error, half = sqrt(float(typical.variance[0])), float(f"{float(halves[0, 0]):.12g}")
    reached = np.quantile(halves, 0.95, axis=1, method="higher")
    tails: dict[str, Any] = {}
    if has_tails:
        # What is possible cuts an interval near an end, and leaves its margin.
        errors = NormalDist().inv_cdf(0.975) * np.sqrt(np.broadcast_to(typical.variance, len(lower)))
        whole = np.fmax(halves, errors.reshape(shapes, draws, shown)[:, :, 0])
        reached_whole = np.quantile(np.where(np.isnan(whole), np.inf, whole), 0.95, axis=1, method="higher")
        low, high = law.limits
        possible = np.inf if "inf" in low + high else float(Fraction(high) - Fraction(low)) / 2
        margins = np.fmin(reached_whole, possible)
        stated = zip(UPPER_TAILS, [margins[0], *margins[2:]], strict=True)
        tails["by_upper_tail"] = [
            {"upper_tail": tail, "half_width_95": float(f"{margin:.9g}")} for tail, margin in stated if isfinite(margin)
        ]
    both = {}
    if typical.sampled is not None:
        both = {"std_error_with_sampling": sqrt(float(typical.sampled[0]))}
    return {
        "cells": cells,
        "structural_zeros": len(question.space.structural_zeros) * cells // question.space.size,
        "records": records,
        "std_error": error,
        # That of the interval that will be released, which follows the law of the noise; what is possible does not cut
        # it.
        "half_width_95": max(half, NormalDist().inv_cdf(0.975) * error),
        "half_width_95_at_most": float(f"{reached[:2].max():.9g}"),
        **tails,
        "law": parts[0].measurement.law.to_dict(),
        **both,
    }
