"""The likelihood of many simulated tables of one kind."""

from math import prod

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import FloatArray, IntArray
from dalenius.inference.channel import Channel, Shifted
from dalenius.inference.compound_channel import Grouped, Repeated
from dalenius.inference.grid import GridLikelihood
from dalenius.inference.likelihood import CountLikelihood, Moments


class Many:
    """Moments of many simulated tables; by interpolation where each cell was released once."""

    def __init__(self, channel: Channel, possible: NDArray[np.bool_], values: IntArray) -> None:
        """`possible` has the shape of a table; `values` hold the tables on the first axis."""
        self._possible = possible
        self._shape = (len(values), *possible.shape)
        self._direct: CountLikelihood | None = None
        self._grids: list[tuple[NDArray[np.bool_], GridLikelihood]] = []
        if isinstance(channel, Repeated):
            self._direct = CountLikelihood(channel, values.reshape(-1, values.shape[-1]))
        elif isinstance(channel, Grouped):
            # There are at least two groups, or the channel would be a simple one.
            for g, noise in enumerate(channel.noises):
                here = channel.groups == g
                self._grids.append((here, GridLikelihood(Shifted(noise), values[..., 0][:, here])))
        else:
            every = np.ones(possible.shape, dtype=bool)
            self._grids.append((every, GridLikelihood(channel, values.reshape(len(values), -1))))

    def __call__(self, mean: FloatArray, select: IntArray) -> Moments:
        if len(self._grids) == 1:
            moments = self._grids[0][1](mean.reshape(len(mean), -1), select)
        elif self._direct is None:
            moments = Moments(*(np.zeros(mean.shape) for _ in range(3)))
            for here, grid in self._grids:
                for part, own in zip(moments, grid(mean[:, here], select), strict=True):
                    part[:, here] = own
        else:
            cells = np.arange(prod(self._shape)).reshape(self._shape)[select].reshape(-1)
            moments = self._direct.at_cells(cells, mean.reshape(-1))
        moments = moments.each(lambda part: part.reshape(mean.shape))
        return moments if self._possible.all() else moments.each(lambda part: part * self._possible)

    @property
    def saturated(self) -> FloatArray:
        """Largest log-likelihood of each table, cell by cell."""
        best = np.zeros(self._shape)
        if self._direct is not None:
            best = self._direct.saturated[1].reshape(self._shape)
        for here, grid in self._grids:
            best[:, here] = grid.saturated[1]
        return np.asarray((best * self._possible).reshape(len(best), -1).sum(1))
