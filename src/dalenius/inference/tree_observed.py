"""A table along a hierarchy, or measured for ranges, however large: sums and differences with exact variances.

No covariance matrix is made. The variance of a weighted sum of cells (any union of places, any difference of unions)
follows from the published law in time linear in the nodes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra import joint
from dalenius.algebra.range_law import STRUCTURE as RANGES
from dalenius.algebra.range_law import RangeLaw
from dalenius.algebra.tree_law import TreeLaw
from dalenius.core.law import FloatArray, Joint, Law
from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.inference.drawn import SeenTable, drawn_as
from dalenius.inference.observation import adjusted_note


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeObserved(SeenTable):
    """Unbiased values of one table, and the law from which variances follow."""

    values: FloatArray
    law: TreeLaw | RangeLaw
    position: int
    measure: str = "count"
    laws: tuple[Law, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether cells hold numbers of records; totals of a variable follow no Poisson law, and may be negative."""
        return self.measure == "count"

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Every cell; an impossible one is 0 with variance 0."""
        return np.ones(self.shape, dtype=bool)

    @property
    def guess(self) -> FloatArray:
        return self.values

    def spread(self, weights: FloatArray) -> FloatArray:
        """Covariance of weighted sums of the cells (rows of `weights`), from the noise alone."""
        out = np.diag([self.law.square(self.position, row) for row in weights])
        for i in range(len(weights)):
            for j in range(i):
                both = self.law.square(self.position, weights[i] + weights[j])
                out[i, j] = out[j, i] = (both - out[i, i] - out[j, j]) / 2
        return out


def is_for_ranges(release: Release) -> bool:
    return isinstance(release.law, Joint) and release.law.structure == RANGES


def observe_along(release: Release, names: Iterable[str]) -> TreeObserved:
    """The smallest shown table that has all the named axes."""
    wanted = set(names)
    tables = [
        (table.space.size, k)
        for k, table in enumerate(release.tables)
        if wanted <= {axis.name for axis in table.space.axes}
    ]
    if not tables:
        shown = "; ".join(table.name for table in release.tables)
        raise Unsupported(f"No shown table has all of {sorted(wanted)}; there are: {shown}.")
    table, drawn = release.tables[min(tables)[1]], drawn_as(release)
    law = joint.read_law(release.law)
    assert isinstance(law, TreeLaw | RangeLaw)
    values = joint.linear_map(release, table)([block.values for block in release.blocks])
    return TreeObserved(
        axes=table.space.axes,
        values=values.reshape(table.space.shape),
        law=law,
        position=min(tables)[1],
        measure=table.measure,
        notes=adjusted_note(release),
        laws=tuple(block.law for block in release.blocks),
        draws=drawn.draws,
        rows=drawn.rows,
    )
