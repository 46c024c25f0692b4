"""Which way to measure a list of margins: every strategy's error in closed form, from the request alone.

The strategies are the files of `strategies/`. The planner compares them after least squares and takes the best, of two
equal ones the plainer; it never looks at data.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite, sqrt
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.algebra.amounts import Amounts
from dalenius.algebra.joint import MarginsLaw
from dalenius.algebra.lattice import half_widths
from dalenius.algebra.margins import sum_out
from dalenius.algebra.tabulation import law_of_block
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.conditions import Filter
from dalenius.core.contracts import Definition, Measurement
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.evidence import Level
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import TablePlan
from dalenius.core.release import Block, Table
from dalenius.errors import DaleniusError, TooLarge, UnknownName, Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.margins.around_zeros import around_zeros
from dalenius.plans.margins.levels import flat_setting, level_setting, table_name
from dalenius.plans.margins.setting import STRATEGIES, Candidate, MarginsAsked, Setting, candidates, offer
from dalenius.spec.expected import ExpectedPart
from dalenius.spec.notes import note
from dalenius.spec.question import Question

OBJECTIVES = ("cells", "tables", "maximum")


def plan_margins(
    question: Question, amounts: Amounts | None = None, budget: Budget | None = None, classes: Axis | None = None
) -> TablePlan:
    """The plan of a request that lists margins, or names a strategy for its table: of counts, or of totals of what rows
    add; for the whole budget, or for a part of it. With `classes` every margin is followed by itself by these classes.
    """
    space, margins = question.space, question.margins
    if classes is not None:
        zeros = frozenset((*cell, k) for cell in space.structural_zeros for k in range(len(classes)))
        space = CellSpace((*space.axes, classes), zeros)
        margins = tuple(each for margin in margins or () for each in (margin, (*margin, classes.name)))
    if amounts is not None and amounts.largest == 0:
        raise Unsupported(f"The bounds of {question.of!r} are one number; there is nothing to estimate.")
    if any(axis.has_rest for axis in space.axes):
        _ = question.universe
    allowed = question.policy.allow.mechanisms
    only = allowed[0] if allowed is not None and len(allowed) == 1 else None
    expected = question.expected
    if expected is not None and (amounts is not None or classes is not None):
        raise Unsupported(
            "Expected sizes are those of counts; totals and classes are not planned by them.", key="expected"
        )
    asked = question.objective
    objective = asked if expected is None else "cells"
    largest = max(expected.weights) if expected is not None else 1
    weights = question.weights if expected is None else [float(w / largest) for w in expected.weights]
    if classes is not None:
        weights = [weight for weight in weights for _ in range(2)]
    plan = plan_list(
        question.domain,
        space,
        margins if margins is not None else (tuple(axis.name for axis in space.axes),),
        question.where,
        budget or question.budget,
        question.definition,
        question.neighbours,
        weights=weights or None,
        objective=objective,
        strategy=question.strategy,
        mechanism=question.mechanism or only,
        amounts=amounts,
    )
    return plan if expected is None else _relative(plan, expected)


def _relative(plan: TablePlan, expected: ExpectedPart) -> TablePlan:
    """The plan, saying where the expected sizes are from and which relative errors follow."""
    margins = [
        {**margin, "relative_error": float(margin["std_error"]) * sqrt(float(weight))}
        for margin, weight in zip(plan.preview["margins"], expected.weights, strict=True)
    ]
    shown = "; ".join(
        f"{' x '.join(margin['axes']) or 'total'} {100 * margin['relative_error']:.2g} %" for margin in margins
    )
    note = (
        f"root mean square relative errors by the expected sizes of {expected.name} (sha256 {expected.sha256[:16]}…), "
        f"cells below {expected.least} as {expected.least}: {shown}"
    )
    about = {"name": expected.name, "sha256": expected.sha256, "least": str(expected.least)}
    further = {"objective": "relative", "expected": about, "margins": margins, "note": note}
    return replace(plan, preview={**plan.preview, **further})


def plan_list(
    domain: Domain,
    space: CellSpace | Sequence[Axis],
    margins: Sequence[tuple[str, ...]],
    where: tuple[Filter, ...],
    budget: Budget,
    definition: Definition,
    neighbours: Neighbours | None = None,
    *,
    weights: Sequence[float] | None = None,
    objective: str = "cells",
    strategy: str | None = None,
    mechanism: str | None = None,
    amounts: Amounts | None = None,
) -> TablePlan:
    """The plan with the least expected error for a list of margins; () is the grand total.

    `space` is the full cross, or only its axes where the full cross is too large to be a table. A margin may name
    a coarser declared level as "variable.level".
    """
    UnknownName.check("objective", objective, OBJECTIVES)
    if strategy is not None and strategy not in registry.names(STRATEGIES):
        raise registry.unknown(STRATEGIES, strategy, "strategy")
    axes = space.axes if isinstance(space, CellSpace) else tuple(space)
    zeros = space.structural_zeros if isinstance(space, CellSpace) else frozenset()
    neighbours = neighbours or domain.neighbours
    names = [axis.name for axis in axes]
    if amounts is not None:
        amounts = amounts.fitted()
        amounts.query(CellSpace(()), where).largest(domain)
    total = public_total(domain, axes, where, neighbours, has_zeros=bool(zeros)) if amounts is None else None
    request = MarginsAsked(
        domain=domain,
        axes=axes,
        margins=tuple(tuple(m) for m in margins),
        where=(*where, *inside_filters(domain, axes)),
        budget=budget,
        definition=definition,
        neighbours=neighbours,
        weights=tuple(weights or ()),
        objective=objective,
        strategy=strategy,
        mechanism=mechanism,
        structural_zeros=zeros,
        total=total,
        amounts=amounts,
    )
    is_nested = any(name not in names for margin in request.margins for name in margin)
    has_zeros = not is_nested and isinstance(space, CellSpace) and shows_structural_zero(space, request.margins)
    is_along = strategy is not None and offer(registry.get(STRATEGIES, strategy), has_levels=False) is None
    if is_along or is_nested or has_zeros:
        return _along(request)
    return _first(_options(flat_setting(request)))


def _along(request: MarginsAsked) -> TablePlan:
    """Level by level; where too many impossible cells are shown for that, the interior, which needs no
    least squares.
    """
    try:
        plan = _first(_options(level_setting(request)))
        if not request.structural_zeros or plan.strategy == "interior":
            return plan
        return replace(plan, warnings=(*plan.warnings, note("zeros_are_facts")))
    except TooLarge as error:
        is_served = request.structural_zeros and request.strategy in (None, "interior")
        if not is_served or request.amounts is not None:
            raise
        plan = _first(around_zeros(request))
        return replace(plan, preview={**plan.preview, "note": str(error).rstrip(".")})


def _options(setting: Setting) -> list[Candidate]:
    """All strategies that serve the list; or the named one, which must."""
    if setting.total is not None and all(space.size == 1 for space in setting.spaces):
        raise Unsupported(
            "Every number of this list is the declared size of the data, which is public: there is nothing to measure."
        )
    served, refusal = candidates(setting)
    served = [candidate for candidate in served if isfinite(candidate.score)]
    if not served:
        which = f"The strategy {setting.strategy!r} is not" if setting.strategy else "No strategy is"
        where = "along hierarchies" if setting.levels else "for this list of margins"
        where = "where impossible cells are shown" if setting.impossible else where
        why = f" {refusal}" if refusal is not None and (setting.strategy or setting.levels) else ""
        raise Unsupported(f"{which} available {where} under {setting.definition.name!r}.{why}")
    return served


def _first(options: Iterable[Candidate]) -> TablePlan:
    """The best of some options that the definition prices within the budget."""
    every = sorted(options, key=lambda option: option.score)
    refusal: DaleniusError | None = None
    for option in every:
        try:
            return _finished(option, _preview(option, every))
        except Unsupported as error:
            # A definition may have no price for this kind of noise; the next best may have one.
            refusal = refusal or error
    assert refusal is not None
    raise refusal


def shows_structural_zero(space: CellSpace, margins: Sequence[tuple[str, ...]]) -> bool:
    """Whether some cell of a margin is made of impossible cells only, so that it must be shown as zero."""
    if not space.structural_zeros:
        return False
    possible = np.ones(space.shape, dtype=np.int64)
    possible.ravel()[list(space.structural_indices)] = 0
    names = [axis.name for axis in space.axes]
    whole = tuple(range(len(names)))
    wanted = (tuple(sorted(names.index(n) for n in margin)) for margin in margins)
    return any(not sum_out(possible, whole, margin).all() for margin in wanted)


def public_total(
    domain: Domain, axes: Sequence[Axis], where: Sequence[Filter], neighbours: Neighbours, *, has_zeros: bool
) -> int | None:
    """The declared size, if no neighbour can have another number of rows in the table; None otherwise.

    That holds under replace only, for one row per unit, without a filter, a structural zero, or a value that falls out.
    """
    if not neighbours.is_replace or neighbours.max_rows != 1 or where or has_zeros:
        return None
    if not all(domain.variable(axis.variable).keeps_every_row(axis) for axis in axes):
        return None
    return domain.public_size


def inside_filters(domain: Domain, axes: Sequence[Axis]) -> tuple[Filter, ...]:
    """Conditions that keep a margin to the rows of the full cross, where an axis leaves some rows out.

    Without them a row whose value is dropped on one axis would still be counted in the margins over the others, and
    the margins would not be sums of cells.
    """
    filters = []
    for axis in axes:
        if domain.variable(axis.variable).keeps_every_row(axis):
            continue
        if axis.cuts:
            filters.append(Filter(variable=axis.variable, low=axis.cuts[0], high=axis.cuts[-1] - 1))
        else:
            kept = tuple(code for code, label in enumerate(axis.codes) if label >= 0)
            filters.append(Filter(variable=axis.variable, codes=kept))
    return tuple(filters)


def _finished(option: Candidate, preview: dict[str, Any]) -> TablePlan:
    """Price the whole list once more under the request's definition, and refuse what does not fit."""
    setting, measurements, law = option.setting, option.build()[0], option.to_law()
    profiles = [m.profile(setting.neighbours) for m in measurements]
    if not setting.definition.fits(profiles, setting.budget):
        raise Unsupported(
            f"The strategy {option.strategy!r} does not fit this budget under {setting.definition.name!r}."
        )
    return TablePlan(
        measurements=measurements,
        assemble=partial(_tables, setting, law),
        law=law,
        reservation=setting.definition.cost(profiles),
        budget=setting.budget,
        mechanism=option.mechanism,
        strategy=option.strategy,
        evidence=max((m.evidence for m in measurements), key=lambda evidence: list(Level).index(evidence.level)),
        neighbours=setting.neighbours,
        account=setting.definition.account,
        preview={**preview, "margins": _with_half_widths(preview["margins"], setting, measurements, law)},
    )


