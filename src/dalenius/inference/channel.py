"""How an exact count is seen: the probability of each released value given each exact count.

A channel turns released values into windows of log-probabilities over the exact count `a`; the likelihood engine
works on those windows alone and so never asks which mechanism made them.

    Shifted(noise)      released = a + noise                        (additive laws)
    Kernelled(kernel)   released = b with probability p(a, b)       (kernels)
    Repeated(channels)  several independent releases of the same a  (combined releases)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from dalenius.core.law import FloatArray, IntArray, Kernel
from dalenius.errors import RequestError
from dalenius.inference.noise import Noise
from dalenius.inference.simulation import pick, pick_rows


class Channel(Protocol):
    """Released values on the first axis; more axes where one cell was released several times."""

    def window(self, values: IntArray) -> tuple[IntArray, FloatArray]:
        """For each value the first exact count of its window, and log P(value | a) along the window."""

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Released values for exact counts; simulation only."""

    def centre(self, values: IntArray) -> FloatArray:
        """An unbiased (or nearly unbiased) guess of the exact count from each value."""

    def variance(self, mean: FloatArray) -> FloatArray:
        """Variance of the guess around an exact count of about `mean`."""


@dataclass(frozen=True, eq=False)
class Shifted:
    """released = a + noise."""

    noise: Noise

    def window(self, values: IntArray) -> tuple[IntArray, FloatArray]:
        """a = value - noise runs backwards over the noise."""
        first = values - self.noise.last
        row = self.noise.log_pmf[::-1]
        drop = np.maximum(-first, 0)
        if np.any(drop >= len(row)):
            raise impossible()
        length = len(row) - int(drop.min()) if len(drop) else len(row)
        index = drop[:, None] + np.arange(length)
        inside = index < len(row)
        return first + drop, np.where(inside, row[np.minimum(index, len(row) - 1)], -np.inf)

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Add simulated noise."""
        return counts + pick(self.noise.first, self.noise.pmf, counts.shape, rng)

    def centre(self, values: IntArray) -> FloatArray:
        """Value minus the mean of the noise."""
        return np.asarray(values - self.noise.mean, dtype=np.float64)

    def variance(self, mean: FloatArray) -> FloatArray:
        """The same for every count."""
        return np.full(np.shape(mean), self.noise.variance)


@dataclass(frozen=True, eq=False)
class Kernelled:
    """released = b with probability p(a, b)."""

    kernel: Kernel

    @cached_property
    def _rows(self) -> tuple[IntArray, FloatArray]:
        """First output and probabilities of each tabulated row, padded."""
        length = max(len(row) for row in self.kernel.rows)
        table = np.zeros((len(self.kernel.rows), length))
        for a, row in enumerate(self.kernel.rows):
            table[a, : len(row)] = [w / self.kernel.scale for w in row]
        return np.asarray(self.kernel.firsts, dtype=np.int64), table

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean shift and variance of each row."""
        firsts, table = self._rows
        outputs = firsts[:, None] + np.arange(table.shape[1])
        mean = (table * outputs).sum(1)
        return mean - np.arange(len(firsts)), (table * (outputs - mean[:, None]) ** 2).sum(1)

    def _probability(self, a: IntArray, b: IntArray) -> FloatArray:
        firsts, table = self._rows
        row = np.minimum(a, len(firsts) - 1)
        index = b - firsts[row] - (a - row)
        inside = (index >= 0) & (index < table.shape[1])
        return np.where(inside, table[row, np.clip(index, 0, table.shape[1] - 1)], 0.0)

    def window(self, values: IntArray) -> tuple[IntArray, FloatArray]:
        """Every exact count that can show the value."""
        firsts, _ = self._rows
        last = len(firsts) - 1
        # Beyond the table a shows outputs from a + shift on: b - shift is the largest a that can show b.
        shift = int(firsts[last]) - last
        top = max(int(values.max(initial=0)) - shift, last) + 1
        a = np.arange(top, dtype=np.int64)
        probability = self._probability(a[None, :], values[:, None])
        possible = probability > 0
        if not np.all(possible.any(1)):
            raise impossible()
        first = possible.argmax(1)
        length = int((top - possible[:, ::-1].argmax(1) - first).max())
        index = np.minimum(first[:, None] + np.arange(length), top - 1)
        inside = first[:, None] + np.arange(length) < top
        with np.errstate(divide="ignore"):
            rows = np.log(np.where(inside, np.take_along_axis(probability, index, 1), 0.0))
        return first.astype(np.int64), rows

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Simulated outputs by inversion, row by row."""
        firsts, table = self._rows
        row = np.minimum(counts, len(firsts) - 1)
        return np.asarray(pick_rows(table, row, rng) + firsts[row] + (counts - row), dtype=np.int64)

    def centre(self, values: IntArray) -> FloatArray:
        """Value minus the mean shift of the last row (kernels may be biased at small counts)."""
        return np.asarray(values - self._moments[0][-1], dtype=np.float64)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Variance of the row nearest to the mean."""
        row = np.clip(np.rint(mean).astype(np.int64), 0, len(self.kernel.rows) - 1)
        return np.asarray(self._moments[1][row])


@dataclass(frozen=True, eq=False)
class Repeated:
    """Several independent releases of the same counts; values have one column for each."""

    channels: Sequence[Channel]

    def window(self, values: IntArray) -> tuple[IntArray, FloatArray]:
        """The windows' intersection, log-probabilities added."""
        parts = [c.window(values[:, k]) for k, c in enumerate(self.channels)]
        first = np.max([f for f, _ in parts], axis=0)
        end = np.min([f + rows.shape[1] for f, rows in parts], axis=0)
        length = int(np.max(end - first))
        if length <= 0:
            raise impossible()
        total = np.zeros((len(values), length))
        for begin, rows in parts:
            index = (first - begin)[:, None] + np.arange(length)
            inside = index < rows.shape[1]
            total += np.where(
                inside, np.take_along_axis(rows, np.minimum(index, rows.shape[1] - 1), 1), -np.inf
            )
        if not np.all(np.isfinite(total).any(1)):
            raise impossible()
        return first, total

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """One column for each release."""
        return np.stack([c.send(counts, rng) for c in self.channels], axis=-1)

    def centre(self, values: IntArray) -> FloatArray:
        """Inverse-variance mean of the single guesses."""
        guesses = np.stack([c.centre(values[..., k]) for k, c in enumerate(self.channels)], axis=-1)
        mean = guesses.mean(-1)
        weights = np.stack([1 / np.maximum(c.variance(mean), 1e-12) for c in self.channels], axis=-1)
        return np.asarray((guesses * weights).sum(-1) / weights.sum(-1))

    def variance(self, mean: FloatArray) -> FloatArray:
        """Variance of that mean."""
        weights = [1 / np.maximum(c.variance(mean), 1e-12) for c in self.channels]
        return np.asarray(1 / np.sum(weights, axis=0))


def impossible() -> RequestError:
    """A value that its own law cannot produce: the release was edited, or the law is another's."""
    return RequestError(
        "A released value cannot arise under the law that the release states. Analyse the measured blocks as "
        "published; a table that was clipped, rounded or edited by hand follows another law."
    )
