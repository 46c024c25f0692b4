"""The one place where inference draws random numbers: simulated counts and simulated measurements.

Everything here is post-processing of what is already public, so an ordinary generator with an explicit seed is right;
nothing drawn here is ever released as protected data.
"""

import numpy as np

from dalenius.core.law import FloatArray, IntArray


def generator(seed: int) -> np.random.Generator:
    """The same seed gives the same analysis."""
    return np.random.default_rng(seed)


def counts(means: FloatArray, rng: np.random.Generator, total: int | None = None) -> IntArray:
    """A table of Poisson counts for each table of means, or of multinomial ones where the exact total is known."""
    if total is None:
        return np.asarray(rng.poisson(means), dtype=np.int64)
    flat = means.reshape(len(means), -1)
    return rng.multinomial(total, flat / flat.sum(1, keepdims=True)).reshape(means.shape)


def repeated(mean: FloatArray, replicates: int) -> FloatArray:
    return np.broadcast_to(mean, (replicates, *mean.shape))


def pick(first: int, pmf: FloatArray, shape: tuple[int, ...], rng: np.random.Generator) -> IntArray:
    """Draws from a tabulated law by inversion."""
    running = np.cumsum(pmf)
    index = np.searchsorted(running, rng.random(shape) * running[-1], side="right")
    return np.asarray(first + np.minimum(index, len(running) - 1), dtype=np.int64)


def pick_rows(table: FloatArray, row: IntArray, rng: np.random.Generator) -> IntArray:
    """For each entry of `row`, a column drawn with the probabilities of that row of the table."""
    running = np.cumsum(table, axis=1)
    uniform = rng.random(row.shape)
    column = np.zeros(row.shape, dtype=np.int64)
    for r in np.unique(row):
        here = row == r
        column[here] = np.searchsorted(running[r], uniform[here] * running[r, -1], side="right")
    return np.asarray(np.minimum(column, table.shape[1] - 1), dtype=np.int64)