def _with_half_widths(
    margins: Sequence[dict[str, Any]], setting: Setting, measurements: Sequence[Measurement], law: Joint
) -> list[dict[str, Any]]:
    """Each shown table with half of the interval that will be released of its median cell."""
    reach = joint.reach([measurement.law for measurement in measurements], 0.95)
    empty = [
        Block(name=m.name, space=m.space, values=np.zeros(m.space.size, dtype=np.int64), law=m.law)
        for m in measurements
        if isinstance(m, Noisy)
    ]
    stated = []
    for margin, space, variance in zip(margins, setting.spaces, joint.variances(law), strict=True):
        own = np.array(np.broadcast_to(variance, space.size), dtype=np.float64)
        table = Table(name=table_name(space), space=space, values=np.zeros(space.size), variance=own)
        drawn, half = law_of_block(empty, table), reach * np.sqrt(own)
        if drawn is not None:
            half = np.full(space.size, drawn.half_width(0.95) * float(drawn.step))
        elif setting.measure == "count" and len(empty) == len(measurements):
            half = half_widths(empty, table, 0.95, half, is_sum=setting.total is None)
        stated.append(margin | {"half_width_95": float(np.quantile(half, 0.5, method="lower"))})
    return stated


def _tables(setting: Setting, law: Joint, blocks: tuple[Block, ...]) -> tuple[Table, ...]:
    """From blocks to tables, by the law alone."""
    shown = zip(setting.spaces, joint.estimates(blocks, law), joint.variances(law), strict=True)
    return tuple(
        Table(
            name=table_name(space),
            space=space,
            values=np.asarray(values, dtype=np.float64),
            variance=np.array(variance),
            measure=setting.measure,
        )
        for space, values, variance in shown
    )


