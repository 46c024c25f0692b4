"""Sums over ranges of ordered axes: what is asked, and integer matrices that measure it with little error.

A workload is a list of terms; a term holds for each axis the matrix G = sum of q q' over its ranges q. Measured are
integer combinations Q x of the cells, Q a product of one matrix for each axis. With equal noise of variance v the cells
have covariance v times the product of (Q'Q)^-1, and the ranges of a term the sum of squares v times the product of tr(G
(Q'Q)^-1).

Under rho one row costs the largest column norm of Q. The best X = Q'Q of one axis minimises tr(G X^-1) with 1 on its
diagonal; with V = diag(v) it is V^-1/2 (V^1/2 G V^1/2)^1/2 V^-1/2 at the fixed point v = diag((V^1/2 G V^1/2)^1/2), and
the dual bound tr((V^1/2 G V^1/2)^1/2)^2 / sum v says how near it is. The best matrix of a product is the product of the
best ones. Under epsilon one row costs the largest column sum; identity rows with further non-negative rows are improved
from a tree by descent. Long axes are measured by trees of which all levels have their best shares.

References: Li et al. (2015); McKenna et al. (2018); Qardaji, Yang & Li (2013); Denisov et al. (2022), arXiv 2202.08312.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod, sqrt
from typing import Any

import numpy as np

from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import DocumentError, TooLarge

MOST_DENSE = 200
"""Labels of an axis up to which any matrix may be measured; of several axes together, by the cubes of their labels."""
_MOST_DENSE_OF_TERMS = 100
MOST_LABELS = 1024
"""Labels of an axis up to which a tree is measured."""
_BITS = 20
_CLOSE = 1e-6
_ROUNDS = 400
_BRANCHES = (2, 3, 4, 6, 8, 16)
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
    return prod(_longest(factor) for factor in factors)


def _longest(factor: Factor) -> int:
    """The largest sum of absolute values of a column."""
    if factor.intervals:
        return int(factor.shared.diagonal().max())
    return int(np.abs(factor.matrix).sum(axis=0).max())


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
        if len(factors) > 1:
            return 2 * alone
        return max(alone, _farthest(factors[0]))
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


def identity(workload: RangeWorkload) -> tuple[Factor, ...]:
    return tuple(Factor(asked.size) for asked in workload.terms[0])


def hierarchical(workload: RangeWorkload, *, is_gaussian: bool) -> tuple[Factor, ...]:
    """A tree over each axis, with the number of branches and the shares of levels that are best."""
    return _alternate(workload, lambda gram, bits: _tree(gram, bits, is_gaussian))


def optimal(workload: RangeWorkload, *, is_gaussian: bool) -> tuple[Factor, ...]:
    """The best matrix of each axis that is short enough, and the best tree of the others."""
    if is_by_trees(workload):
        return hierarchical(workload, is_gaussian=is_gaussian)

    def one(gram: FloatArray, bits: int) -> Factor:
        if len(gram) > MOST_DENSE:
            return _tree(gram, bits, is_gaussian)
        return _matrix(_best(gram) if is_gaussian else _improved(gram), bits)

    return _alternate(workload, one)


def is_by_trees(workload: RangeWorkload) -> bool:
    """Whether every axis is measured by a tree, because there are too many labels for matrices of their own."""
    sizes = [asked.size for asked in workload.terms[0]]
    # Several terms are gone through again and again; then only short axes have a matrix of their own.
    most = MOST_DENSE if len(workload.terms) == 1 else _MOST_DENSE_OF_TERMS
    dense = [size for size in sizes if 1 < size <= MOST_DENSE]
    return not dense or sum(size**3 for size in dense) > most**3


def _alternate(workload: RangeWorkload, one: Any) -> tuple[Factor, ...]:
    """Axis by axis; several terms are weighed by what the other axes make of them, a few times."""
    sizes = [asked.size for asked in workload.terms[0]]
    most = MOST_LABELS if len(workload.terms) == 1 else MOST_LABELS // 2
    if max(sizes) > most:
        what = "Ranges" if len(workload.terms) == 1 else "Boxes"
        raise TooLarge(
            f"{what} are planned on axes of at most {most:,} labels; this one has {max(sizes):,}. Use wider classes.",
            limit=most,
        )
    bits = max(4, min(12, _BITS // max(1, sum(size > 1 for size in sizes))))
    factors = list(identity(workload))
    is_settled = len(workload.terms) == 1 or len(sizes) == 1 or max(sizes) > MOST_DENSE
    for _ in range(1 if is_settled else 3):
        for axis, size in enumerate(sizes):
            if size > 1:
                gram = workload.along(axis, factors)
                factors[axis] = one(gram, bits)
    return tuple(factors)


def _matrix(best: FloatArray, bits: int) -> Factor:
    """Rounded to integers; the price is that of the rounded matrix."""
    scale = (1 << bits) / np.abs(best).max()
    whole = np.rint(best * scale).astype(np.int64)
    whole = whole[np.abs(whole).sum(axis=1) > 0]
    return Factor(best.shape[1], rows=tuple(tuple(row) for row in whole.tolist()))


def _best(gram: FloatArray) -> FloatArray:
    """A square root of the X that minimises tr(G X^-1) with 1 on its diagonal, within a millionth of the least."""
    v = np.ones(len(gram))
    root = np.eye(len(gram))
    for _ in range(_ROUNDS):
        half = np.sqrt(v)
        spectrum, basis = np.linalg.eigh(half[:, None] * gram * half)
        size = np.sqrt(np.maximum(spectrum, 1e-14 * spectrum[-1]))
        middle = (basis * size) @ basis.T
        # With M the root, X = V^-1/2 M V^-1/2 and tr(G X^-1) = tr(M).
        x = middle / np.outer(half, half)
        largest = float(x.diagonal().max())
        loss = float(size.sum()) * largest
        bound = float(size.sum()) ** 2 / float(v.sum())
        root = x / largest
        if loss <= bound * (1 + _CLOSE):
            break
        v = middle.diagonal().copy()
    spectrum, basis = np.linalg.eigh(root)
    return np.asarray((basis * np.sqrt(np.maximum(spectrum, 0.0))) @ basis.T)


def _levels(size: int, branches: int) -> list[list[Interval]]:
    """Nodes of every level of a tree over the labels, single labels last."""
    widths = [1]
    while widths[-1] < size:
        widths.append(widths[-1] * branches)
    return [[(at, min(at + w, size)) for at in range(0, size, w)] for w in reversed(widths)]


def _shares(corner: FloatArray, levels: Sequence[Sequence[Interval]], *, is_gaussian: bool) -> tuple[float, FloatArray]:
    """The loss and squared weights of the levels, as on a tree whose nodes of a level are alike; G by its sums.

    On such a tree X has one value on what a level adds to the one above: the sum of weight times width over the levels
    from it on.
    """
    from scipy.optimize import minimize

    held = []
    for nodes in levels:
        first, after = np.array(nodes).T
        inside = corner[after, after] - corner[first, after] - corner[after, first] + corner[first, first]
        held.append(float((inside / (after - first)).sum()))
    gains = np.maximum(np.diff([0.0, *held]), 0.0)
    widths = np.array([float(nodes[0][1] - nodes[0][0]) for nodes in levels])

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        w = np.exp(logs)
        values = np.cumsum((w * widths)[::-1])[::-1]
        spent = float(w.sum()) if is_gaussian else float(np.sqrt(w).sum()) ** 2
        by_spent = w if is_gaussian else np.sqrt(w) * np.sqrt(w).sum()
        total = float((gains / values).sum())
        slope = -np.cumsum(gains / values**2) * widths * w
        return np.log(total) + np.log(spent), slope / total + by_spent / spent

    start = np.zeros(len(levels))
    least = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-18.0, 18.0)] * len(levels))
    return float(least.fun), np.exp(least.x - least.x.max())


def _tree(gram: FloatArray, bits: int, is_gaussian: bool) -> Factor:
    size = len(gram)
    corner = np.pad(gram.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    tried = []
    for branches in sorted({min(b, size) for b in _BRANCHES}):
        levels = _levels(size, max(branches, 2))
        loss, shares = _shares(corner, levels, is_gaussian=is_gaussian)
        tried.append((loss, levels, shares))
    _, levels, shares = min(tried, key=lambda entry: entry[0])
    weights = np.sqrt(shares)
    scaled = np.rint(weights / weights.max() * (1 << bits)).astype(np.int64)
    # Single labels are always measured, so that every cell can be shown.
    scaled[-1] = max(int(scaled[-1]), 1)
    parts = [(first, after, int(w)) for nodes, w in zip(levels, scaled, strict=True) if w for first, after in nodes]
    return Factor(size, intervals=tuple(parts))


def _improved(gram: FloatArray) -> FloatArray:
    """Single labels and further non-negative rows of column sums 1, from the best tree downhill."""
    from scipy.optimize import minimize

    size = len(gram)
    start = _tree(gram, 12, False)
    single = [w for first, after, w in start.intervals if after - first == 1]
    unit = max(single)
    nodes = [part for part in start.intervals if part[1] - part[0] > 1]
    first = np.zeros((max(len(nodes), 1), size))
    for row, (begin, after, weight) in zip(first, nodes, strict=False):
        row[begin:after] = weight / unit
    # A row that is 0 everywhere has no slope to follow.
    first += 1e-3

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        theta = flat.reshape(first.shape)
        sums = 1 + theta.sum(axis=0)
        inverse = np.linalg.inv(np.eye(size) + theta.T @ theta)
        scaled = sums[:, None] * gram * sums
        value = float((scaled * inverse).sum())
        slope = -2 * theta @ (inverse @ scaled @ inverse)
        slope += 2 * (gram * inverse) @ sums
        return np.log(value), (slope / value).ravel()

    least = minimize(
        loss,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * first.size,
        options={"maxiter": 150, "maxcor": 20},
    )
    theta = least.x.reshape(first.shape)
    return np.asarray(np.concatenate([np.eye(size), theta]) / (1 + theta.sum(axis=0)))
