"""Margins along declared hierarchies, and tables with structural zeros: where the residual decomposition does not hold.

The interior alone is measured, and every margin is a sum of perturbed cells. It serves lists with too many impossible
cells for least squares; all others are measured level by level (`along`).
"""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import Any

from dalenius.algebra import joint
from dalenius.algebra.nested import View
from dalenius.core import registry
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Measurement, Mechanism
from dalenius.core.domain import Axis, Categories, CellSpace, Domain
from dalenius.core.law import Joint
from dalenius.core.plan import Assemble
from dalenius.core.query import TableQuery
from dalenius.errors import UnknownName, Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.allotments import Allotment, allotments
from dalenius.plans.margins.setting import MarginsAsked, assembling, table_name
from dalenius.statistics.count import Count

Planned = tuple[tuple[Measurement, ...], Joint, Assemble, dict[str, Any]]


def resolve(domain: Domain, axes: Sequence[Axis], margin: Sequence[str]) -> tuple[View, tuple[Axis, ...]]:
    """A margin's view of the finest table, and its own axes; "variable.level" is a declared coarser level."""
    wanted: dict[int, tuple[tuple[int, ...], Axis]] = {}
    for name in margin:
        position, groups, axis = _axis(domain, axes, name)
        if position in wanted:
            raise Unsupported(f"The margin {list(margin)} names two levels of {axes[position].variable!r}.")
        wanted[position] = (groups, axis)
    view = tuple(wanted[i][0] if i in wanted else None for i in range(len(axes)))
    return view, tuple(wanted[i][1] for i in sorted(wanted))


def _axis(domain: Domain, axes: Sequence[Axis], name: str) -> tuple[int, tuple[int, ...], Axis]:
    names = [axis.name for axis in axes]
    if name in names:
        position = names.index(name)
        return position, tuple(range(len(axes[position]))), axes[position]
    variable, _, level = name.partition(".")
    for position, axis in enumerate(axes):
        if axis.variable == variable and level and isinstance(domain.variable(variable).domain, Categories):
            hierarchy = domain.variable(variable).hierarchy(level)
            groups = [-1] * len(axis)
            for category, label in enumerate(axis.codes):
                if label >= 0:
                    if groups[label] not in (-1, hierarchy.parent[category]):
                        raise Unsupported(f"{axis.labels[label]!r} lies in two groups of {name!r}.")
                    groups[label] = hierarchy.parent[category]
            if axis.has_rest:
                groups[-1] = len(hierarchy.groups)
            used = {group: place for place, group in enumerate(sorted(set(groups)))}
            labels = (*hierarchy.groups, axis.labels[-1])
            coarse = Axis(
                variable=variable,
                labels=tuple(labels[g] for g in used),
                codes=tuple(used[p] if axis.codes[c] >= 0 else -1 for c, p in enumerate(hierarchy.parent)),
                level=level,
                has_rest=axis.has_rest,
            )
            return position, tuple(used[g] for g in groups), coarse
    raise UnknownName.among("axis", name, names)


def plan(request: MarginsAsked) -> Planned:
    """The interior alone, priced and ready: every margin is a sum of its perturbed cells."""
    resolved = [resolve(request.domain, request.axes, m) for m in request.margins]
    priced_plans = [
        _priced(request, allotment, [view for view, _ in resolved])
        for allotment in allotments(request.definition, request.budget)
        if not allotment.is_by_loss
    ]
    objective = "largest_std_error" if request.objective == "maximum" else "rmse"
    measurement, law, preview = min(priced_plans, key=lambda option: option[2][objective])
    preview["alternatives"] = [
        {key: option[2][key] for key in ("strategy", "mechanism", "rmse", "largest_std_error")}
        for option in priced_plans
    ]
    zeros = {request.axes: request.structural_zeros}
    spaces = [CellSpace(axes, zeros.get(axes, frozenset())) for _, axes in resolved]
    return (measurement,), law, assembling(law, spaces, request.measure), preview


def _priced(request: MarginsAsked, allotment: Allotment, views: Sequence[View]) -> tuple[Noisy, Joint, dict[str, Any]]:
    family = registry.get("mechanisms", request.mechanism or allotment.mechanism)
    space = CellSpace(request.axes, request.structural_zeros)
    statistic = Count(TableQuery(space=space, where=request.where))
    mechanism: Mechanism = calibrate(
        family, statistic.sensitivity(request.neighbours), request.neighbours.relation, *allotment.part(Fraction(1))
    )
    law = Joint(
        "nested",
        {
            "strategy": "interior",
            "axes": [axis.name for axis in request.axes],
            "shape": list(space.shape),
            "shown": [[list(g) if g is not None else None for g in view] for view in views],
            "blocks": [{"view": [list(range(size)) for size in space.shape], "variance": mechanism.variance}],
            "structural_zeros": list(space.structural_indices),
        },
    )
    variances = joint.variances(law)
    weights = request.weights or (1.0,) * len(views)
    cells = sum(w * len(v) for w, v in zip(weights, variances, strict=True))
    preview = {
        "strategy": "interior",
        "mechanism": family.name,
        "objective": request.objective,
        "cells": sum(len(v) for v in variances),
        "rmse": sqrt(sum(w * float(v.sum()) for w, v in zip(weights, variances, strict=True)) / cells),
        "largest_std_error": sqrt(max(float(v.max()) / w for w, v in zip(weights, variances, strict=True))),
        "public_total": False,
        "margins": [
            {"axes": list(m), "cells": len(v), "std_error": sqrt(float(v.mean()))}
            for m, v in zip(request.margins, variances, strict=True)
        ],
    }
    return Noisy(table_name([axis.name for axis in request.axes]), statistic, mechanism), law, preview
