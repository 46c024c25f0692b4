"""Tables that were measured one by one, made consistent: docs/reference/postprocess/additive.md."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dalenius.algebra.adjusting import axis_names, has_levels, restored, shaped
from dalenius.algebra.margins import Workload, least_squares
from dalenius.core.law import Joint
from dalenius.core.release import Release
from dalenius.errors import Unsupported

__all__ = ["Consistent"]


@dataclass(frozen=True)
class Consistent:
    """Replace independent tables by their least-squares estimates."""

    name: ClassVar[str] = "additive"

    @classmethod
    def examples(cls, release: Release) -> "tuple[Consistent, ...]":
        return (cls(),)

    def __call__(self, release: Release) -> Release:
        # One table agrees with itself, and a list is measured so that its tables agree.
        if len(release.tables) == 1 or isinstance(release.law, Joint):
            return release
        if has_levels(release):
            raise Unsupported("Several levels of one variable are shown; ask for them in one request.")
        for table in release.tables:
            if not np.allclose(table.variance, table.variance[0]) or not np.isfinite(table.variance).all():
                raise Unsupported("Least squares needs one known variance for all cells of a table.")
            if table.space.structural_zeros or not table.is_unbiased:
                raise Unsupported("Least squares needs unbiased tables without structural zeros.")
        names = axis_names(release.tables)
        sizes = {a.name: len(a) for t in release.tables for a in t.space.axes}
        arrays = [shaped(t, names) for t in release.tables]
        margins = tuple(m for m, _ in arrays)
        workload = Workload(tuple(sizes[n] for n in names), margins)
        variances = {m: float(t.variance[0]) for m, t in zip(margins, release.tables, strict=True)}
        answers = least_squares(workload, dict(arrays), variances)
        components = workload.after_least_squares({m: 1 / v for m, v in variances.items()})
        tables = tuple(
            replace(
                table,
                values=restored(table, names, answers[m]),
                variance=np.full(len(table.values), workload.variance(components, m)),
            )
            for m, table in zip(margins, release.tables, strict=True)
        )
        note = {"name": self.name, "method": "generalised least squares in residual components"}
        return release.with_(tables=tables, adjustments=(*release.adjustments, note))
