"""Whole numbers that add up: every shown table of counts rounded so that shared margins stay equal.

Margins that tables share are rounded first, from the total up, each to neighbouring integers that sum to what is already
fixed; a table between two fixed margins is a transportation problem, whose vertices are integers. Tables between three or more
fixed margins have no such rounding in general: there the finest table is rounded along its axes and the others are its sums.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from dalenius.core.law import FloatArray
from dalenius.core.release import Table
from dalenius.errors import Unsupported
from dalenius.linear.adjusting import axis_names, restored, shaped
from dalenius.linear.margins import Margin, sum_out

# Above so many cells a table between two fixed margins takes too long for a page.
MOST_TRANSPORTED = 10_000
_CLOSE = 1e-6


def whole_values(tables: Sequence[Table]) -> list[FloatArray] | None:
    """Flat whole numbers for each table, equal wherever the tables share a margin; None if there is no quick way."""
    try:
        names = axis_names(tables)
        if len({name.partition(".")[0] for name in names}) != len(names):
            return None
        arrays = dict(shaped(table, names) for table in tables)
        if not _agree(arrays):
            return None
        rounded = _rounded(arrays)
    except Unsupported:
        return None
    return [restored(table, names, rounded[shaped(table, names)[0]]) for table in tables]


def _agree(arrays: Mapping[Margin, FloatArray]) -> bool:
    """Whether tables that share a margin have the same one."""
    for (a, x), (b, y) in combinations(arrays.items(), 2):
        shared = tuple(sorted(set(a) & set(b)))
        if not np.allclose(sum_out(x, a, shared), sum_out(y, b, shared), atol=_CLOSE):
            return False
    return True


def _rounded(arrays: Mapping[Margin, FloatArray]) -> dict[Margin, FloatArray]:
    finest = max(arrays, key=len)
    try:
        return _downwards(arrays)
    except Unsupported:
        if not all(set(a) <= set(finest) for a in arrays):
            raise
    # Along the axes of the finest table, one after the other; every other table is a sum.
    array: FloatArray = np.rint(arrays[finest].sum())
    for size in range(1, len(finest) + 1):
        exact = sum_out(arrays[finest], finest, finest[:size])
        array = spread_remainders(exact, array[..., None])
    return {a: sum_out(array, finest, a) for a in arrays}


def _downwards(arrays: Mapping[Margin, FloatArray]) -> dict[Margin, FloatArray]:
    shared = {frozenset(a) for a in arrays}
    while len(grown := shared | {a & b for a, b in combinations(shared, 2)}) > len(shared):
        shared = grown
    rounded: dict[Margin, FloatArray] = {}
    for margin in sorted((tuple(sorted(a)) for a in shared), key=lambda a: (len(a), a)):
        source = next(a for a in arrays if set(margin) <= set(a))
        below = [a for a in rounded if set(a) < set(margin)]
        tops = [a for a in below if not any(set(a) < set(b) for b in below)]
        exact = sum_out(arrays[source], source, margin)
        rounded[margin] = _between(exact, margin, {a: rounded[a] for a in tops})
    return rounded


def _between(exact: FloatArray, margin: Margin, fixed: Mapping[Margin, FloatArray]) -> FloatArray:
    """Whole numbers near the exact ones that have the fixed margins, of which there may be none, one or two."""
    if not fixed and exact.ndim == 2 and exact.size <= MOST_TRANSPORTED:
        return controlled(exact)
    if not fixed:
        return spread_remainders(exact, None)
    if len(fixed) > 2 or (len(fixed) == 2 and exact.size > MOST_TRANSPORTED):
        raise Unsupported("There are too many margins, or too many cells, to round this table at once.")
    first, *rest = fixed
    second = rest[0] if rest else first
    groups = tuple(i for i in first if i in second)
    left, right = ([i for i in a if i not in groups] for a in (first, second))
    inner = [i for i in margin if i not in first and i not in second]
    order = [margin.index(i) for i in (*groups, *left, *right, *inner)]
    moved = exact.transpose(order)
    shape = moved.shape
    sizes = [
        int(np.prod([shape[order.index(margin.index(i))] for i in part]))
        for part in (groups, left, right, inner)
    ]
    cells = moved.reshape(sizes)
    across = fixed[first].transpose([first.index(i) for i in (*groups, *left)]).reshape(sizes[0], sizes[1])
    if rest:
        down = (
            fixed[second].transpose([second.index(i) for i in (*groups, *right)]).reshape(sizes[0], sizes[2])
        )
        summed = cells.sum(axis=3)
        totals = np.stack([transported(summed[g], across[g], down[g]) for g in range(sizes[0])])
    else:
        totals = across[:, :, None]
    whole = spread_remainders(cells, totals[..., None])
    return np.asarray(whole.reshape(shape).transpose(np.argsort(order)))


def spread_remainders(values: FloatArray, totals: FloatArray | None) -> FloatArray:
    """Each number to its floor or ceiling (by largest remainder) so that the last axis sums to what is known.

    Without a known sum everything sums to the nearest whole total. A known sum that no choice of neighbours has is met by
    moving the numbers that lose least; none of them below zero where none was.

    >>> spread_remainders(np.array([[0.0, 2.9]]), np.array([1.0]))
    array([[0., 1.]])
    """
    shape = np.shape(values)
    flat = np.reshape(values, (1, -1) if totals is None else (-1, shape[-1]))
    sums = np.rint(flat.sum(axis=1)) if totals is None else np.reshape(totals, -1)
    low = np.floor(flat + 1e-9)
    missing = np.rint(sums - low.sum(axis=1)).astype(np.int64)
    width = flat.shape[1]
    every, some = missing // width, missing % width
    rank = np.argsort(np.argsort(-(flat - low), axis=1, kind="stable"), axis=1)
    out = low + every[:, None] + (rank < some[:, None])
    for row in np.flatnonzero((out < 0).any(axis=1) & (flat >= 0).all(axis=1) & (sums >= 0)):
        _raise_to_zero(out[row])
    return np.asarray(out.reshape(shape))


def _raise_to_zero(row: FloatArray) -> None:
    """Negative whole numbers become zero, in place; what that adds is taken from the largest, one by one."""
    over = int(-row[row < 0].sum())
    row[row < 0] = 0.0
    for _ in range(over):
        row[np.argmax(row)] -= 1


def largest_remainder(values: FloatArray) -> FloatArray:
    """Each value to its floor or ceiling, so that the sum is the rounded sum.

    >>> largest_remainder(np.array([0.4, 0.4, 0.4, 1.0]))
    array([1., 0., 0., 1.])
    """
    return spread_remainders(values, None)


def controlled(values: FloatArray) -> FloatArray:
    """Cells, row totals, column totals and the grand total each go to a neighbouring integer, with least squared change."""
    return _solved(values, values.sum(axis=1), values.sum(axis=0), float(np.rint(values.sum())))


def transported(values: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Whole cells near the values with exactly these row and column sums; a cell goes further only where it must."""
    return _solved(values, rows, columns, float(np.sum(rows)))


