"""The plan of a list of margins along a hierarchy: every strategy that can be measured level by level, and the best of
them.
"""

from collections.abc import Sequence
from functools import partial
from math import isfinite, sqrt
from typing import Any

import numpy as np

from dalenius.core.domain import CellSpace
from dalenius.core.law import IntArray
from dalenius.errors import Unsupported
from dalenius.plans.margins.levels import (
    LevelCandidate,
    LevelSetting,
    LevelStrategy,
    independent_zeros,
    shown_zeros,
    tree_of,
)
from dalenius.plans.margins.nested import Planned, resolve
from dalenius.plans.margins.setting import MarginsAsked, assembling, candidates, refuse_public_alone


def setting_of(request: MarginsAsked) -> tuple[LevelSetting, list[CellSpace]]:
    """The request along its tree, and the cells of every shown table."""
    resolved = [resolve(request.domain, request.axes, m) for m in request.margins]
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
        **vars(request), table=table, place=place, leaves=leaves, levels=levels, impossible=impossible, zeros=zeros
    )
    return setting, spaces


def _with_zeros(space: CellSpace, cells: IntArray) -> CellSpace:
    places = zip(*(p.tolist() for p in np.unravel_index(cells, space.shape)), strict=True) if space.axes else ()
    return CellSpace(space.axes, frozenset(tuple(place) for place in places))


def options(setting: LevelSetting) -> list[LevelCandidate]:
    """All strategies that serve the list, the best first; or the named one, which must."""
    served, refusal = candidates(setting, lambda s: partial(s.along, setting) if isinstance(s, LevelStrategy) else None)
    served = [candidate for candidate in served if isfinite(candidate.score(setting))]
    if not served:
        which = f"The strategy {setting.strategy!r} is not" if setting.strategy else "No strategy is"
        why = f" {refusal}" if refusal is not None else ""
        where = "where impossible cells are shown" if setting.impossible else "along hierarchies"
        raise Unsupported(f"{which} available {where} under {setting.definition.name!r}.{why}")
    return sorted(served, key=lambda option: option.score(setting))


def plan(request: MarginsAsked) -> list[Planned]:
    """Every option, priced and ready, the best first."""
    setting, spaces = setting_of(request)
    refuse_public_alone(setting.total is not None and all(setting.table.cells(s) == 1 for s in setting.table.shown))
    every, ready = options(setting), []
    for option in every:
        law = option.joint(setting)
        tables = assembling(law, spaces, request.measure)
        ready.append((option.build()[0], law, tables, preview(setting, option, every)))
    return ready


def preview(setting: LevelSetting, best: LevelCandidate, every: Sequence[LevelCandidate]) -> dict[str, Any]:
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
            for m, v in zip(setting.margins, best.variances, strict=True)
        ],
        "alternatives": [
            {"strategy": o.strategy, "mechanism": o.mechanism, **o.errors(setting.importance)} for o in every
        ],
    }
