"""How an exact count is seen: the probability of each released value given each exact count.

A channel turns released values into windows of log-probabilities over the exact count `a`; the likelihood engine
works on those windows alone and so never asks which mechanism made them. `send` simulates released values of exact
counts, `centre` guesses the count behind a value without bias (or nearly), and `variance` is the guess's around an
exact count of about `mean`. Released values stand on the first axis, releases of one cell on a further one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import FloatArray, IntArray, Kernel
from dalenius.errors import RequestError
from dalenius.inference.noise import Noise
from dalenius.inference.simulation import pick, pick_rows

# A kernel is tabulated from designs that are solved to about thirteen digits.
_RESOLUTION = 1e-12


class Window(NamedTuple):
    """Exact counts a = first + steps (steps shared by all values, increasing) and log P(value | a) along them."""

    first: NDArray[Any]
    steps: NDArray[Any]
    rows: FloatArray


def _gathered(size: int, parts: Sequence[tuple[NDArray[np.bool_], Window]]) -> Window:
    """One window over `size` values from those of some of them each."""
    length = max(part.rows.shape[1] for _, part in parts)
    first, rows = np.zeros(size, dtype=np.int64), np.full((size, length), -np.inf)
    for here, part in parts:
        first[here] = part.first
        rows[here, : part.rows.shape[1]] = part.rows
    return Window(first, np.arange(length), rows)


@dataclass(frozen=True, eq=False)
class Shifted:
    """released = a + noise."""

    noise: Noise

    def window(self, values: IntArray) -> Window:
        """a = value - noise runs backwards over the noise."""
        first = values - self.noise.last
        row = self.noise.log_pmf[::-1]
        drop = np.maximum(-first, 0)
        if np.any(drop >= len(row)):
            raise impossible()
        length = len(row) - int(drop.min()) if len(drop) else len(row)
        index = drop[:, None] + np.arange(length)
        inside = index < len(row)
        rows = np.where(inside, row[np.minimum(index, len(row) - 1)], -np.inf)
        return Window(first + drop, np.arange(length), rows)

    @property
    def large(self) -> int:
        """Values from which on Poisson probabilities vary so slowly along the noise that 32 Gauss nodes replace it."""
        return int(max(400, self.noise.last + 2, 9 * self.noise.variance))

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        return counts + pick(self.noise.first, self.noise.pmf, counts.shape, rng)

    def centre(self, values: IntArray) -> FloatArray:
        return np.asarray(values - self.noise.mean, dtype=np.float64)

    def variance(self, mean: FloatArray, values: IntArray) -> FloatArray:
        return np.full(np.shape(mean), self.noise.variance)


@dataclass(frozen=True, eq=False)
class Compressed(Shifted):
    """The same law seen through the Gauss nodes of its noise; for large counts, where the sums agree to 1e-9."""

    def window(self, values: IntArray) -> Window:
        """Exact counts that need not be whole."""
        points, weights = self.noise.quadrature
        rows = np.broadcast_to(np.log(weights[::-1]), (len(values), len(weights)))
        return Window(values - points[-1], points[-1] - points[::-1], rows)


@dataclass(frozen=True, eq=False)
class CensoredShift:
    """released = a + noise where that is at least `least`, and 0 below it."""

    noise: Noise
    least: int

    def window(self, values: IntArray) -> Window:
        """Shown counts as in `Shifted`; a zero stands for every count whose noise may bring it below the least one."""
        if np.any((values != 0) & (values < self.least)):
            raise impossible()
        top = self.least - 1 - self.noise.first
        counts = np.arange(max(top, 0) + 1)
        with np.errstate(divide="ignore"):
            hidden = np.log(self.noise.cdf(self.least - 1 - counts))
        is_shown = values >= self.least
        parts = [(~is_shown, Window(np.zeros(1, dtype=np.int64), counts, hidden[None]))]
        if is_shown.any():
            parts.append((is_shown, Shifted(self.noise).window(values[is_shown])))
        return _gathered(len(values), parts)

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        shown = Shifted(self.noise).send(counts, rng)
        return np.where(shown >= self.least, shown, 0)

    def centre(self, values: IntArray) -> FloatArray:
        """The shown value: nearly unbiased for large counts, and zero where the count is hidden."""
        return np.where(values >= self.least, values - self.noise.mean, 0.0)

    def variance(self, mean: FloatArray, values: IntArray) -> FloatArray:
        """Of the noise, with the width of what a zero may hide."""
        return np.full(np.shape(mean), self.noise.variance + (self.least - 1) ** 2)


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
        """Mean shift and variance of each row; what is below the digits of a table of probabilities is no shift."""
        firsts, table = self._rows
        moved = firsts[:, None] + np.arange(table.shape[1]) - np.arange(len(firsts))[:, None]
        shift = (table * moved).sum(1)
        shift = np.where(np.abs(shift) < _RESOLUTION, 0.0, shift)
        return shift, (table * (moved - shift[:, None]) ** 2).sum(1)

    def _probability(self, a: IntArray, b: IntArray) -> FloatArray:
        firsts, table = self._rows
        row = np.minimum(a, len(firsts) - 1)
        index = b - firsts[row] - (a - row)
        inside = (index >= 0) & (index < table.shape[1])
        return np.where(inside, table[row, np.clip(index, 0, table.shape[1] - 1)], 0.0)

    def window(self, values: IntArray) -> Window:
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
        return Window(first.astype(np.int64), np.arange(length), rows)

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        firsts, table = self._rows
        row = np.minimum(counts, len(firsts) - 1)
        return np.asarray(pick_rows(table, row, rng) + firsts[row] + (counts - row), dtype=np.int64)

    def centre(self, values: IntArray) -> FloatArray:
        """Value minus the mean shift of the last row (kernels may be biased at small counts)."""
        return np.asarray(values - self._moments[0][-1], dtype=np.float64)

    def variance(self, mean: FloatArray, values: IntArray) -> FloatArray:
        row = np.clip(np.rint(mean).astype(np.int64), 0, len(self.kernel.rows) - 1)
        return np.asarray(self._moments[1][row])


def impossible() -> RequestError:
    """A value that its own law cannot produce: the release was edited, or the law is another's."""
    return RequestError(
        "A released value cannot arise under the law that the release states. Analyse the measured blocks as "
        "published; a table that was clipped, rounded or edited by hand follows another law."
    )


