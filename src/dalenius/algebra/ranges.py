"""Sums over ranges of ordered axes: what is asked, and the integer matrices that measure it.

A workload is a list of terms; a term holds for each axis the matrix G = sum of q q' over its ranges q. Measured are
integer combinations Q x of the cells, Q a product of one matrix for each axis, with equal noise of variance v: the
ranges of a term have the sum of squares v times the product of tr(G (Q'Q)^-1) (docs/explanation/margins.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod, sqrt
from typing import Any

import numpy as np

from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import DocumentError

_CELLS = 0.05
Interval = tuple[int, int]


def every_range(size: int) -> FloatArray:
    """G of all ranges of an axis: how many of them hold both of two labels.

    >>> every_range(3)
    array([[3., 2., 1.],
           [2., 4., 2.],
           [1., 2., 3.]])
    """
    place = np.arange(size)
    return np.asarray((np.minimum.outer(place, place) + 1.0) * (size - np.maximum.outer(place, place)))


def every_prefix(size: int) -> FloatArray:
    """G of all ranges that begin with the first label: what a distribution function is made of."""
    place = np.arange(size)
    return np.asarray(size - np.maximum.outer(place, place), dtype=np.float64)


def every_band(size: int, width: int) -> FloatArray:
    """G of all ranges of so many labels; single labels count a little."""
    place = np.arange(size)
    last = np.minimum(np.minimum.outer(place, place), size - width)
    first = np.maximum(np.maximum.outer(place, place) - width + 1, 0)
    return _with_labels(np.maximum(last - first + 1.0, 0.0), size - width + 1)


def listed_ranges(size: int, ranges: Sequence[Interval]) -> FloatArray:
    """G of some ranges (first and last label); single labels count a little."""
    inside = np.zeros((len(ranges), size))
    for row, (first, last) in zip(inside, ranges, strict=True):
        row[first : last + 1] = 1
    return _with_labels(inside.T @ inside, len(ranges))


def _with_labels(gram: FloatArray, count: int) -> FloatArray:
    """Single labels weigh together as one twentieth of the ranges, so that each of them can be shown."""
    return np.asarray(gram + np.eye(len(gram)) * (_CELLS * count / len(gram)))


def each_and_all(size: int) -> FloatArray:
    """G of single labels and of all of them together."""
    return np.eye(size) + 1.0 if size > 1 else np.ones((1, 1))


@dataclass(frozen=True, eq=False)
class Asked:
    """Ranges of one axis: their G and their number. One range alone is kept by its ends, because boxes are many."""

    listed: FloatArray | None
    count: float
    range: Interval | None = None
    labels: int = 0

    @property
    def size(self) -> int:
        return self.labels if self.listed is None else len(self.listed)

    @property
    def gram(self) -> FloatArray:
        if self.listed is not None:
            return self.listed
        assert self.range is not None
        return listed_ranges(self.labels, [self.range])

    @classmethod
    def of(cls, wanted: Any, labels: Sequence[str]) -> "Asked":
        """From what a document says of an axis: "all", "prefixes", a width, pairs of labels, or nothing."""
        size = len(labels)
        if wanted is None:
            return cls(each_and_all(size), size + 1.0 if size > 1 else 1.0)
        if wanted == "all":
            return cls(every_range(size), size * (size + 1) / 2)
        if wanted == "prefixes":
            return cls(every_prefix(size), float(size))
        if isinstance(wanted, int):
            if not 1 <= wanted <= size:
                raise DocumentError(f"A band is as wide as 1 to {size} labels of this axis; received {wanted}.")
            return cls(every_band(size, wanted), (size - wanted + 1) * (1 + _CELLS))
        ranges = [_interval(pair, labels) for pair in wanted]
        if len(ranges) == 1:
            return cls(None, 1 + _CELLS, ranges[0], size)
        return cls(listed_ranges(size, ranges), len(ranges) * (1 + _CELLS))


def _interval(pair: Sequence[str], labels: Sequence[str]) -> Interval:
    places = []
    for label in pair:
        if label not in labels:
            raise DocumentError(f"A range ends at labels of its axis; there is no label {label!r}.")
        places.append(list(labels).index(label))
    first, last = places
    if first > last:
        raise DocumentError(f"A range goes up: {pair[0]!r} stands after {pair[1]!r} on its axis.")
    return first, last


@dataclass(frozen=True, eq=False)
class Factor:
    """An integer matrix over the labels of one axis: single labels, weighted intervals, or any rows."""

    size: int
    intervals: tuple[tuple[int, int, int], ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def matrix(self) -> IntArray:
        if self.rows:
            return np.array(self.rows, dtype=np.int64)
        if not self.intervals:
            return np.eye(self.size, dtype=np.int64)
        matrix = np.zeros((len(self.intervals), self.size), dtype=np.int64)
        for row, (first, after, weight) in zip(matrix, self.intervals, strict=True):
            row[first:after] = weight
        return matrix

    @cached_property
    def gram(self) -> IntArray:
        """Q'Q, exact."""
        if not self.intervals and not self.rows:
            return np.eye(self.size, dtype=np.int64)
        if self.intervals:
            return self._overlaps([weight**2 for _, _, weight in self.intervals])
        return self.matrix.T @ self.matrix

    @cached_property
    def shared(self) -> IntArray:
        """Sum of the weights of the intervals that hold both of two labels."""
        return self._overlaps([abs(weight) for _, _, weight in self.intervals])

    def _overlaps(self, amounts: Sequence[int]) -> IntArray:
        """Sum of an amount for each interval over the square of its labels, from its four corners."""
        first, after = np.array([part[:2] for part in self.intervals], dtype=np.int64).T
        corners = np.zeros((self.size + 1, self.size + 1), dtype=np.int64)
        for rows, columns, sign in ((first, first, 1), (first, after, -1), (after, first, -1), (after, after, 1)):
            np.add.at(corners, (rows, columns), sign * np.array(amounts, dtype=np.int64))
        return np.asarray(corners.cumsum(axis=0).cumsum(axis=1)[:-1, :-1])

    @cached_property
    def covariance(self) -> FloatArray:
        """(Q'Q)^-1: covariance of the labels for noise of variance 1."""
        if not self.intervals and not self.rows:
            return np.eye(self.size)
        scale = sqrt(float(self.gram.diagonal().max()))
        inverse = np.linalg.inv((self.gram / scale) / scale)
        return np.asarray((inverse + inverse.T) / 2 / scale / scale)

    @cached_property
    def _corners(self) -> FloatArray:
        """Sums of the covariance from its first entry to each other one, for sums over ranges."""
        return np.pad(self.covariance.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))

    def mean_square(self, asked: Asked) -> float:
        """tr(G (Q'Q)^-1): the sum of the variances of some ranges for noise of variance 1."""
        if asked.range is None:
            return float((asked.gram * self.covariance).sum())
        first, after = asked.range[0], asked.range[1] + 1
        corners = self._corners
        inside = corners[after, after] - corners[first, after] - corners[after, first] + corners[first, first]
        return float(inside) + _CELLS / asked.labels * float(self.covariance.trace())

    @cached_property
    def solution(self) -> FloatArray:
        """(Q'Q)^-1 Q': from what was measured to the labels."""
        return np.asarray(self.covariance @ self.matrix.T)

    def to_dict(self) -> dict[str, Any]:
        if self.rows:
            return {"rows": [list(row) for row in self.rows]}
        if self.intervals:
            return {"labels": self.size, "intervals": [list(part) for part in self.intervals]}
        return {"labels": self.size}

    @classmethod
    def from_dict(cls, content: Any) -> "Factor":
        if "rows" in content:
            rows = tuple(tuple(int(v) for v in row) for row in content["rows"])
            return cls(len(rows[0]), rows=rows)
        intervals = tuple((int(a), int(b), int(w)) for a, b, w in content.get("intervals", ()))
        return cls(int(content["labels"]), intervals=intervals)


