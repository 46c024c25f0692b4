"""Quantiles of block estimates, each with ends at shifted ranks: docs/reference/methods/sample_and_aggregate.md.

Whoever reads a release computes again at which ranks was asked. That gives the same everywhere: ranks are made of
rationals, of the four operations of floating-point numbers and of square roots, all of which IEEE 754 rounds alike on
every machine, and of a constant; no power, logarithm or quantile function of a library takes part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.ranks import PARTS, Step, levels, steps_of
from dalenius.core.law import FloatArray
from dalenius.core.release import Block

# The level at which the ends are asked for, with its normal quantile; other levels are scaled from it.
CONFIDENCE, NORMAL_QUANTILE = 0.95, 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Public ranks that are asked for in one list: each quantile between its two ends, in the order in which they rise.

    `places[j]` are the positions of the lower end, the quantile and the upper end of quantile j among the rising ranks;
    `moves` how many ranks the ends are away, `noise` the variance of the error of each quantile's own rank, and `ends`
    that of an end's.
    """

    steps: tuple[Step, ...]
    places: tuple[tuple[int, int, int], ...]
    moves: tuple[int, ...]
    noise: tuple[float, ...]
    ends: tuple[float, ...]


@lru_cache(maxsize=4096)
def ranks_of(size: int, qs: tuple[Fraction, ...], epsilon: Fraction, rows: int) -> Ranks:
    """What to ask for in a list of a known size; epsilon is what one level of selections loses a row of a unit."""
    size = max(size, 1)
    sampling = [size * float(q * (1 - q)) for q in qs]
    noise = [0.0] * (3 * len(qs))
    for _ in range(3):
        # How far the ends are away depends on the noise of their ranks, and that on their order: few rounds settle it.
        ends = [max(noise[3 * j], noise[3 * j + 2]) for j in range(len(qs))]
        moves = [ceil(_reach(sampling[j] + ends[j], ends[j], NORMAL_QUANTILE)) for j in range(len(qs))]
        ranks = [round(q * size) + sign * move for q, move in zip(qs, moves, strict=True) for sign in (-1, 0, 1)]
        order = sorted(range(len(ranks)), key=lambda i: (min(max(ranks[i], 0), size), i % 3, i))
        steps = steps_of([min(max(ranks[i], 0), size) for i in order], size)
        variances = _variances(steps, epsilon, rows)
        noise = [variances[order.index(i)] for i in range(len(ranks))]
    places = tuple((order.index(3 * j), order.index(3 * j + 1), order.index(3 * j + 2)) for j in range(len(qs)))
    own = tuple(noise[3 * j + 1] for j in range(len(qs)))
    far = tuple(max(noise[3 * j], noise[3 * j + 2]) for j in range(len(qs)))
    return Ranks(steps=steps, places=places, moves=tuple(moves), noise=own, ends=far)


def _variances(steps: tuple[Step, ...], epsilon: Fraction, rows: int) -> list[float]:
    """Variance of the error of each selected rank: its own selection, and its share of those it lies between."""
    variances: dict[int, float] = {-1: 0.0, len(steps): 0.0}
    for step in steps:
        share = float(step.share)
        scale, rest = 2 * max(share, 1 - share) * rows / float(epsilon), 1 - share
        variances[step.target] = (
            2 * (scale * scale) + rest * rest * variances[step.left] + share * share * variances[step.right]
        )
    return [variances[i] for i in range(len(steps))]


def _reach(total: float, noise: float, z: float) -> float:
    """Quantile of sampling error plus two-sided exponential noise, by the first Cornish-Fisher term.

    `z` is the quantile of the normal law for the same confidence.
    """
    part = noise / max(total, 1e-9)
    return z * sqrt(total) * (1 + 3 * (part * part) * (z * z - 3) / 24)


