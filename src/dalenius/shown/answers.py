"""A release with the labels of its answers: a selected cell by its own, and one number by the name of its measure.

What was measured and stored stays as it is: the place of the cell among the candidates, and the label that the step
gave its number. Both are named here, from the request that the release holds.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dalenius.algebra import tabulation
from dalenius.core.domain import CellSpace
from dalenius.core.release import SELECTION, Block, Release, Subject, Table


def labelled(release: Release, name: Callable[[Table], str] | None = None) -> Release:
    """The same release with its answers labelled; itself where the labels are those that were asked for.

    `name` gives the name of a number; the measure's own name where it is not given.
    """

    def measure(_: Table) -> str:
        return " ".join(filter(None, (release.about.measure.replace("_", " "), release.about.q)))

    tables = tuple(_labelled(release, table, name or measure) for table in release.tables)
    is_same = all(new is old for new, old in zip(tables, release.tables, strict=True))
    return release if is_same else release.with_(tables=tables)


def labelled_table(stored: Release, release: Release, table: Table) -> Table:
    """The labelled form of a table of the stored release; any other table is itself."""
    pairs = zip(release.tables, stored.tables, strict=True)
    return next((new for new, old in pairs if old is table), table)


def columns(release: Release, table: Table, confidence: float = 0.95) -> dict[str, list[object]]:
    read = labelled(release)
    return tabulation.columns(read, labelled_table(release, read, table), confidence)


def is_one_number(release: Release, table: Table) -> bool:
    """Whether the one label of a table names a measured number and no cell: the step named it, not the request."""
    block = _block_of(release, table)
    spaces = [table.space] if block is None else [table.space, block.space]
    is_single = all(len(space.axes) == 1 and space.size == 1 for space in spaces)
    return block is not None and is_single and not _has_asked_axes(release, table)


def _has_asked_axes(release: Release, table: Table) -> bool:
    """Whether the labels of a table are of variables that the request names."""
    asked = {str(axis["variable"]) for axis in release.provenance.request.get("axes") or ()}
    return {axis.variable for axis in table.space.axes} <= asked


def _block_of(release: Release, table: Table) -> Block | None:
    return next((block for block in release.blocks if block.name == table.name), None)


def _labelled(release: Release, table: Table, name: Callable[[Table], str]) -> Table:
    block = _block_of(release, table)
    if block is not None and block.role == SELECTION:
        if table.measure == SELECTION and np.isnan(table.values[0]):
            return table
        # Some methods label their table by the chosen cell and mark it by a 1, which is no place among the candidates.
        space = table.space if _has_asked_axes(release, table) else _cell_of(release, int(block.values[0]))
        nothing = np.full(1, np.nan)
        return replace(table, space=space, values=nothing, variance=nothing, measure=SELECTION)
    if is_one_number(release, table):
        axes = tuple(replace(axis, labels=(name(table),)) for axis in table.space.axes)
        return replace(table, space=CellSpace(axes))
    return table


def _cell_of(release: Release, place: int) -> CellSpace:
    candidates = release.about.candidates or Subject.derived(release.provenance.request).candidates
    places = np.unravel_index(place, tuple(len(axis) for axis in candidates))
    return CellSpace(
        tuple(replace(axis, labels=(axis.labels[int(place)],)) for axis, place in zip(candidates, places, strict=True))
    )