def row_cost(factors: Sequence[Factor], *, is_gaussian: bool) -> int:
    """The largest squared length, or sum of absolute values, of what one row moves."""
    if is_gaussian:
        return prod(int(factor.gram.diagonal().max()) for factor in factors)
    sums = (f.shared.diagonal() if f.intervals else np.abs(f.matrix).sum(axis=0) for f in factors)
    return prod(int(of_columns.max()) for of_columns in sums)


def _farthest(factor: Factor) -> int:
    """The largest sum of absolute differences of two columns."""
    if factor.intervals:
        alone = factor.shared.diagonal()
        return int((alone[:, None] + alone - 2 * factor.shared).max())
    columns = factor.matrix.T
    return max(int(np.abs(columns - column).sum(axis=1).max()) for column in columns)


def swap_cost(factors: Sequence[Factor], *, is_gaussian: bool) -> int:
    """The same for a row that moves from one cell to another: |u|^2 + |v|^2 - 2 u'v at most, or |u| + |v|.

    Never less than one row alone: what takes its place may be left out of the table (a condition, a missing value, an
    impossible cell).
    """
    alone = row_cost(factors, is_gaussian=is_gaussian)
    if not is_gaussian:
        return 2 * alone if len(factors) > 1 else max(alone, _farthest(factors[0]))
    low, high = 1, 1
    for factor in factors:
        ends = [end * other for end in (low, high) for other in (int(factor.gram.min()), int(factor.gram.max()))]
        low, high = min(ends), max(ends)
    return max(alone, 2 * alone - 2 * low)


