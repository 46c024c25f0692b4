"""Whole numbers that add up: shared margins stay equal (docs/reference/postprocess/rounding.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra.adjusting import axis_names, impossible, restored, shaped
from dalenius.algebra.margins import Margin, spread, sum_out
from dalenius.algebra.tree_whole import whole as whole_in_groups
from dalenius.core.law import FloatArray, IntArray
from dalenius.core.release import Table
from dalenius.errors import Unsupported

# Above so many cells a table between two fixed margins takes too long for a page.
MOST_TRANSPORTED = 10_000
_CLOSE = 1e-6

Free = NDArray[np.bool_]


class _Forbidden(Unsupported):
    """Impossible cells leave no room for margins that were rounded before."""


def whole_values(tables: Sequence[Table]) -> list[FloatArray] | None:
    """Flat whole numbers for each table, equal wherever the tables share a margin; None if there is no quick way."""
    try:
        names = axis_names(tables)
        if len({name.partition(".")[0] for name in names}) != len(names):
            return None
        arrays = dict(shaped(table, names) for table in tables)
        if not _agree(arrays):
            return None
        zeros = [replace(table, values=impossible(table).astype(np.float64)) for table in tables]
        free = {margin: array == 0 for margin, array in (shaped(table, names) for table in zeros)}
        rounded = _rounded(arrays, free)
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


def _rounded(arrays: Mapping[Margin, FloatArray], free: Mapping[Margin, Free]) -> dict[Margin, FloatArray]:
    finest = max(arrays, key=len)
    try:
        return _downwards(arrays, free)
    except Unsupported as refusal:
        if not all(set(a) <= set(finest) for a in arrays):
            if isinstance(refusal, _Forbidden):
                return _together(arrays, free)
            raise
    # Along the axes of the finest table, one after the other; every other table is a sum.
    array: FloatArray = np.rint(arrays[finest].sum())
    for size in range(1, len(finest) + 1):
        exact = sum_out(arrays[finest], finest, finest[:size])
        array = spread_remainders(exact, array[..., None], _free(finest[:size], {finest: free[finest]}))
    return {a: sum_out(array, finest, a) for a in arrays}


def _free(margin: Margin, free: Mapping[Margin, Free]) -> Free:
    """Cells of a margin that may hold somebody: each table above it has a possible cell there."""
    above = [sum_out(cells.astype(np.float64), a, margin) > 0 for a, cells in free.items() if set(margin) <= set(a)]
    return np.asarray(np.logical_and.reduce(above))


def _downwards(arrays: Mapping[Margin, FloatArray], free: Mapping[Margin, Free]) -> dict[Margin, FloatArray]:
    shared = {frozenset(a) for a in arrays}
    while len(grown := shared | {a & b for a, b in combinations(shared, 2)}) > len(shared):
        shared = grown
    rounded: dict[Margin, FloatArray] = {}
    for margin in sorted((tuple(sorted(a)) for a in shared), key=lambda a: (len(a), a)):
        source = next(a for a in arrays if set(margin) <= set(a))
        below = [a for a in rounded if set(a) < set(margin)]
        tops = [a for a in below if not any(set(a) < set(b) for b in below)]
        exact = sum_out(arrays[source], source, margin)
        rounded[margin] = _between(exact, margin, {a: rounded[a] for a in tops}, _free(margin, free))
    return rounded


def _together(arrays: Mapping[Margin, FloatArray], free: Mapping[Margin, Free]) -> dict[Margin, FloatArray]:
    """All tables at once, by an integer programme: what they share is equal, the sum rounded if it can be.

    There is always a solution, since tables of zeros agree, so that nothing is refused because of its values.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, hstack, vstack

    sizes = [array.size for array in arrays.values()]
    values = np.concatenate([array.ravel() for array in arrays.values()])
    is_free = np.concatenate([free[a].ravel() for a in arrays])
    low = np.floor(values + 1e-9)
    places = dict(zip(arrays, np.split(np.arange(len(values)), np.cumsum(sizes)[:-1]), strict=True))

    def sums(a: Margin, shared: Margin) -> Any:
        to = _target(arrays[a].shape, a, shared)
        return csr_array((np.ones(len(to)), (to, places[a])), shape=(to.max() + 1, len(values)))

    rows = [
        sums(a, shared) - sums(b, shared)
        for a, b in combinations(arrays, 2)
        for shared in [tuple(sorted(set(a) & set(b)))]
    ]
    rows.append(sums(next(iter(arrays)), ()))
    agree = vstack(rows)
    wanted = np.zeros(agree.shape[0])
    wanted[-1] = np.rint(arrays[next(iter(arrays))].sum())
    beside = np.zeros((agree.shape[0], 2))
    beside[-1] = 1.0, -1.0
    fraction = np.clip(values - low, 0.0, 1.0)
    ten = np.full(len(values), 10.0)
    bottom = low if (values >= 0).all() else np.full(len(values), np.inf)
    most = np.concatenate([is_free * 1.0, *(np.where(is_free, top, 0.0) for top in (np.inf, bottom))])
    solve: Any = milp
    solved = solve(
        np.concatenate([1 - 2 * fraction, ten, ten, [1000.0, 1000.0]]),
        integrality=1,
        bounds=Bounds(0, np.concatenate([most, [np.inf, np.inf]])),
        constraints=LinearConstraint(
            hstack([agree, agree, -agree, csr_array(beside)]), wanted - agree @ low, wanted - agree @ low
        ),
        options={"mip_rel_gap": 0.01},
    )
    up, more, less = np.rint(solved.x[:-2]).reshape(3, -1)
    return {a: (low + up + more - less)[places[a]].reshape(arrays[a].shape) for a in arrays}


