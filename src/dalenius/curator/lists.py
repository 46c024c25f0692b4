"""A list released once and stored: every later table that is a sum of its cells is answered from it, for free.

The list is charged as one event. Any table over its variables, at its level or a coarser declared one, with conditions on its
variables, is a sum of canonical cells, so the same cell is the same number through every table that contains it, in every
process. Averaging many descriptions of one group gains nothing. The variance of each sum is exact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.core.domain import DROP, Axis, Bounds, CellSpace, Domain
from dalenius.core.law import Additive, FloatArray, Joint
from dalenius.core.margins import subsets
from dalenius.core.query import Filter
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported

WHOSE_ROWS = "This table is a sum of a stored list: it counts the records that have a declared value of every variable of the list."


@dataclass(frozen=True, eq=False)
class _Selection:
    """For one axis of the list: which of its labels go to which label of the answer, -1 where a label is left out."""

    groups: tuple[int, ...]
    size: int


def answer_from_list(
    release: Release, request_space: CellSpace, filters: Sequence[Filter], domain: Domain
) -> Release | None:
    """The requested table as sums of the stored list's cells; None if the list does not determine it.

    The list must be of the same data and version. If it has conditions of its own, the request must state each of them.
    Sums of an adjusted list are sums of what was shown, and say that they are biased.
    """
    about = release.provenance
    if (about.dataset, about.version) != (domain.name, domain.version):
        return None
    remaining = _unanswered(about.request.get("where") or (), filters, domain)
    if remaining is None:
        return None
    for table in sorted(release.tables, key=lambda t: len(t.values)):
        if table.measure == "count":
            selections = _Matching(table, domain, about.request).selections(request_space, remaining)
            if selections is not None:
                return _answer(release, table, request_space, selections)
    return None


def _unanswered(
    stored: Sequence[Mapping[str, Any]], filters: Sequence[Filter], domain: Domain
) -> list[Filter] | None:
    """The conditions that the list has not applied already; None if it applied one that was not asked for."""
    left = list(filters)
    for condition in stored:
        same = [f for f in left if _is_same(condition, f, domain)]
        if not same:
            return None
        left.remove(same[0])
    return left


def _is_same(condition: Mapping[str, Any], other: Filter, domain: Domain) -> bool:
    if condition["variable"] != other.variable:
        return False
    if domain.variable(other.variable).is_numeric:
        return (condition.get("low"), condition.get("high")) == (other.low, other.high)
    labels = domain.variable(other.variable).categories.labels
    return set(condition.get("categories", ())) == {labels[code] for code in other.codes}


class _Matching:
    """How the labels of a stored table relate to what is asked for."""

    def __init__(self, table: Table, domain: Domain, request: Mapping[str, Any]) -> None:
        self.table, self.domain = table, domain
        self.described = {entry["variable"]: entry for entry in request.get("axes") or ()}

    def selections(self, space: CellSpace, filters: Sequence[Filter]) -> list[_Selection] | None:
        """For each axis of the table, where its labels go; None if the answer is not a sum of cells."""
        stored = {axis.variable for axis in self.table.space.axes}
        wanted = {axis.variable: axis for axis in space.axes}
        if not stored.issuperset(wanted) or not stored.issuperset(f.variable for f in filters):
            return None
        if space.structural_zeros and self.table.space.structural_zeros != space.structural_zeros:
            return None
        found = []
        for axis in self.table.space.axes:
            conditions = [f for f in filters if f.variable == axis.variable]
            kept, target = self._kept(axis, conditions), wanted.get(axis.variable)
            if kept is None:
                return None
            if target is None:
                # Rows that the list drops on this variable would be counted by a table that does not mention it.
                if not conditions and not self._drops_nothing(axis):
                    return None
                found.append(_Selection(tuple(0 if k else -1 for k in kept), 1))
                continue
            groups = self._groups(axis, target)
            if groups is None:
                return None
            placed = tuple(g if k else -1 for g, k in zip(groups, kept, strict=True))
            found.append(_Selection(placed, len(target)))
        return found

    def _members(self, axis: Axis) -> list[frozenset[int]] | None:
        """The categories behind each label of an axis, from its codes or from the list's own request."""
        declared = self.domain.variable(axis.variable)
        if isinstance(declared.domain, Bounds):
            return None
        if axis.codes:
            return [frozenset(c for c, k in enumerate(axis.codes) if k == i) for i in range(len(axis))]
        labels = declared.domain.labels
        if axis.level:
            hierarchy = declared.hierarchy(axis.level)
            place = [hierarchy.groups[p] for p in hierarchy.parent]
            return [frozenset(c for c, g in enumerate(place) if g == label) for label in axis.labels]
        cells = {cell[0]: cell[1:] for cell in self.described.get(axis.variable, {}).get("cells", ())}
        inside = [cells.get(label, [label]) for label in axis.labels]
        if any(text not in labels for texts in inside for text in texts):
            return None
        return [frozenset(labels.index(text) for text in texts) for texts in inside]

    def _kept(self, axis: Axis, filters: Sequence[Filter]) -> list[bool] | None:
        """Which labels pass the conditions; None if a condition cuts through a label."""
        if not filters:
            return [True] * len(axis)
        members = self._members(axis)
        if members is None:
            return None
        kept = [True] * len(axis)
        for condition in filters:
            chosen = frozenset(condition.codes)
            for i, categories in enumerate(members):
                if categories & chosen and not categories <= chosen:
                    return None
                kept[i] = kept[i] and bool(categories & chosen)
        return kept

    def _groups(self, axis: Axis, target: Axis) -> list[int] | None:
        """The label of the answer for each label of the list; None if the answer is finer, or cuts through labels."""
        fine, coarse = self._members(axis), self._members(target)
        if fine is None or coarse is None:
            cuts = tuple(axis.cuts or self.described.get(axis.variable, {}).get("cuts", ()))
            is_same = bool(cuts) and cuts == target.cuts and axis.labels == target.labels
            return list(range(len(axis))) if is_same else None
        covered = frozenset().union(*fine)
        if not all(group <= covered for group in coarse):
            return None
        groups = []
        for categories in fine:
            holders = [i for i, group in enumerate(coarse) if categories & group]
            if len(holders) > 1 or (holders and not categories <= coarse[holders[0]]):
                return None
            groups.append(holders[0] if holders else -1)
        return groups

    def _drops_nothing(self, axis: Axis) -> bool:
        declared = self.domain.variable(axis.variable).domain
        members = self._members(axis)
        if isinstance(declared, Bounds) or members is None:
            return False
        everything = sum(len(m) for m in members) == len(declared)
        return everything and DROP not in (declared.missing, declared.unseen)