@dataclass(frozen=True, eq=False)
class RangeWorkload:
    """Terms of asked ranges, an entry for each axis, how often each is asked, and what factors make of them."""

    terms: tuple[tuple[Asked, ...], ...]
    times: tuple[int, ...] = ()

    @property
    def weighted(self) -> list[tuple[tuple[Asked, ...], int]]:
        """Each term, and how often it is asked."""
        return list(zip(self.terms, self.times or (1,) * len(self.terms), strict=True))

    @property
    def count(self) -> float:
        return sum(times * prod(asked.count for asked in term) for term, times in self.weighted)

    def mean_square(self, factors: Sequence[Factor]) -> float:
        """Mean variance of the ranges for noise of variance 1."""
        squares = [cache(factor.mean_square) for factor in factors]
        total = sum(
            times * prod(square(asked) for asked, square in zip(term, squares, strict=True))
            for term, times in self.weighted
        )
        return total / self.count

    def along(self, axis: int, factors: Sequence[Factor]) -> FloatArray:
        """G of one axis, each term weighted by what the other axes make of it, so that its largest entry is 1."""
        if len(self.terms) == 1:
            alone = self.terms[0][axis].gram
            return np.asarray(alone / np.abs(alone).max())
        squares = [cache(factor.mean_square) for factor in factors]
        weights: dict[Asked, float] = {}
        for term, times in self.weighted:
            others = (square(term[k]) for k, square in enumerate(squares) if k != axis)
            weights[term[axis]] = weights.get(term[axis], 0.0) + times * prod(others)
        size = self.terms[0][axis].size
        gram, corners = np.zeros((size, size)), np.zeros((size + 1, size + 1))
        for asked, weight in weights.items():
            if asked.range is None:
                gram += weight * asked.gram
                continue
            first, after = asked.range[0], asked.range[1] + 1
            corners[first, first] += weight
            corners[after, after] += weight
            corners[first, after] -= weight
            corners[after, first] -= weight
            gram.flat[:: size + 1] += weight * _CELLS / size
        gram += corners.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
        return np.asarray(gram / np.abs(gram).max())
