"""A list released once and stored: every later table that is a sum of its cells is answered from it, for free.

The same cell is the same number through every table that contains it, in every process, so that averaging many
descriptions of one group gains nothing. The variance of each sum is exact. An answer counts exactly the records that a
direct request would count (`dalenius.lists.universe`); where the two could differ it is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.algebra.joint import MarginsLaw
from dalenius.algebra.range_law import RangeLaw
from dalenius.algebra.tree_law import TreeLaw
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.law import Additive, Censored, FloatArray, IntArray, Joint, Law
from dalenius.core.release import Block, Release, Table
from dalenius.errors import Unsupported
from dalenius.lists.universe import Cross, Values, cells_of, combined, common, covered
from dalenius.plans.margins.levels import resolve, table_name
from dalenius.plans.margins.plan import inside_filters, shows_structural_zero
from dalenius.spec.canonical import describe_axis, describe_condition, method_of
from dalenius.spec.method import counts_records


@dataclass(frozen=True, eq=False)
class _Selection:
    """For one axis of the list: which of its labels go to which label of the answer, -1 where a label is left out."""

    groups: tuple[int, ...]
    size: int

    @property
    def counts(self) -> IntArray:
        return np.bincount([group for group in self.groups if group >= 0], minlength=self.size)


@dataclass(frozen=True, eq=False)
class _SummedTable:
    space: CellSpace
    source: Table
    selections: list[_Selection]


def answer_from_list(
    release: Release,
    request_space: CellSpace,
    filters: Sequence[Filter],
    domain: Domain,
    margins: Sequence[tuple[str, ...]] | None = None,
) -> Release | None:
    """The requested table or margins as sums of the stored list's cells; None where the list does not tell.

    The list must be of the same data and version. If it has conditions of its own, the request must state each of them.
    A table that the list determines but for the records that it leaves out is refused with `OtherRows`, which says what
    to change. Sums of an adjusted list are sums of what was shown, and say that they are biased.
    """
    about = release.provenance
    if (about.dataset, about.population, about.version) != (domain.name, domain.population, domain.version):
        return None
    # Nothing is a sum of ranges or of found texts.
    if not counts_records(method_of(about.request)):
        return None
    remaining = _unanswered(about.request.get("where") or (), filters, domain)
    cross = Cross.of(release, domain)
    if remaining is None or cross is None:
        return None
    spaces, is_applied = [request_space], True
    if margins is not None:
        # Margins are planned together: each counts the records inside the full cross of the request.
        remaining += inside_filters(domain, request_space.axes)
        spaces = [_margin(domain, request_space, margin) for margin in margins]
        is_applied = _leaves_out_zeros(request_space, margins)
    stated = combined(remaining, domain)
    open_ones = {name: values for name, values in stated.items() if not cross.applies(name, values)}
    matching = _Matching(cross, domain, open_ones)
    pieces = [_piece(release, space, matching) for space in spaces]
    if any(one is None for one in pieces):
        return None
    gone = dict.fromkeys(name for space in spaces for name in cross.uncounted(space, stated))
    cross.refuse(list(gone))
    if not cross.check_zeros(request_space, is_applied, open_ones):
        return None
    asked = _asked(request_space, filters, domain, margins)
    return _answer(release, [one for one in pieces if one is not None], asked)


def _margin(domain: Domain, space: CellSpace, margin: Sequence[str]) -> CellSpace:
    _, axes = resolve(domain, space.axes, margin)
    return CellSpace(axes, space.structural_zeros if axes == space.axes else frozenset())


def _leaves_out_zeros(space: CellSpace, margins: Sequence[tuple[str, ...]]) -> bool:
    """Whether the planner measures these margins inside the structural zeros' complement."""
    names = {axis.name for axis in space.axes}
    is_nested = any(name not in names for margin in margins for name in margin)
    return is_nested or shows_structural_zero(space, margins)


def _piece(release: Release, space: CellSpace, matching: "_Matching") -> _SummedTable | None:
    counts = sorted((table for table in release.tables if table.measure == "count"), key=lambda t: len(t.values))
    every = ((table, matching.selections(table, space)) for table in counts)
    return next((_SummedTable(space, table, selections) for table, selections in every if selections is not None), None)


def _asked(
    space: CellSpace, filters: Sequence[Filter], domain: Domain, margins: Sequence[tuple[str, ...]] | None
) -> dict[str, Any]:
    """What an answer says of its own cells and records, in the words of a canonical request."""
    return {
        "axes": [describe_axis(axis, domain) for axis in space.axes],
        "where": [describe_condition(condition, domain) for condition in filters],
        "structural_zeros": [list(cell) for cell in sorted(space.structural_zeros)],
        "margins": None if margins is None else [[list(margin), "1"] for margin in margins],
    }


def _unanswered(stored: Sequence[Mapping[str, Any]], filters: Sequence[Filter], domain: Domain) -> list[Filter] | None:
    """The conditions that the list has not applied already; None if it applied one that was not asked for."""
    left = list(filters)
    for condition in stored:
        same = [f for f in left if describe_condition(f, domain) == condition]
        if not same:
            return None
        left.remove(same[0])
    return left