def _answer(release: Release, table: Table, space: CellSpace, selections: Sequence[_Selection]) -> Release:
    values = _summed(table.values.reshape(table.shape), selections)
    variance = _variance(release, table, selections)
    own = [axis.variable for axis in table.space.axes if any(a.variable == axis.variable for a in space.axes)]
    order = [own.index(axis.variable) for axis in space.axes]
    sizes = [s.size for axis, s in zip(table.space.axes, selections, strict=True) if axis.variable in own]
    shown = Table(
        name=" x ".join(axis.name for axis in space.axes) or "total",
        space=space,
        values=values.reshape(sizes).transpose(order).ravel() if order else values.ravel(),
        variance=variance.reshape(sizes).transpose(order).ravel() if order else variance.ravel(),
        is_unbiased=table.is_unbiased,
    )
    note = {
        "name": "sum of a stored list",
        "list": release.provenance.digest,
        "table": table.name,
        "cost": "none",
    }
    nothing = {
        k: ("0" if k in ("rho", "delta", "epsilon") else v) for k, v in release.provenance.cost.items()
    }
    law = Joint("list", {"list": release.provenance.digest, "table": table.name})
    return release.with_(
        tables=(shown,),
        law=law,
        adjustments=(*release.adjustments, note),
        provenance=replace(
            release.provenance,
            cost=nothing,
            strategy="stored list",
            warnings=(*release.provenance.warnings, WHOSE_ROWS),
        ),
    )


def _summed(array: FloatArray, selections: Sequence[_Selection]) -> FloatArray:
    out = np.asarray(array, dtype=np.float64)
    for axis, selection in enumerate(selections):
        moved = np.moveaxis(out, axis, 0)
        summed = np.zeros((selection.size, *moved.shape[1:]))
        kept = [i for i, g in enumerate(selection.groups) if g >= 0]
        np.add.at(summed, [selection.groups[i] for i in kept], moved[kept])
        out = np.moveaxis(summed, 0, axis)
    return out


def _variance(release: Release, table: Table, selections: Sequence[_Selection]) -> FloatArray:
    """Exact: for a product of label sets the covariance of a residual component is a product over axes."""
    law = release.law
    counts = [np.bincount([g for g in s.groups if g >= 0], minlength=s.size) for s in selections]
    if isinstance(law, Joint) and law.structure == "margins":
        names = list(law.parameters["axes"])
        margin = tuple(names.index(axis.name) for axis in table.space.axes)
        place = {a: k for k, a in enumerate(margin)}
        components = {tuple(a): float(v) for a, v in law.parameters["components"]}
        total = np.zeros([s.size for s in selections])
        for a in subsets(tuple(sorted(margin))):
            if a not in components:
                continue
            part: FloatArray = np.array(components[a])
            for axis in range(len(margin)):
                n, m = len(table.space.axes[axis]), counts[axis].astype(np.float64)
                factor = m - m * m / n if any(place[i] == axis for i in a) else (m / n) ** 2
                part = np.multiply.outer(part, factor)
            total += part
        return total
    if isinstance(law, Additive) or (
        isinstance(law, Joint) and law.structure == "nested" and len(release.blocks) == 1
    ):
        return _summed(table.variance.reshape(table.shape), selections)
    raise Unsupported("The stored list has no law from which variances of sums follow.")
