"""Linear algebra that adjustments share: tables over common axes, and imposing margins on a table."""

from collections.abc import Mapping, Sequence

import numpy as np

from dalenius.core.law import FloatArray
from dalenius.core.margins import Margin, centre, closure, maximal, spread, sum_out
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported


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


def impose(values: FloatArray, margin: Margin, known: Mapping[Margin, FloatArray]) -> FloatArray:
    """The nearest array (least squares) whose margins equal the known ones, which must agree with each other."""
    tops = maximal(known)
    out = np.array(values, dtype=np.float64)
    sizes = dict(zip(margin, values.shape, strict=True))
    for a in closure(tops):
        source = next(b for b in tops if set(a) <= set(b))
        wanted = centre(sum_out(np.asarray(known[source], dtype=np.float64), source, a))
        present = centre(sum_out(np.asarray(values, dtype=np.float64), margin, a))
        outer = np.prod([sizes[i] for i in margin if i not in a], dtype=np.float64)
        out += spread(wanted - present, a, margin) / outer
    return out


def finest(release: Release) -> Table:
    """The shown table that contains the axes of all others."""
    names = set(axis_names(release.tables))
    for table in release.tables:
        if {axis.name for axis in table.space.axes} == names:
            return table
    raise Unsupported("No shown table contains all variables; ask for the full cross among the margins.")


def from_finest(release: Release, table: Table, array: FloatArray) -> list[FloatArray]:
    """Every shown table as a sum of the finest one, flat; `array` has the finest table's shape."""
    own = [axis.name for axis in table.space.axes]
    whole = tuple(range(len(own)))
    found = []
    for other in release.tables:
        margin = tuple(sorted(own.index(a.name) for a in other.space.axes))
        found.append(restored(other, own, sum_out(np.asarray(array, dtype=np.float64), whole, margin)))
    return found


def has_levels(release: Release) -> bool:
    """Whether a variable is shown at several levels, so that axes are not independent of each other."""
    names = axis_names(release.tables)
    return len({name.partition(".")[0] for name in names}) != len(names)
