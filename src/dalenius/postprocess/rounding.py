"""Whole numbers whose margins add up: docs/reference/postprocess/rounding.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dalenius.algebra.adjusting import finest, from_finest, has_levels, impossible
from dalenius.algebra.tree_whole import TopDown, is_along, whole
from dalenius.algebra.whole import controlled, largest_remainder, whole_values
from dalenius.core.law import FloatArray
from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.postprocess._moved import moved

_MOST_CONTROLLED = 40_000


@dataclass(frozen=True)
class Rounding:
    """Replace shown tables by consistent whole numbers."""

    name: ClassVar[str] = "rounding"

    @classmethod
    def examples(cls, release: Release) -> "tuple[Rounding, ...]":
        return (cls(),)

    def __call__(self, release: Release) -> Release:
        values, method = _whole(release)
        return moved(release, values, name=self.name, method=method, intervals="from the measured blocks")


def _whole(release: Release) -> tuple[Sequence[FloatArray], str]:
    """Whole values of every table, and how they were found."""
    if is_along(release):
        return TopDown(release).values(whole), "largest remainder from the top of the hierarchy down"
    if has_levels(release):
        raise Unsupported("Several levels of one variable are shown; round a release of one level.")
    try:
        table = finest(release)
    except Unsupported:
        return _without_cross(release), "controlled rounding of tables with shared margins"
    cells, free = table.values.reshape(table.shape), ~impossible(table).reshape(table.shape)
    if cells.ndim == 2 and cells.size <= _MOST_CONTROLLED:
        integers, method = controlled(cells, free), "controlled rounding of cells, rows, columns and total"
    else:
        integers = largest_remainder(cells.ravel(), free.ravel()).reshape(table.shape)
        method = "largest remainder of cells and total"
    return from_finest(release, table, integers), method


def _without_cross(release: Release) -> list[FloatArray]:
    """Whole numbers for tables none of which holds all variables, equal wherever two of them share a margin."""
    values = whole_values(release.tables)
    if values is None:
        raise Unsupported(
            "Whole numbers that add up are not found for this list: its tables share too many margins, or do not agree."
            " Ask for the full cross among the margins, or leave `whole` out."
        )
    return values
