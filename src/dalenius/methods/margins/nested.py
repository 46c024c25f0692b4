"""Margins along declared hierarchies, and tables with structural zeros: where the residual decomposition does not hold.

The interior alone is measured, and every margin is a sum of perturbed cells. It serves lists with too many impossible
cells for least squares; all others are measured level by level (`along`).
"""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.algebra.nested import View
from dalenius.core import registry
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Measurement, Mechanism
from dalenius.core.domain import Axis, Categories, CellSpace, Domain
from dalenius.core.law import Joint
from dalenius.core.plan import Assemble
from dalenius.core.query import TableQuery
from dalenius.core.release import Block, Table
from dalenius.errors import UnknownName, Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.methods.margins.setting import MarginsAsked
from dalenius.plans.allotments import Allotment, allotments
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


def plan(domain: Domain, request: MarginsAsked) -> Planned:
    """The interior alone, priced and ready: every margin is a sum of its perturbed cells."""
    resolved = [resolve(domain, request.axes, m) for m in request.margins]
    whole: View = tuple(tuple(range(len(axis))) for axis in request.axes)
    steps = [(whole, request.axes, Fraction(1))]
    plans = [
        _priced(request, allotment, "interior", steps, resolved)
        for allotment in allotments(request.definition, request.budget)
        if not allotment.is_by_loss
    ]
    score = 1 if request.objective == "maximum" else 0
    (_, measurements, law, preview) = min(plans, key=lambda option: option[0][score])
    preview["alternatives"] = [
        {"strategy": o[3]["strategy"], "mechanism": o[3]["mechanism"], "rmse": o[0][0], "largest_std_error": o[0][1]}
        for o in plans
    ]
    return measurements, law, _assemble(request, resolved, law), preview


def _priced(
    request: MarginsAsked,
    allotment: Allotment,
    name: str,
    steps: Sequence[tuple[View, tuple[Axis, ...], Fraction]],
    resolved: Sequence[tuple[View, tuple[Axis, ...]]],
) -> tuple[tuple[float, float], tuple[Measurement, ...], Joint, dict[str, Any]]:
    family = registry.get("mechanisms", request.mechanism or allotment.mechanism)
    measurements: list[Measurement] = []
    specs: list[dict[str, Any]] = []
    for view, axes, share in steps:
        space = CellSpace(axes, request.structural_zeros if axes == request.axes else frozenset())
        statistic = Count(TableQuery(space=space, where=request.where))
        definition, budget = allotment.part(share)
        sensitivity = statistic.sensitivity(request.neighbours)
        mechanism: Mechanism = calibrate(family, sensitivity, request.neighbours.relation, definition, budget)
        measurements.append(Noisy(" x ".join(a.name for a in axes) or "total", statistic, mechanism))
        specs.append({"view": [list(g) if g is not None else None for g in view], "variance": mechanism.variance})
    law = Joint(
        "nested",
        {
            "strategy": name,
            "axes": [axis.name for axis in request.axes],
            "shape": [len(axis) for axis in request.axes],
            "shown": [[list(g) if g is not None else None for g in view] for view, _ in resolved],
            "blocks": specs,
            "structural_zeros": list(CellSpace(request.axes, request.structural_zeros).structural_indices),
        },
    )
    variances = joint.variances(law)
    weights = request.weights or (1.0,) * len(resolved)
    cells = sum(w * len(v) for w, v in zip(weights, variances, strict=True))
    rmse = sqrt(sum(w * float(v.sum()) for w, v in zip(weights, variances, strict=True)) / cells)
    worst = sqrt(max(float(v.max()) / w for w, v in zip(weights, variances, strict=True)))
    preview = {
        "strategy": name,
        "mechanism": family.name,
        "objective": request.objective,
        "cells": sum(len(v) for v in variances),
        "rmse": rmse,
        "largest_std_error": worst,
        "public_total": False,
        "margins": [
            {"axes": list(m), "cells": len(v), "std_error": sqrt(float(v.mean()))}
            for m, v in zip(request.margins, variances, strict=True)
        ],
    }
    return (rmse, worst), tuple(measurements), law, preview


def _assemble(request: MarginsAsked, resolved: Sequence[tuple[View, tuple[Axis, ...]]], law: Joint) -> Assemble:
    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        tables = []
        shown = zip(resolved, joint.estimates(blocks, law), joint.variances(law), strict=True)
        for (_, axes), values, variance in shown:
            zeros = request.structural_zeros if axes == request.axes else frozenset()
            tables.append(
                Table(
                    name=" x ".join(axis.name for axis in axes) or "total",
                    space=CellSpace(axes, zeros),
                    values=np.asarray(values, dtype=np.float64),
                    variance=variance,
                )
            )
        return tuple(tables)

    return assemble
