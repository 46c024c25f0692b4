"""The likelihood of many simulated tables at once, by interpolation in s = 2 sqrt(mu).

On that scale a Poisson log-likelihood has unit curvature everywhere, so that two step widths serve all means. Values at
the nodes are exact; between nodes cubic Hermite interpolation errs by less than 1e-6, and what lies off
the grid is evaluated directly. Released values are taken in blocks, each with the nodes within its reach; under very
wide noise each node looks at the counts that its Poisson law can give.
"""

from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dalenius.core.law import FloatArray, IntArray
from dalenius.inference.channel import Channel, Compressed, Grouped, Repeated, Shifted
from dalenius.inference.likelihood import CountLikelihood, Moments

STEP, WIDE_STEP = 0.1, 0.25
_REACH, _WIDE_REACH = 9.0, 7.0
_WIDE_FROM = 40.0
_BLOCK = 128
_LEAST_LOG = -650.0
_WIDE_WINDOW = 1 << 12
_RUN = 4.0
# Counts that are left out add less than exp(-48) of a value's largest probability; a likelihood this many logarithms
# below it is
# evaluated directly, so that others are right to 1e-8.
_FAINT = 29.0


def _runs(s: FloatArray) -> list[slice]:
    """Nodes that are near to each other, a few standard deviations at a time."""
    starts = np.searchsorted(s, np.arange(0.0, float(s[-1]) + _RUN, _RUN))
    return [slice(int(a), int(b)) for a, b in zip(starts, [*starts[1:], len(s)], strict=True) if a < b]


def _counts(mu: FloatArray, low: int, high: int) -> slice:
    """Counts within ten standard deviations and fifty of some means; all others have less than exp(-48)."""
    least, most = float(mu[0]), float(mu[-1])
    start = min(max(int(least - 10 * np.sqrt(least)) - 50, low), high - 1)
    return slice(start, max(min(int(most + 10 * np.sqrt(most)) + 51, high), start + 1))


