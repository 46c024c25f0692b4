"""Channels made of simpler ones; their values carry a further axis.

Repeated(channels)  several independent releases of the same a  (combined releases)
Grouped(noises)     cells with different noise                  (margins around structural zeros)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import FloatArray, IntArray
from dalenius.inference.channel import Channel, Shifted, Window, impossible
from dalenius.inference.noise import Noise


@dataclass(frozen=True, eq=False)
class Repeated:
    """Several independent releases of the same counts; values have one column for each."""

    channels: Sequence[Channel]

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
        parts = [Shifted(n).window(values[values[:, 1] == g, 0]) for g, n in enumerate(self.noises)]
        length = max(p.rows.shape[1] for p in parts)
        first, rows = np.zeros(len(values), dtype=np.int64), np.full((len(values), length), -np.inf)
        for g, part in enumerate(parts):
            here = np.flatnonzero(values[:, 1] == g)
            first[here] = part.first
            rows[here, : part.rows.shape[1]] = part.rows
        return Window(first, np.arange(length), rows)

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


def noise_parts(channel: Channel, cells: int) -> list[tuple[Noise, NDArray[np.bool_]]] | None:
    """Each additive noise of a table, and which of its cells carry it, flat; None for other channels."""
    if isinstance(channel, Shifted):
        return [(channel.noise, np.ones(cells, dtype=bool))]
    if isinstance(channel, Grouped):
        return [(noise, channel.groups.reshape(-1) == g) for g, noise in enumerate(channel.noises)]
    return None
