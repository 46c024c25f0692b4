"""Coarser levels for a table that would be mostly noise, from documents alone."""

from typing import Any

from dalenius.core.domain import CellSpace, Domain


def propose_merging(
    domain: Domain, space: CellSpace, std_error: float, *, size: int | None = None, ratio: float = 0.5
) -> list[dict[str, Any]]:
    """Coarser declared levels for a table that would be mostly noise, from the request and a public size alone.

    A table is called thin if the standard error exceeds `ratio` times the mean count that the public size implies. One
    proposal for each declared level, the finest sufficient one first; nothing is read from data.
    """
    people = size if size is not None else domain.public_size
    if people is None or std_error <= ratio * people / space.size:
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
                        "is_sufficient": std_error <= ratio * mean,
                    }
                )
    return sorted(proposals, key=lambda p: (not p["is_sufficient"], -int(p["cells"])))