def _preview(best: Candidate, every: Sequence[Candidate]) -> dict[str, Any]:
    """What is known before any data are read."""
    setting = best.setting
    shown = list(zip(setting.spaces, best.std_errors, strict=True))
    alternatives = [{"strategy": o.strategy, "mechanism": o.mechanism, **o.errors} for o in every]
    preview = {
        "strategy": best.strategy,
        "mechanism": best.mechanism,
        "objective": setting.objective,
        "cells": sum(space.size for space in setting.spaces),
        **best.errors,
        "public_total": setting.total is not None,
        "margins": [
            {"axes": [axis.name for axis in space.axes], "cells": space.size, "std_error": error}
            for space, error in shown
        ],
        "alternatives": alternatives,
    }
    if isinstance(best.law, MarginsLaw):
        preview["merging"] = propose_merging(setting.domain, *max(shown, key=lambda pair: pair[0].size))
        for option, own in zip(every, alternatives, strict=True):
            own["rmse_before_least_squares"] = option.before
    return preview


def propose_merging(domain: Domain, space: CellSpace, std_error: float) -> list[dict[str, Any]]:
    """Coarser declared levels for a table that would be mostly noise, from the request and a public size alone.

    A table is called thin if the standard error exceeds half of the mean count that the public size implies. One
    proposal for each declared level, the finest sufficient one first; nothing is read from data.
    """
    people = domain.public_size
    if people is None or std_error <= 0.5 * people / space.size:
        return []
    proposals = []
    for axis in space.axes:
        for hierarchy in domain.variable(axis.variable).hierarchies:
            groups = len(hierarchy.groups)
            if groups < len(axis):
                cells = space.size // len(axis) * groups
                mean = people / cells
                proposals.append(
                    {
                        "variable": axis.variable,
                        "level": hierarchy.level,
                        "cells": cells,
                        "mean_count": mean,
                        "is_sufficient": std_error <= 0.5 * mean,
                    }
                )
    return sorted(proposals, key=lambda p: (not p["is_sufficient"], -int(p["cells"])))
