"""Declared public totals: the shown tables are made to respect numbers that the custodian publishes without noise.

An invariant is outside the guarantee: whoever publishes an exact total reveals it. The guarantee says so by name. The adjustment
itself is arithmetic on released values (least squares subject to the totals); it is free and lowers the error. The measured blocks stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dalenius.core.adjusting import axis_names, has_levels, impose, restored, shaped
from dalenius.core.law import FloatArray
from dalenius.core.margins import Margin
from dalenius.core.release import Release
from dalenius.errors import ParameterError, UnknownName, Unsupported

__all__ = ["Invariants"]


@dataclass(frozen=True, eq=False)
class Invariants:
    """Public totals: axis names (none for the grand total) to exact numbers in declared order."""

    totals: Mapping[tuple[str, ...], Sequence[float]]
    name: ClassVar[str] = "invariants"

    def __call__(self, release: Release) -> Release:
        """A new release that respects the totals; measured blocks stay, the guarantee names them."""
        if has_levels(release):
            raise Unsupported("Several levels of one variable are shown; adjust a release of one level.")
        names = axis_names(release.tables)
        sizes = {a.name: len(a) for t in release.tables for a in t.space.axes}
        known: dict[Margin, FloatArray] = {}
        for axes, numbers in self.totals.items():
            for axis in axes:
                if axis not in names:
                    raise UnknownName.among("axis", axis, names)
            margin = tuple(sorted(names.index(a) for a in axes))
            array = np.asarray(numbers, dtype=np.float64)
            shape = tuple(sizes[a] for a in axes)
            if array.size != np.prod(shape, dtype=np.int64):
                raise ParameterError(
                    f"The public total over {list(axes)} needs {int(np.prod(shape))} numbers."
                )
            order = [list(axes).index(names[a]) for a in margin]
            known[margin] = array.reshape(shape).transpose(order) if order else array.reshape(())
        tables = []
        for table in release.tables:
            margin, array = shaped(table, names)
            usable = {m: v for m, v in known.items() if set(m) <= set(margin)}
            moved = impose(array, margin, usable) if usable else array
            tables.append(replace(table, values=restored(table, names, moved)))
        listed = "; ".join(" x ".join(axes) or "total" for axes in self.totals)
        note = {
            "name": self.name,
            "totals": [list(a) for a in self.totals],
            "method": "least squares subject to the totals",
        }
        provenance = replace(
            release.provenance,
            guarantee=f"{release.provenance.guarantee} Outside the guarantee, public by declaration: {listed}.".strip(),
        )
        return release.with_(
            tables=tuple(tables), adjustments=(*release.adjustments, note), provenance=provenance
        )
