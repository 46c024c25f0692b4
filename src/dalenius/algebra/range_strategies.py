"""Integer matrices that measure asked ranges with little error, chosen axis by axis: docs/explanation/margins.md.

The best X = Q'Q of one axis is V^-1/2 (V^1/2 G V^1/2)^1/2 V^-1/2 with V = diag(v), at the fixed point
v = diag((V^1/2 G V^1/2)^1/2); the dual bound tr((V^1/2 G V^1/2)^1/2)^2 / sum v says how near it is.
"""

from collections.abc import Callable, Sequence

import numpy as np

from dalenius.algebra.ranges import Factor, Interval, RangeWorkload
from dalenius.core.law import FloatArray
from dalenius.errors import TooLarge

MOST_DENSE = 200
"""Labels of an axis up to which any matrix may be measured; of several axes together, by the cubes of their labels."""
_MOST_DENSE_OF_TERMS = 100
MOST_LABELS = 1024
"""Labels of an axis up to which a tree is measured."""
_BITS = 20
_CLOSE = 1e-6
_ROUNDS = 400
_BRANCHES = (2, 3, 4, 6, 8, 16)


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


def _alternate(workload: RangeWorkload, one: Callable[[FloatArray, int], Factor]) -> tuple[Factor, ...]:
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
