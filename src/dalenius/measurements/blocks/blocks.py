"""Blocks of the data and what a model says of each: a list of whole numbers, of which a unit moves few.

Every record falls into one of `count` blocks by an independent uniform draw that depends on nothing about it. Two data
sets that differ in one unit of at most c rows can be given the same draws: then at most c blocks differ, whichever
relation makes the two neighbours, because a row that replaces another may have its draw. A block's number lies on a
public grid, whatever its records are. So a step on the list that is private for c replaced entries of a list of public
length is private for the data, at the same price.
"""

import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import nan

import numpy as np

from dalenius.core.law import FloatArray, IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.randomness import RandomSource, words
from dalenius.core.rationals import plain
from dalenius.errors import ParameterError, UnknownName
from dalenius.measurements.blocks.function import OwnFunction
from dalenius.measurements.blocks.logistic import Design
from dalenius.measurements.blocks.models import CORRECTIONS, MODELS, Sums, estimate, estimates_of_sums
from dalenius.measurements.blocks.runner import Runner, Stage

MOST_BLOCKS = 100_000
# From so many blocks on of a slow model, processors share them; before, starting helpers takes longer than they save.
SIDE_BY_SIDE = 500
# Whole numbers below it are added up exactly by floating point.
_EXACT = 1 << 53


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """How the data are parted, and the grid of `width` + 1 points between the ends that takes a block's estimate.

    `unit` is the size of one step of the values, and `design` says what the columns are of records of several
    variables. A block without an estimate reports the middle of the grid.
    """

    model: str
    count: int
    lower: Fraction
    upper: Fraction
    unit: Fraction = Fraction(1)
    width: int = 1 << 16
    correction: str = "analytic"
    design: Design | None = None
    # A custodian's own function by its digest, how long a block takes, and who runs it, whom no plan knows.
    function: str = ""
    seconds: Fraction = Fraction(1)
    runner: Runner | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise UnknownName.among("model", self.model, sorted(MODELS))
        if self.correction not in CORRECTIONS:
            raise UnknownName.among("correction", self.correction, CORRECTIONS)
        if not self.lower < self.upper:
            raise ParameterError(
                f"range must rise: two numbers between which the parameter lies; received {plain(self.lower)} and"
                f" {plain(self.upper)}.",
                name="range",
            )
        if not 2 <= self.count <= MOST_BLOCKS:
            raise ParameterError(
                f"blocks must be a whole number from 2 to {MOST_BLOCKS:,}; received {self.count:,}.", name="blocks"
            )

    @property
    def scale(self) -> Fraction:
        return (self.upper - self.lower) / self.width

    def places(self, records: int, rng: RandomSource) -> IntArray:
        """The block of each record: independent and uniform, exactly."""
        limit = (1 << 64) // self.count * self.count
        out = np.empty(0, dtype=np.uint64)
        while len(out) < records:
            draws = words(rng, records - len(out))
            out = np.concatenate([out, draws[draws <= np.uint64(limit - 1)]])
        return (out % np.uint64(self.count)).astype(np.int64)

    def estimate(self, values: IntArray) -> float:
        unit = float(self.unit) if self.design is None else self.design
        return estimate(self.model, self.correction, values, unit)

    def points(self, thetas: Sequence[float] | FloatArray) -> IntArray:
        """The points of the grid next to the estimates; the middle for what is not a number."""
        lower, upper = float(self.lower), float(self.upper)
        inside = np.clip(np.asarray(thetas, dtype=np.float64), lower, upper)
        places = np.floor((inside - lower) / (upper - lower) * self.width + 0.5)
        told = np.where(np.isnan(inside), self.width // 2, np.clip(places, 0, self.width))
        return told.astype(np.int64)

    def reports(self, values: IntArray, places: IntArray) -> "Reports":
        """What the blocks report, sorted, and how many have no number: which block a number is of tells nothing."""
        thetas = np.asarray(self._estimates(values, places), dtype=np.float64)
        is_silent = np.isnan(thetas)
        heard = np.sort(self.points(thetas[~is_silent]))
        return Reports(heard=heard, silent=int(is_silent.sum()), width=self.width)

    def _estimates(self, values: IntArray, places: IntArray) -> Sequence[float]:
        sums = self._sums(values, places)
        if sums is not None:
            return estimates_of_sums(self.model, self.correction, sums, float(self.unit))
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(1, self.count))
        parts = [_sorted(part) for part in np.split(values[order], ends)]
        if self.runner is not None:
            return self.runner.run(parts, self._units, float(self.seconds))
        if self.count >= SIDE_BY_SIDE and (MODELS[self.model].is_slow or self.correction == "jackknife"):
            return fitted_side_by_side(self, parts)
        return [self.estimate(part) for part in parts]

    @property
    def _units(self) -> list[float]:
        others = () if self.design is None else self.design.predictors
        return [float(self.unit), *(each.unit for each in others)]

    def with_functions(self, functions: Mapping[str, OwnFunction], stage: Stage) -> "Blocks":
        if not self.function:
            return self
        return replace(self, runner=Runner(function=functions[self.function], stage=stage))

    def _sums(self, values: IntArray, places: IntArray) -> Iterator[Sums] | None:
        """Count, sum and sum of squares of every block; None where these do not say all, or not exactly."""
        model = MODELS[self.model]
        if model.sums is None or self.correction not in model.sums:
            return None
        told = (values != 0).astype(np.int64) if model.is_binary else values
        largest = int(np.abs(told).max(initial=0))
        if largest * largest * max(len(told), 1) >= _EXACT:
            return None
        weights = told.astype(np.float64)
        counted = (np.bincount(places, w, self.count) for w in (None, weights, weights * weights))
        return zip(*(sums.astype(np.int64).tolist() for sums in counted), strict=True)

    def listed(self, reports: "Reports") -> IntArray:
        return reports.parted if self.function else reports.numbers

    def drawn(self, values: IntArray, rng: RandomSource) -> "Reports":
        return self.reports(values, self.places(len(values), rng))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """Sorted numbers of the blocks that gave one, how many gave none, and the last point of the grid."""

    heard: IntArray
    silent: int
    width: int

    @property
    def numbers(self) -> IntArray:
        """A list of public length: who gave no number reports the middle."""
        return np.sort(np.concatenate([self.heard, np.full(self.silent, self.width // 2, dtype=np.int64)]))

    @property
    def parted(self) -> IntArray:
        """The same, but half of those without a number stand at either end: quantiles move apart, not together."""
        below = self.silent // 2
        ends = np.repeat(np.array([0, self.width], dtype=np.int64), [below, self.silent - below])
        return np.sort(np.concatenate([self.heard, ends]))


def _sorted(records: IntArray) -> IntArray:
    """In an order that the records alone decide."""
    return np.sort(records) if records.ndim == 1 else records[np.lexsort(records.T[::-1])]


def touched(neighbours: Neighbours) -> int:
    """How many blocks one unit can change, under either relation: one for each of its rows."""
    return neighbours.max_rows


def fitted_side_by_side(blocks: Blocks, parts: Sequence[IntArray]) -> list[float]:
    """The estimate of each part, by as many helpers as there are processors.

    A block's estimate is a function of its records and of nothing else, so that it does not matter who works it out.
    Whether helpers are started depends on the model and on the declared number of blocks, never on the records; what
    they are given passes through pipes and rests nowhere. Where a helper is lost, its blocks are fitted here.
    """
    lanes = os.cpu_count() or 1
    shares = [parts[lane::lanes] for lane in range(lanes)]
    with ThreadPoolExecutor(lanes) as pool:
        answers = list(pool.map(lambda share: _asked(blocks, share), shares))
    numbers = [nan] * len(parts)
    for lane, told in enumerate(answers):
        numbers[lane::lanes] = told
    return numbers


def _asked(blocks: Blocks, parts: Sequence[IntArray]) -> list[float]:
    message = pickle.dumps((blocks, list(parts)))
    program = f"from {help_out.__module__} import {help_out.__name__} as work; work()"
    with subprocess.Popen(
        [sys.executable, "-I", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
    ) as helper:
        answer, _ = helper.communicate(message)
    if helper.returncode or len(answer) != 8 * len(parts):
        return [blocks.estimate(part) for part in parts]
    return list(struct.unpack(f"<{len(parts)}d", answer))


def help_out() -> None:  # pragma: no cover - runs in processes of its own, which are not measured
    blocks, parts = pickle.loads(sys.stdin.buffer.read())
    numbers = [blocks.estimate(part) for part in parts]
    sys.stdout.buffer.write(np.array(numbers, dtype="<f8").tobytes())
