"""The plan of a list of margins along a hierarchy: every strategy that can be measured level by level, and the best of
them.
"""

from collections.abc import Sequence
from math import isfinite, sqrt
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.core import registry
from dalenius.core.contracts import Measurement
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.law import IntArray, Joint
from dalenius.core.plan import Assemble
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.methods.margins.levels import (
    LevelCandidate,
    LevelSetting,
    LevelStrategy,
    independent_zeros,
    shown_zeros,
    tree_of,
)
from dalenius.methods.margins.nested import resolve
from dalenius.methods.margins.setting import MarginsAsked, has_curve
from dalenius.plans.allotments import Allotment, allotments, within_loss

STRATEGIES = "methods.margins.strategies"


def setting_of(domain: Domain, request: MarginsAsked) -> tuple[LevelSetting, list[CellSpace]]:
    """The request along its tree, and the cells of every shown table."""
    resolved = [resolve(domain, request.axes, m) for m in request.margins]
    place, leaves, levels, table = tree_of(request.axes, resolved)
    spaces = [CellSpace(axes) for _, axes in resolved]
    zeros: tuple[tuple[int, IntArray], ...] = ()
    impossible = CellSpace(request.axes, request.structural_zeros, is_virtual=True).structural_indices
    if impossible:
        views = [view for view, _ in resolved]
        shown = shown_zeros([len(axis) for axis in request.axes], impossible, views)
        zeros = independent_zeros(views, shown)
        spaces = [_with_zeros(space, cells) for space, cells in zip(spaces, shown, strict=True)]
    setting = LevelSetting(
        domain=domain,
        axes=request.axes,
        where=request.where,
        neighbours=request.neighbours,
        definition=request.definition,
        budget=request.budget,
        objective=request.objective,
        mechanism=request.mechanism,
        total=request.total,
        importance=request.weights or (1.0,) * len(resolved),
        table=table,
        place=place,
        leaves=leaves,
        levels=levels,
        impossible=impossible,
        zeros=zeros,
        amounts=request.amounts,
    )
    return setting, spaces


def _with_zeros(space: CellSpace, cells: IntArray) -> CellSpace:
    places = zip(*(p.tolist() for p in np.unravel_index(cells, space.shape)), strict=True) if space.axes else ()
    return CellSpace(space.axes, frozenset(tuple(place) for place in places))


def options(setting: LevelSetting, only: str | None = None) -> list[LevelCandidate]:
    """All strategies that serve the list, the plainest first; or the named one, which must."""
    strategies = sorted(registry.every(STRATEGIES).values(), key=lambda strategy: strategy.plainness)
    candidates: list[LevelCandidate] = []
    refusal: Exception | None = None
    for allotment in allotments(setting.definition, setting.budget):
        for strategy in strategies:
            if not isinstance(strategy, LevelStrategy) or only not in (None, strategy.name):
                continue
            if allotment.is_by_loss and not has_curve(strategy):
                continue
            try:
                option = (
                    _within(setting, allotment, strategy)
                    if allotment.is_by_loss
                    else strategy.along(setting, allotment)
                )
            except (Unsupported, ParameterError, TooLarge) as error:
                # Noise that cannot be drawn rules out one strategy, not the others.
                refusal = error
                continue
            if isfinite(option.score(setting)):
                candidates.append(option)
    if not candidates:
        which = f"The strategy {only!r} is not" if only else "No strategy is"
        why = f" {refusal}" if refusal is not None else ""
        where = "where impossible cells are shown" if setting.impossible else "along hierarchies"
        raise Unsupported(f"{which} available {where} under {setting.definition.name!r}.{why}")
    return sorted(candidates, key=lambda option: option.score(setting))


def _within(setting: LevelSetting, allotment: Allotment, strategy: Any) -> LevelCandidate:
    def option_of(part: Allotment) -> LevelCandidate:
        option: LevelCandidate = strategy.along(setting, part)
        return option

    return within_loss(allotment, option_of, lambda option: option.build()[0], setting.neighbours, setting.budget)


def best(domain: Domain, request: MarginsAsked) -> dict[str, Any]:
    """The name and the errors of the best option."""
    setting, _ = setting_of(domain, request)
    option, *_ = options(setting, request.strategy)
    return {"strategy": option.strategy, **option.errors(setting.importance)}


def plan(
    domain: Domain, request: MarginsAsked
) -> list[tuple[tuple[Measurement, ...], Joint, Assemble, dict[str, Any]]]:
    """Every option, priced and ready, the best first."""
    setting, spaces = setting_of(domain, request)
    if setting.total is not None and all(setting.table.cells(s) == 1 for s in setting.table.shown):
        raise Unsupported(
            "Every number of this list is the declared size of the data, which is public: there is nothing to measure."
        )
    candidates = options(setting, request.strategy)
    ready = []
    for option in candidates:
        law = option.joint(setting)
        ready.append(
            (
                option.build()[0],
                law,
                assembling(law, spaces, request.measure),
                preview(setting, option, candidates, request.margins),
            )
        )
    return ready


def assembling(law: Joint, spaces: Sequence[CellSpace], measure: str) -> Assemble:
    """From blocks to tables, by the law alone."""

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        shown = joint.estimates(blocks, law)
        return tuple(
            Table(
                name=" x ".join(axis.name for axis in space.axes) or "total",
                space=space,
                values=np.asarray(values, dtype=np.float64),
                variance=variance,
                measure=measure,
            )
            for space, values, variance in zip(spaces, shown, joint.variances(law), strict=True)
        )

    return assemble


def preview(
    setting: LevelSetting,
    best: LevelCandidate,
    candidates: Sequence[LevelCandidate],
    margins: Sequence[tuple[str, ...]],
) -> dict[str, Any]:
    """What is known before any data are read."""
    return {
        "strategy": best.strategy,
        "mechanism": best.mechanism,
        "objective": setting.objective,
        "cells": sum(len(v) for v in best.variances),
        **best.errors(setting.importance),
        "public_total": setting.total is not None,
        "margins": [
            {"axes": list(m), "cells": len(v), "std_error": sqrt(float(v.mean()))}
            for m, v in zip(margins, best.variances, strict=True)
        ],
        "alternatives": [
            {"strategy": o.strategy, "mechanism": o.mechanism, **o.errors(setting.importance)} for o in candidates
        ],
    }
