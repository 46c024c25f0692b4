"""Linear algebra that adjustments share: tables over common axes, and imposing margins on a table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra.margins import Margin, centre, closure, maximal, spread, sum_out
from dalenius.core.law import FloatArray
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported

_CLOSE = 1e-9
_MOST_STEPS = 2000


def axis_names(tables: Sequence[Table]) -> tuple[str, ...]:
    """All axes of some tables, in order of appearance; the tables must agree on their labels."""
    labels: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for axis in table.space.axes:
            if labels.setdefault(axis.name, axis.labels) != axis.labels:
                raise Unsupported(f"The tables do not agree on the labels of {axis.name!r}.")
    return tuple(labels)


def shaped(table: Table, names: Sequence[str]) -> tuple[Margin, FloatArray]:
    """A table as a margin of named axes, with its array's axes in that order."""
    own = [axis.name for axis in table.space.axes]
    margin = tuple(sorted(names.index(n) for n in own))
    array = table.values.reshape(table.shape)
    order = [own.index(names[a]) for a in margin]
    return margin, array.transpose(order) if order else array


def restored(table: Table, names: Sequence[str], array: FloatArray) -> FloatArray:
    """The inverse of `shaped`: flat values in the table's own order."""
    own = [axis.name for axis in table.space.axes]
    margin = sorted(names.index(n) for n in own)
    order = [margin.index(names.index(n)) for n in own]
    return (array.transpose(order) if order else array).ravel()


def impossible(table: Table) -> NDArray[np.bool_]:
    """Cells that are zero by declaration, flat: structural zeros, and sums of structural zeros only."""
    cells = (table.variance == 0) & (table.values == 0)
    cells[list(table.space.structural_indices)] = True
    return np.asarray(cells)


def tied(
    release: Release, names: Sequence[str], truths: Callable[[Margin], Mapping[Margin, FloatArray]]
) -> list[FloatArray]:
    """Values of every shown table, flat, moved as little as possible to have the margins known for its axes.

    Impossible cells stay zero. Then the finest table is moved and the others are its sums, because tables that are
    moved one by one around their own zeros would no longer add up.
    """
    zeros = [impossible(table) for table in release.tables]
    if not any(cells.any() for cells in zeros):
        moved = []
        for table in release.tables:
            margin, array = shaped(table, names)
            moved.append(restored(table, names, impose(array, margin, truths(margin))))
        return moved
    whole = finest(release)
    margin, array = shaped(whole, names)
    cells = impossible(whole)
    _, fixed = shaped(replace(whole, values=cells.astype(np.float64)), names)
    fitted = impose(array, margin, truths(margin), fixed > 0)
    return from_finest(release, whole, restored(whole, names, fitted).reshape(whole.shape))


def impose(
    values: FloatArray, margin: Margin, truths: Mapping[Margin, FloatArray], zeros: NDArray[np.bool_] | None = None
) -> FloatArray:
    """The nearest array (least squares) whose margins equal the known ones, which must agree with each other.

    Cells in `zeros` stay zero; margins that no such array has are refused.
    """
    if not truths:
        return values
    tops = maximal(truths)
    out = np.array(values, dtype=np.float64)
    sizes = dict(zip(margin, values.shape, strict=True))
    for a in closure(tops):
        source = next(b for b in tops if set(a) <= set(b))
        wanted = centre(sum_out(np.asarray(truths[source], dtype=np.float64), source, a))
        present = centre(sum_out(np.asarray(values, dtype=np.float64), margin, a))
        outer = np.prod([sizes[i] for i in margin if i not in a], dtype=np.float64)
        out += spread(wanted - present, a, margin) / outer
    if zeros is None or not zeros.any():
        return out
    return _around_zeros(values, margin, {b: sum_out(out, margin, b) for b in tops}, ~zeros)


def _around_zeros(
    values: FloatArray, margin: Margin, wanted: Mapping[Margin, FloatArray], free: NDArray[np.bool_]
) -> FloatArray:
    """The nearest array with the wanted margins among those that are zero outside the free cells.

    Conjugate gradients for the least squares problem A x = wanted, started at the values: every step lies in the range
    of A', so the limit is the nearest solution. Each margin cell is scaled by its number of free cells. Where zeros
    forbid the margins, the gradient vanishes while something is left over.
    """
    weight = {b: np.maximum(sum_out(free.astype(np.float64), margin, b), 1.0) for b in wanted}

    def gradient(rest: Mapping[Margin, FloatArray]) -> FloatArray:
        total = np.zeros(values.shape)
        for b, part in rest.items():
            total += spread(part / weight[b], b, margin)
        return np.where(free, total, 0.0)

    out = np.where(free, values, 0.0)
    scale = max(1.0, *(float(np.abs(array).max()) for array in wanted.values()))
    step, size = np.zeros(values.shape), 0.0
    for _ in range(_MOST_STEPS):
        rest = {b: array - sum_out(out, margin, b) for b, array in wanted.items()}
        if max(float(np.abs(part).max()) for part in rest.values()) <= _CLOSE * scale:
            return out
        slope = gradient(rest)
        if float(np.abs(slope).max()) <= _CLOSE**1.5 * scale:
            break
        fresh = float((slope * slope).sum())
        step = slope + (fresh / size * step if size else 0.0)
        size = fresh
        moved = {b: sum_out(step, margin, b) for b in wanted}
        out = out + size / sum(float((m * m / weight[b]).sum()) for b, m in moved.items()) * step
    raise Unsupported(
        "No table with zeros in its impossible cells has these margins, or too little room is left to find it."
    )


def finest(release: Release) -> Table:
    """The shown table that contains the axes of all others, which must be of the same measure."""
    measures = sorted({table.measure for table in release.tables})
    if len(measures) > 1:
        raise Unsupported(f"Tables of different measures are not sums of each other: {', '.join(measures)}.")
    names = set(axis_names(release.tables))
    for table in release.tables:
        if {axis.name for axis in table.space.axes} == names:
            return table
    raise Unsupported("No shown table contains all variables; ask for the full cross among the margins.")


def from_finest(release: Release, table: Table, array: FloatArray) -> list[FloatArray]:
    """Every shown table as a sum of the finest one, flat; `array` has the finest table's shape."""
    own = [axis.name for axis in table.space.axes]
    whole = tuple(range(len(own)))
    tables = []
    for other in release.tables:
        margin = tuple(sorted(own.index(a.name) for a in other.space.axes))
        tables.append(restored(other, own, sum_out(np.asarray(array, dtype=np.float64), whole, margin)))
    return tables


def has_levels(release: Release) -> bool:
    """Whether a variable is shown at several levels, so that axes are not independent of each other."""
    names = axis_names(release.tables)
    return len({name.partition(".")[0] for name in names}) != len(names)