@lru_cache(maxsize=4096)
def plain_ranks(size: int, qs: tuple[Fraction, ...], epsilon: Fraction, rows: int) -> Ranks:
    """The quantiles alone, without ends."""
    steps = steps_of([round(q * max(size, 1)) for q in qs], max(size, 1))
    noise = tuple(_variances(steps, epsilon, rows))
    places = tuple((j, j, j) for j in range(len(qs)))
    return Ranks(steps=steps, places=places, moves=(0,) * len(qs), noise=noise, ends=noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRanks:
    """Several quantiles of one list, each between its two ends or alone."""

    qs: tuple[Fraction, ...]
    has_ends: bool = True
    is_whole: bool = False

    @property
    def count(self) -> int:
        return (3 if self.has_ends else 1) * len(self.qs)

    @property
    def levels(self) -> tuple[int]:
        return (levels(self.count),)

    @property
    def moves(self) -> tuple[tuple[int, ...]]:
        """Whatever the sizes are, a share lies between one part and all but one."""
        return ((PARTS // 2, PARTS - 1),)

    def ranks(self, size: int, epsilon: Fraction, rows: int) -> Ranks:
        return (ranks_of if self.has_ends else plain_ranks)(max(size, 1), self.qs, epsilon, rows)

    def steps(self, size: int, epsilons: tuple[Fraction, ...], most: int) -> tuple[Step, ...]:
        return self.ranks(size, epsilons[0], most).steps


class BlockQuantiles:
    """What a release of quantiles of block estimates says, quantile by quantile (the last axis)."""

    doubt: FloatArray
    lower: FloatArray
    noise: FloatArray
    qs: list[Fraction]
    sampling: FloatArray
    slope: FloatArray
    step: float
    upper: FloatArray
    values: FloatArray

    has_sampling = True

    def __init__(self, parameters: Mapping[str, Any], blocks: Sequence[Block]) -> None:
        self.qs = [Fraction(q) for q in parameters["q"]]
        epsilon, rows = Fraction(str(parameters["epsilon"])), int(parameters["rows"])
        self.step = step = float(Fraction(str(parameters["step"])))
        # The grid of a parameter begins anywhere.
        origin = float(Fraction(str(parameters.get("origin", 0))))
        selected = origin + blocks[-1].values.astype(np.float64).reshape(-1, 3 * len(self.qs)) * step
        counts = np.full(len(selected), int(parameters["size"]))
        asked = [ranks_of(int(n), tuple(self.qs), epsilon, rows) for n in counts]
        triples = np.array([row[np.array(each.places)] for row, each in zip(selected, asked, strict=True)])
        self.lower, self.values, self.upper = (triples[:, :, k] for k in range(3))
        share = np.array([float(q) for q in self.qs])
        ranks = np.array([each.noise for each in asked])
        # Distances between neighbouring values vary like waiting times: m ranks are m of them, and the last one is cut.
        self.noise = ranks + np.sqrt(ranks / 2) + 1
        self.sampling = counts[:, None] * share * (1 - share)
        between = 2 * np.array([each.moves for each in asked], dtype=np.float64)
        self.slope = np.maximum(self.upper - self.lower, 0.0) / between
        # Relative variance of the slope: the ends' own ranks, and the waiting times between them.
        self.doubt = (2 * np.array([each.ends for each in asked]) + between) / between**2

    def _quantile(self, confidence: float) -> FloatArray:
        """For noise alone: of the two-sided exponential law, wider because how dense the data are is estimated too."""
        from scipy.special import stdtrit

        degrees = 1 / (2 * self.doubt)
        student = stdtrit(np.maximum(degrees, 2.0), 0.5 + confidence / 2)
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        return np.asarray(_reach(1.0, 1.0, z) * student / z)

    def variance(self, *, with_sampling: bool) -> FloatArray:
        ranks = self.noise + (self.sampling if with_sampling else 0.0)
        return np.asarray(self.slope**2 * ranks).reshape(-1)

    def ends(self, confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        """Of every quantile, flat; with sampling those that were selected, never nearer than those of the noise."""
        # A released quantile is a point of the grid, and so is the exact one: one step more holds both.
        half = self.slope * np.sqrt(self.noise) * self._quantile(confidence) + self.step
        below, above = half, half
        if is_sampling:
            z, asked = (NormalDist().inv_cdf(0.5 + level / 2) for level in (CONFIDENCE, confidence))
            # On a coarse grid the selected ends may fall on the quantile itself.
            below = np.fmax(asked / z * (self.values - self.lower), half)
            above = np.fmax(asked / z * (self.upper - self.values), half)
        return (self.values - below).reshape(-1), (self.values + above).reshape(-1)
