"""A list released once and stored: every later table that is a sum of its cells is answered from it, for free.

The list is charged as one event. Any table over its variables, at its level or a coarser declared one, with conditions on its
variables, is a sum of canonical cells, so the same cell is the same number through every table that contains it, in every
process. Averaging many descriptions of one group gains nothing. The variance of each sum is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.domain import DROP, Axis, Bounds, CellSpace, Domain
from dalenius.core.law import Additive, FloatArray, Joint
from dalenius.core.margins import subsets
from dalenius.core.query import Filter
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported


@dataclass(frozen=True, eq=False)
class _Selection:
    """For one axis of the list: which of its labels go to which label of the answer, -1 where a label is left out."""

    groups: tuple[int, ...]
    size: int


def answer_from_list(
    release: Release, request_space: CellSpace, filters: Sequence[Filter], domain: Domain
) -> Release | None:
    """The requested table as sums of the stored list's cells; None if the list does not determine it."""
    for table in sorted(release.tables, key=lambda t: len(t.values)):
        if not table.is_unbiased or table.measure != "count":
            continue
        selections = _selections(table, request_space, filters, domain)
        if selections is not None:
            return _answer(release, table, request_space, selections)
    return None


def _selections(
    table: Table, space: CellSpace, filters: Sequence[Filter], domain: Domain
) -> list[_Selection] | None:
    stored = {axis.variable: axis for axis in table.space.axes}
    wanted = {axis.variable: axis for axis in space.axes}
    if any(v not in stored for v in wanted) or any(f.variable not in stored for f in filters):
        return None
    if space.structural_zeros and table.space.structural_zeros != space.structural_zeros:
        return None
    found = []
    for axis in table.space.axes:
        kept = _kept(axis, [f for f in filters if f.variable == axis.variable], domain)
        target = wanted.get(axis.variable)
        if kept is None:
            return None
        if target is None:
            # Rows that the list drops on this variable would be counted by a table that does not mention it.
            conditions = [f for f in filters if f.variable == axis.variable]
            if not conditions and not _drops_nothing(axis, domain):
                return None
            found.append(_Selection(tuple(0 if k else -1 for k in kept), 1))
            continue
        groups = _groups(axis, target, domain)
        if groups is None:
            return None
        found.append(
            _Selection(tuple(g if k else -1 for g, k in zip(groups, kept, strict=True)), len(target))
        )
    return found


def _members(axis: Axis, domain: Domain) -> list[frozenset[int]] | None:
    """The categories behind each label of an axis; rebuilt from the declaration where only labels are known."""
    declared = domain.variable(axis.variable)
    if isinstance(declared.domain, Bounds):
        return None
    labels = declared.domain.labels
    if axis.codes:
        return [frozenset(c for c, k in enumerate(axis.codes) if k == i) for i in range(len(axis))]
    if axis.level:
        hierarchy = declared.hierarchy(axis.level)
        place = {
            g: frozenset(c for c, p in enumerate(hierarchy.parent) if hierarchy.groups[p] == g)
            for g in axis.labels
        }
        return [place[label] for label in axis.labels]
    if any(label not in labels for label in axis.labels):
        return None
    return [frozenset({labels.index(label)}) for label in axis.labels]


def _kept(axis: Axis, filters: Sequence[Filter], domain: Domain) -> list[bool] | None:
    """Which labels pass the conditions; None if a condition cuts through a label."""
    members = _members(axis, domain)
    if not filters:
        return [True] * len(axis)
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


def _groups(axis: Axis, target: Axis, domain: Domain) -> list[int] | None:
    """The label of the answer for each label of the list; None if the answer is finer, or not made of whole labels."""
    if axis.labels == target.labels and axis.name == target.name and axis.cuts == target.cuts:
        return list(range(len(axis)))
    fine, coarse = _members(axis, domain), _members(target, domain)
    if fine is None or coarse is None:
        return None
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


def _drops_nothing(axis: Axis, domain: Domain) -> bool:
    declared = domain.variable(axis.variable).domain
    if isinstance(declared, Bounds):
        return False
    members = _members(axis, domain)
    everything = members is not None and sum(len(m) for m in members) == len(declared)
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
        provenance=replace(release.provenance, cost=nothing, strategy="stored list"),
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