def _target(shape: tuple[int, ...], margin: Margin, shared: Margin) -> IntArray:
    """For each cell of a table the place of its sum among those over all but the shared axes."""
    sizes = tuple(size for size, axis in zip(shape, margin, strict=True) if axis in shared)
    places = np.arange(int(np.prod(sizes)), dtype=np.float64).reshape(sizes)
    return np.broadcast_to(spread(places, shared, margin), shape).ravel().astype(np.int64)


def _between(exact: FloatArray, margin: Margin, fixed: Mapping[Margin, FloatArray], free: Free) -> FloatArray:
    """Whole numbers near the exact ones that have the fixed margins, of which there may be none, one or two."""
    if not fixed and exact.ndim == 2 and exact.size <= MOST_TRANSPORTED:
        return controlled(exact, free)
    if not fixed:
        return spread_remainders(exact, None, free)
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
    sizes = [int(np.prod([shape[order.index(margin.index(i))] for i in part])) for part in (groups, left, right, inner)]
    cells, is_free = moved.reshape(sizes), free.transpose(order).reshape(sizes)
    across = fixed[first].transpose([first.index(i) for i in (*groups, *left)]).reshape(sizes[0], sizes[1])
    if rest:
        down = fixed[second].transpose([second.index(i) for i in (*groups, *right)]).reshape(sizes[0], sizes[2])
        summed = cells.sum(axis=3)
        open_sums = np.asarray(is_free.any(axis=3))
        totals = np.stack([transported(summed[g], across[g], down[g], open_sums[g]) for g in range(sizes[0])])
    else:
        totals = across[:, :, None]
    whole = spread_remainders(cells, totals[..., None], is_free)
    return np.asarray(whole.reshape(shape).transpose(np.argsort(order)))


def spread_remainders(values: FloatArray, totals: FloatArray | None, free: Free | None = None) -> FloatArray:
    """Each number to its floor or ceiling (by largest remainder) so that the last axis sums to what is known.

    Without a known sum everything sums to the nearest whole total. A known sum that no choice of neighbours has is met
    by moving the numbers that lose least; none of them below zero where none was. Those that are not free stay zero; a
    sum that is not zero needs a free one.

    >>> spread_remainders(np.array([[0.0, 2.9]]), np.array([1.0]))
    array([[0., 1.]])
    """
    shape = np.shape(values)
    flat = np.reshape(values, (1, -1) if totals is None else (-1, shape[-1]))
    sums = np.rint(flat.sum(axis=1)) if totals is None else np.reshape(totals, -1)
    is_free = np.ones(flat.shape, dtype=bool) if free is None else np.reshape(free, flat.shape)
    rows = np.repeat(np.arange(len(flat)), flat.shape[1])
    out = whole_in_groups(flat.ravel(), is_free.ravel(), rows, sums).reshape(flat.shape)
    for row in np.flatnonzero((out < 0).any(axis=1) & (flat >= 0).all(axis=1) & (sums >= 0)):
        _raise_to_zero(out[row])
    return np.asarray(out.reshape(shape))


def _raise_to_zero(row: FloatArray) -> None:
    """Negative whole numbers become zero, in place; what that adds is taken from the largest, one by one."""
    over = int(-row[row < 0].sum())
    row[row < 0] = 0.0
    for _ in range(over):
        row[np.argmax(row)] -= 1


def largest_remainder(values: FloatArray, free: Free | None = None) -> FloatArray:
    """Each value to its floor or ceiling, so that the sum is the rounded sum.

    >>> largest_remainder(np.array([0.4, 0.4, 0.4, 1.0]))
    array([1., 0., 0., 1.])
    """
    return spread_remainders(values, None, free)


def controlled(values: FloatArray, free: Free | None = None) -> FloatArray:
    """Cells, row, column and grand totals each go to a neighbouring integer, with least squared change."""
    return _solved(values, values.sum(axis=1), values.sum(axis=0), float(np.rint(values.sum())), free)


def transported(values: FloatArray, rows: FloatArray, columns: FloatArray, free: Free | None = None) -> FloatArray:
    """Whole cells near the values with exactly these row and column sums; a cell goes further only where it must.

    Raises `Unsupported` where zeros that are not free forbid these sums.
    """
    return _solved(values, rows, columns, float(np.sum(rows)), free)


def _solved(
    values: FloatArray, rows: FloatArray, columns: FloatArray, total: float, is_free: Free | None
) -> FloatArray:
    """Whole cells whose sums are neighbours of these rows and columns, which is equality where they are whole.

    The choice of neighbours is the flow of a network, so that the linear programme has a whole solution. Each cell may
    rise by one at the price of its squared change, and by more, or fall below its floor, at a high price.
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
    # What is whole already moves only where little else can; what is impossible never.
    price[np.flatnonzero(fraction.ravel() < 1e-9)] = 5.0
    free: list[tuple[float, float | None]] = [(0, 1)] * (n * k) + [(0, None)] * (n * k)
    # Where nothing is negative nothing becomes so: whole row and column sums always leave room for that.
    is_possible = bool((values >= 0).all())
    free += [(0, float(floor)) if is_possible else (0, None) for floor in low.ravel()]
    for cell in () if is_free is None else np.flatnonzero(~is_free):
        free[cell] = free[cell + n * k] = free[cell + 2 * n * k] = (0, 0)
    solve: Any = linprog
    solved = solve(
        price,
        A_ub=vstack([constraints, -constraints]),
        b_ub=np.concatenate([upper - taken, taken - lower]) + 1e-7,
        bounds=free,
        method="highs-ds",
    )
    if not solved.success:
        raise _Forbidden("No whole numbers with these margins were found.")
    up, more, less = np.rint(solved.x).reshape(3, n, k)
    return np.asarray(low + up + more - less)