@dataclass(frozen=True, eq=False)
class _Matching:
    """How the labels of stored tables relate to what is asked for."""

    cross: Cross
    domain: Domain
    conditions: Mapping[str, Values]

    def selections(self, table: Table, space: CellSpace) -> list[_Selection] | None:
        """For each axis of the table, where its labels go; None if the answer is not a sum of cells."""
        stored = {axis.variable for axis in table.space.axes}
        wanted = {axis.variable: axis for axis in space.axes}
        if not stored >= set(wanted) | set(self.conditions):
            return None
        selections = []
        for axis in table.space.axes:
            target, cells = wanted.get(axis.variable), self._cells(axis)
            if cells is None:
                return None
            places = self.cross.placed(axis, cells, target, self.conditions.get(axis.variable))
            if places is None:
                return None
            selections.append(_Selection(tuple(places), 1 if target is None else len(target)))
        return selections

    def _cells(self, axis: Axis) -> list[Values] | None:
        """The values behind each label of a stored axis; a document keeps them in the list's own request."""
        if axis.codes or axis.cuts:
            return cells_of(axis, self.domain)
        whole = self.cross.find(axis.variable)
        if whole is None:
            return None
        cells = cells_of(whole, self.domain)
        if len(axis) == len(whole) and (whole.cuts or axis.labels == whole.labels):
            return cells
        if not axis.level:
            return None
        hierarchy = self.domain.variable(axis.variable).hierarchy(axis.level)
        place = [hierarchy.groups[p] for p in hierarchy.parent]
        members = [frozenset(c for c, g in enumerate(place) if g == label) for label in axis.labels]
        return [common(m, covered(cells)) for m in members]


def _answer(release: Release, pieces: Sequence[_SummedTable], asked: Mapping[str, Any]) -> Release:
    about, names = release.provenance, [one.source.name for one in pieces]
    note = {"name": "sum of a stored list", "list": about.digest, "tables": names, "cost": "none"}
    nothing = {k: ("0" if k in ("rho", "delta", "epsilon") else v) for k, v in about.cost.items()}
    tables = tuple(_table(release, one) for one in pieces)
    # The measured blocks of an adjusted list are not those of its sums.
    blocks = release.blocks if all(table.is_unbiased for table in tables) else ()
    law: Law = Joint("list", {"list": about.digest, "tables": names})
    if isinstance(release.law, Censored):
        # Such a list has no sums: each cell of the answer is one of its own, under its own law.
        law = release.law
        blocks = tuple(Block(name=t.name, space=t.space, values=t.values.astype(np.int64), law=law) for t in tables)
    return release.with_(
        blocks=blocks,
        tables=tables,
        law=law,
        adjustments=(*release.adjustments, note),
        provenance=replace(about, cost=nothing, strategy="stored list", request={**about.request, **asked}),
        # The list's own title and layout are not those of a table from it.
        subject=None,
    )


def _table(release: Release, piece: _SummedTable) -> Table:
    source, space, selections = piece.source, piece.space, piece.selections
    values = _summed(source.values.reshape(source.shape), selections)
    variance = _variance(release, piece)
    own = [axis.variable for axis in source.space.axes if any(a.variable == axis.variable for a in space.axes)]
    order = [own.index(axis.variable) for axis in space.axes]
    sizes = [s.size for axis, s in zip(source.space.axes, selections, strict=True) if axis.variable in own]
    return Table(
        name=table_name(space),
        space=space,
        values=values.reshape(sizes).transpose(order).ravel() if order else values.ravel(),
        variance=variance.reshape(sizes).transpose(order).ravel() if order else variance.ravel(),
        is_unbiased=source.is_unbiased,
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


def _variance(release: Release, piece: _SummedTable) -> FloatArray:
    """Exact: of one cell what the list says, of a sum what the list's law says."""
    law, table, selections = release.law, piece.source, piece.selections
    is_one_draw = isinstance(law, Additive) or (isinstance(law, Joint) and law.structure == "nested")
    is_picked = all(selection.counts.max(initial=0) <= 1 for selection in selections)
    if is_picked or is_one_draw:
        return _summed(table.variance.reshape(table.shape), selections)
    read = joint.read_law(law) if joint.is_combined(law) else None
    if isinstance(read, MarginsLaw | TreeLaw | RangeLaw):
        position = [shown.name for shown in release.tables].index(table.name)
        return _placed(selections, partial(read.grouped_variance, position))
    raise Unsupported("The stored list has no law from which variances of sums follow.")


def _placed(selections: Sequence[_Selection], variance_of: Callable[[list[tuple[int, ...]]], FloatArray]) -> FloatArray:
    """Variances of sums in their places: a label of the answer to which nothing of the list goes is 0 without noise."""
    used = [np.flatnonzero(selection.counts) for selection in selections]
    found = np.zeros([selection.size for selection in selections])
    if all(len(labels) for labels in used):
        place = [{-1: -1} | {int(label): k for k, label in enumerate(labels)} for labels in used]
        groups = [tuple(at[g] for g in s.groups) for at, s in zip(place, selections, strict=True)]
        found[np.ix_(*used)] = variance_of(groups).reshape([len(labels) for labels in used])
    return found
