"""Values of one order of cells in another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import CellSpace


def rearranged(values: NDArray[Any], given: CellSpace, wanted: CellSpace) -> NDArray[Any]:
    """Flat values of one cell order in another order of the same cells.

    Axes are matched by variable and cells by label.
    """
    sources = {axis.variable: number for number, axis in enumerate(given.axes)}
    table = np.asarray(values).reshape(given.shape)
    table = table.transpose([sources[axis.variable] for axis in wanted.axes])
    for number, axis in enumerate(wanted.axes):
        labels = given.axes[sources[axis.variable]].labels
        if labels != axis.labels:
            table = table.take([labels.index(label) for label in axis.labels], axis=number)
    return table.reshape(-1)