def _solved(values: FloatArray, rows: FloatArray, columns: FloatArray, total: float) -> FloatArray:
    """Whole cells whose sums are neighbours of these rows and columns, which is equality where they are whole.

    The choice of neighbours is the flow of a network, so that the linear programme has a whole solution. Each cell may rise by one at the price of its squared change, and by more, or fall below its floor, at a high price.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, kron, vstack

    n, k = values.shape
    low = np.floor(values + 1e-9)
    fraction = np.clip(values - low, 0.0, 1.0)
    by_row = kron(csr_array(np.eye(n)), csr_array(np.ones((1, k))))
    by_column = kron(csr_array(np.ones((1, n))), csr_array(np.eye(k)))
    once = vstack([by_row, by_column, csr_array(np.ones((1, n * k)))])
    constraints = hstack([once, once, -once])
    lower = np.concatenate([np.floor(rows + 1e-9), np.floor(columns + 1e-9), [total]])
    upper = np.concatenate([np.ceil(rows - 1e-9), np.ceil(columns - 1e-9), [total]])
    taken = np.concatenate([low.sum(axis=1), low.sum(axis=0), [low.sum()]])
    # Squared change of rounding x to 0 or 1 is linear in the choice: x^2 + z (1 - 2x).
    price = np.concatenate([(1 - 2 * fraction).ravel(), np.full(n * k, 10.0), np.full(n * k, 10.0)])
    # What is whole already, a structural zero above all, moves only where nothing else can.
    price[np.flatnonzero(fraction.ravel() < 1e-9)] = 5.0
    free: list[tuple[float, float | None]] = [(0, 1)] * (n * k) + [(0, None)] * (n * k)
    # Where nothing is negative nothing becomes so: whole row and column sums always leave room for that.
    is_possible = bool((values >= 0).all())
    free += [(0, float(floor)) if is_possible else (0, None) for floor in low.ravel()]
    solve: Any = linprog
    solved = solve(
        price,
        A_ub=vstack([constraints, -constraints]),
        b_ub=np.concatenate([upper - taken, taken - lower]) + 1e-7,
        bounds=free,
        method="highs-ds",
    )
    if not solved.success:
        raise Unsupported("No whole numbers with these margins were found.")
    up, more, less = np.rint(solved.x).reshape(3, n, k)
    return np.asarray(low + up + more - less)
