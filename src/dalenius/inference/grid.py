"""The likelihood of many simulated tables at once, by interpolation in s = 2 sqrt(mu).

On that scale a Poisson log-likelihood has unit curvature everywhere, and is closer to a parabola the larger the mean, so that
two step widths serve all means. Values and derivatives at the nodes are exact (matrix products of P(x | a) with Poisson probabilities); between nodes cubic Hermite
interpolation errs by less than 1e-6, and what lies off the grid is evaluated directly. Released values are taken in
blocks, each with the nodes within its reach, so that large counts cost no more than small ones.
"""

import numpy as np
from scipy.special import gammaln

from dalenius.core.law import FloatArray, IntArray
from dalenius.inference.channel import Channel, Shifted
from dalenius.inference.likelihood import CountLikelihood, Moments

STEP, WIDE_STEP = 0.1, 0.25
_REACH, _WIDE_REACH = 9.0, 7.0
_WIDE_FROM = 40.0
_BLOCK = 128
_LEAST_LOG = -650.0


class GridLikelihood:
    """Same answers as `CountLikelihood`, for values of any shape, fast enough for thousands of tables."""

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
            self._quick = CountLikelihood(channel.compressed(), distinct[self._small :])
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
        step, beyond = (WIDE_STEP, _WIDE_REACH) if near > _WIDE_FROM else (STEP, _REACH)
        far = 2 * np.sqrt(float(centre.max()) + reach) + beyond
        node = np.arange(int(max(near - beyond, 0.0) / step), int(far / step) + 2)
        s = np.maximum(node * step, 1e-7)
        mu = s * s / 4
        a = np.arange(low, high)
        seen = np.zeros((len(values), len(a)))
        np.put_along_axis(seen, (first - low)[:, None] + np.arange(rows.shape[1]), np.exp(rows), axis=1)
        log_poisson = a[:, None] * np.log(mu) - mu - gammaln(a + 1.0)[:, None]
        # Each node is scaled by its own peak over the block, so that no row underflows without being flagged.
        peak = log_poisson.max(0)
        poisson = np.exp(log_poisson - peak)
        centred = a[:, None] - mu
        with np.errstate(divide="ignore", invalid="ignore"):
            f = seen @ poisson
            residual = (seen @ (poisson * centred)) / f
            variance = (seen @ (poisson * centred**2)) / f - residual**2
            log_f = np.log(f) + peak
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
            for engine, here, shift in (
                (self._exact, off & ~is_large, 0),
                (self._quick, off & is_large, self._small),
            ):
                if engine is not None and here.any():
                    exact = engine.at_distinct(flat[here] - shift, mu[here])
                    value[here], residual[here] = exact.log_likelihood, exact.residual
                    variance[here] = exact.variance
        shape = which.shape
        return Moments(
            value.reshape(shape), residual.reshape(shape), np.maximum(variance, 0.0).reshape(shape)
        )

    @property
    def saturated(self) -> tuple[FloatArray, FloatArray]:
        """Saturated means and log-likelihoods, in the shape of the values."""
        solved = [engine.saturated for engine in (self._exact, self._quick) if engine is not None]
        mean, best = (np.concatenate(part) for part in zip(*solved, strict=True))
        return mean[self._which].reshape(self.shape), best[self._which].reshape(self.shape)