@dataclass(frozen=True, eq=False)
class Repeated:
    """Several independent releases of the same counts; values have one column for each."""

    channels: "Sequence[Channel]"

    def window(self, values: IntArray) -> Window:
        """The windows' intersection, log-probabilities added."""
        parts = [c.window(values[:, k]) for k, c in enumerate(self.channels)]
        first = np.max([p.first for p in parts], axis=0)
        end = np.min([p.first + p.rows.shape[1] for p in parts], axis=0)
        length = int(np.max(end - first))
        if length <= 0:
            raise impossible()
        total = np.zeros((len(values), length))
        for begin, _, rows in parts:
            index = (first - begin)[:, None] + np.arange(length)
            inside = index < rows.shape[1]
            total += np.where(inside, np.take_along_axis(rows, np.minimum(index, rows.shape[1] - 1), 1), -np.inf)
        if not np.all(np.isfinite(total).any(1)):
            raise impossible()
        return Window(first, np.arange(length), total)

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        return np.stack([c.send(counts, rng) for c in self.channels], axis=-1)

    def centre(self, values: IntArray) -> FloatArray:
        guesses = np.stack([c.centre(values[..., k]) for k, c in enumerate(self.channels)], axis=-1)
        mean = guesses.mean(-1)
        weights = np.stack(
            [1 / np.maximum(c.variance(mean, values[..., k]), 1e-12) for k, c in enumerate(self.channels)], axis=-1
        )
        # Relative to the first guess, so that releases that agree are answered by the number they agree on.
        beyond = (guesses - guesses[..., :1]) * weights
        return np.asarray(guesses[..., 0] + beyond.sum(-1) / weights.sum(-1))

    def variance(self, mean: FloatArray, values: IntArray) -> FloatArray:
        weights = [1 / np.maximum(c.variance(mean, values[..., k]), 1e-12) for k, c in enumerate(self.channels)]
        return np.asarray(1 / np.sum(weights, axis=0))


@dataclass(frozen=True, eq=False)
class Grouped:
    """released = a + noise of the cell's group; values have a second column that names the group.

    `groups` has the shape of the table.
    """

    noises: Sequence[Noise]
    groups: IntArray

    def window(self, values: IntArray) -> Window:
        groups = ((values[:, 1] == g, Shifted(noise)) for g, noise in enumerate(self.noises))
        return _gathered(len(values), [(here, channel.window(values[here, 0])) for here, channel in groups])

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Counts end with the axes of the table."""
        answers = np.empty((*counts.shape, 2), dtype=np.int64)
        answers[..., 1] = self.groups
        for g, noise in enumerate(self.noises):
            here = self.groups == g
            answers[..., 0][..., here] = Shifted(noise).send(counts[..., here], rng)
        return answers

    def centre(self, values: IntArray) -> FloatArray:
        means = np.array([n.mean for n in self.noises])
        return np.asarray(values[..., 0] - means[values[..., 1]])

    def variance(self, mean: FloatArray, values: IntArray) -> FloatArray:
        spread = np.array([n.variance for n in self.noises])
        return np.broadcast_to(spread[values[..., 1]], np.shape(mean)).copy()


Channel = Shifted | CensoredShift | Kernelled | Repeated | Grouped


def noise_parts(channel: Channel, cells: int) -> list[tuple[Noise, NDArray[np.bool_]]] | None:
    """Each additive noise of a table, and which of its cells carry it, flat; None for other channels."""
    if isinstance(channel, Shifted):
        return [(channel.noise, np.ones(cells, dtype=bool))]
    if isinstance(channel, Grouped):
        return [(noise, channel.groups.reshape(-1) == g) for g, noise in enumerate(channel.noises)]
    return None