def _sums(chances: FloatArray, mu: FloatArray, span: slice) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Likelihood (scaled by the peak of each node), residual, variance and log-likelihood at some means."""
    a = np.arange(span.start, span.stop)
    log_poisson = a[:, None] * np.log(mu) - mu - gammaln(a + 1.0)[:, None]
    # Each node is scaled by its own peak over the block, so that no row underflows without being flagged.
    peak = log_poisson.max(0)
    poisson = np.exp(log_poisson - peak)
    centred = a[:, None] - mu
    with np.errstate(divide="ignore", invalid="ignore"):
        f = chances @ poisson
        residual = (chances @ (poisson * centred)) / f
        variance = (chances @ (poisson * centred**2)) / f - residual**2
        return f, residual, variance, np.log(f) + peak


class GridLikelihood:
    """Same answers as `CountLikelihood`, for values of any shape, fast enough for thousands of tables."""

    shape: tuple[int, ...]

    def __init__(self, channel: Channel, values: IntArray) -> None:
        """`values` are single releases (one number for each cell)."""
        self.shape = values.shape
        distinct, which = np.unique(values, return_inverse=True)
        self._which = which.reshape(-1)
        # Large values need no interpolation: a few Gauss nodes stand for their noise.
        large = channel.large if isinstance(channel, Shifted) else None
        self._small = len(distinct) if large is None else int(np.searchsorted(distinct, large))
        self._exact = CountLikelihood(channel, distinct[: self._small]) if self._small else None
        self._quick = None
        if self._small < len(distinct):
            assert isinstance(channel, Shifted)
            self._quick = CountLikelihood(Compressed(channel.noise), distinct[self._small :])
        self._first_node = np.zeros(len(distinct), dtype=np.int64)
        self._nodes = np.zeros(len(distinct), dtype=np.int64)
        self._offset = np.zeros(len(distinct), dtype=np.int64)
        self._step = np.ones(len(distinct))
        parts, used = [np.full((2, 5), np.nan)], 2
        for start in range(0, self._small, _BLOCK):
            rows = slice(start, min(start + _BLOCK, self._small))
            first_node, step, table = self._block(channel, distinct[rows])
            self._first_node[rows], self._step[rows] = first_node, step
            self._nodes[rows] = table.shape[1]
            self._offset[rows] = used + np.arange(table.shape[0]) * table.shape[1]
            used += table.shape[0] * table.shape[1]
            parts.append(table.reshape(-1, 5))
        self._table = np.concatenate(parts)

    def _block(self, channel: Channel, values: IntArray) -> tuple[int, float, FloatArray]:
        """Nodes, their step, and exact (log f, its slope, residual, its slope, variance) for a block of values."""
        first, _, rows = channel.window(values)
        low, high = int(first.min()), int(first.max()) + rows.shape[1]
        centre = np.maximum(channel.centre(values), 0.0)
        reach = np.sqrt(channel.variance(centre, values).max()) * 4
        near = 2 * np.sqrt(max(float(centre.min()) - reach, 0.0))
        # The window of wide noise is far wider than a Poisson law, and the likelihood as smooth as the noise.
        is_wide = high - low > _WIDE_WINDOW
        step, beyond = (WIDE_STEP, _WIDE_REACH) if near > _WIDE_FROM or is_wide else (STEP, _REACH)
        far = 2 * np.sqrt(float(centre.max()) + reach) + beyond
        node = np.arange(int(max(near - beyond, 0.0) / step), int(far / step) + 2)
        s = np.maximum(node * step, 1e-7)
        mu = s * s / 4
        chances = np.zeros((len(values), high - low))
        np.put_along_axis(chances, (first - low)[:, None] + np.arange(rows.shape[1]), np.exp(rows), axis=1)
        f, residual, variance, log_f = (np.empty((len(values), len(mu))) for _ in range(4))
        # Nodes are then taken in runs, each with the counts that it can give.
        for nodes in _runs(s) if is_wide else [slice(0, len(s))]:
            span = _counts(mu[nodes], low, high) if is_wide else slice(low, high)
            part = _sums(chances[:, span.start - low : span.stop - low], mu[nodes], span)
            f[:, nodes], residual[:, nodes], variance[:, nodes], log_f[:, nodes] = part
        if is_wide:
            f[log_f < np.log(chances.max(1, keepdims=True)) - _FAINT] = 0.0
        table = np.stack([log_f, residual * 2 / s, residual, 2 * variance / s - s / 2, variance], axis=-1)
        table[np.log(np.maximum(f, 1e-320)) < _LEAST_LOG] = np.nan
        if node[0] == 0:
            self._origin(table, first, rows)
        return int(node[0]), step, table

    @staticmethod
    def _origin(table: FloatArray, first: IntArray, rows: FloatArray) -> None:
        """At mu = 0 the exact count is zero; where the value cannot show a zero there is no node."""
        possible = (first == 0) & np.isfinite(rows[:, 0])
        table[:, 0] = np.nan
        table[possible, 0] = 0.0
        table[possible, 0, 0] = rows[possible, 0]

    def __call__(self, mean: FloatArray, select: IntArray | None = None) -> Moments:
        """At means of the shape of the values; `select` restricts both to some of the tables (first axis)."""
        which = self._which.reshape(self.shape)
        which = which if select is None else which[select]
        flat, mu = which.reshape(-1), np.maximum(mean.reshape(-1), 1e-13)
        s = 2 * np.sqrt(mu)
        step = self._step[flat]
        position = s / step
        node = position.astype(np.int64)
        t = position - node
        node -= self._first_node[flat]
        off = (node < 0) | (node + 1 >= self._nodes[flat])
        index = self._offset[flat] + np.where(off, 0, node)
        left, right = self._table[index], self._table[index + 1]
        # Hermite basis on the unit interval.
        rest = 1 - t
        h00, h01 = (1 + 2 * t) * rest**2, t**2 * (3 - 2 * t)
        h10, h11 = step * t * rest**2, -step * t**2 * rest
        value = h00 * left[:, 0] + h10 * left[:, 1] + h01 * right[:, 0] + h11 * right[:, 1]
        residual = h00 * left[:, 2] + h10 * left[:, 3] + h01 * right[:, 2] + h11 * right[:, 3]
        variance = rest * left[:, 4] + t * right[:, 4]
        off |= ~np.isfinite(value + residual + variance)
        if off.any():
            is_large = flat >= self._small
            for engine, here, shift in ((self._exact, off & ~is_large, 0), (self._quick, off & is_large, self._small)):
                if engine is not None and here.any():
                    value[here], residual[here], variance[here] = engine.at_distinct(flat[here] - shift, mu[here])
        return Moments(value, residual, np.maximum(variance, 0.0)).each(lambda part: part.reshape(which.shape))

    @property
    def saturated(self) -> tuple[FloatArray, FloatArray]:
        solved = [engine.saturated for engine in (self._exact, self._quick) if engine is not None]
        mean, best = (np.concatenate(part) for part in zip(*solved, strict=True))
        return mean[self._which].reshape(self.shape), best[self._which].reshape(self.shape)


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
        best = np.zeros(self._shape)
        if self._direct is not None:
            best = self._direct.saturated[1].reshape(self._shape)
        for here, grid in self._grids:
            best[:, here] = grid.saturated[1]
        return np.asarray((best * self._possible).reshape(len(best), -1).sum(1))
