"""Which records a stored list counts, and whether a later table would count the same ones.

A list counts the records inside its full cross, and a direct request for a table over fewer variables more: a record
without a declared age still has a town. A table is answered where both provably count the same, from the declarations
alone: if no value of a variable can fall out, if the table shows it, or if the table has a condition on it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds, CellSpace, Domain
from dalenius.core.law import IntArray, Joint
from dalenius.core.rationals import plain
from dalenius.core.release import Release
from dalenius.errors import OtherRows

Values = frozenset[int] | range
"""Values of a variable: codes of categories, or a range of steps."""


def is_inside(part: Values, whole: Values) -> bool:
    if isinstance(part, range) and isinstance(whole, range):
        return not part or (whole.start <= part.start and part.stop <= whole.stop)
    return frozenset(part) <= frozenset(whole)


def common(first: Values, second: Values) -> Values:
    if isinstance(first, range) and isinstance(second, range):
        return range(max(first.start, second.start), max(min(first.stop, second.stop), first.start))
    return frozenset(first) & frozenset(second)


def values_of(condition: Filter, domain: Domain) -> Values:
    declared = domain.variable(condition.variable).domain
    if not isinstance(declared, Bounds):
        return frozenset(condition.codes)
    low = declared.low if condition.low is None else max(condition.low, declared.low)
    high = declared.high if condition.high is None else min(condition.high, declared.high)
    return range(low, max(high + 1, low))


def combined(filters: Iterable[Filter], domain: Domain) -> dict[str, Values]:
    passing: dict[str, Values] = {}
    for condition in filters:
        values, name = values_of(condition, domain), condition.variable
        passing[name] = common(passing[name], values) if name in passing else values
    return passing


def cells_of(axis: Axis, domain: Domain) -> list[Values]:
    """The values behind each label of an axis with codes or cuts; the label of the rest has none to name."""
    if axis.cuts:
        bounds = domain.variable(axis.variable).bounds
        inside = range(bounds.low, bounds.high + 1)
        classes: list[Values] = [common(range(a, b), inside) for a, b in pairwise(axis.cuts)]
        return [*classes, range(axis.cuts[-1], axis.cuts[-1])] if axis.has_rest else classes
    members: list[list[int]] = [[] for _ in axis.labels]
    for code, label in enumerate(axis.codes):
        if label >= 0:
            members[label].append(code)
    return [frozenset(codes) for codes in members]


def covered(cells: Sequence[Values]) -> Values:
    """All values behind some labels; the labels of cuts follow each other."""
    first, last = (cells[0], cells[-1]) if cells else (frozenset[int](), frozenset[int]())
    if isinstance(first, range) and isinstance(last, range):
        return range(first.start, last.stop)
    return frozenset[int]().union(*cells)


@dataclass(frozen=True, eq=False)
class Cross:
    """The full cross of a list: its axes with codes or cuts, and the cells whose records it leaves out."""

    axes: tuple[Axis, ...]
    zeros: IntArray
    domain: Domain

    @classmethod
    def of(cls, release: Release, domain: Domain) -> "Cross | None":
        """The cross behind a release of counts; None where the release does not say what it is."""
        axes = _axes(release, domain)
        if axes is None:
            return None
        law, shape = release.law, tuple(len(axis) for axis in axes)
        if isinstance(law, Joint) and joint.is_combined(law):
            if tuple(law.parameters["shape"]) != shape:
                return None
            flat = law.parameters.get("structural_zeros", ())
            zeros = np.stack(np.unravel_index(np.array(flat, dtype=np.int64), shape or (1,)), axis=-1)
            return cls(axes, zeros.astype(np.int64), domain)
        space = release.tables[0].space if release.tables else None
        if space is None or space.shape != shape:
            return None
        cells = sorted(space.structural_zeros)
        return cls(axes, np.array(cells, dtype=np.int64).reshape(len(cells), len(axes)), domain)

    def find(self, variable: str) -> Axis | None:
        return next((axis for axis in self.axes if axis.variable == variable), None)

    def applies(self, variable: str, wanted: Values) -> bool:
        """Whether a condition leaves out exactly what the list leaves out anyway."""
        axis = self.find(variable)
        if axis is None or axis.has_rest:
            return False
        inside = covered(cells_of(axis, self.domain))
        return is_inside(inside, wanted) and is_inside(wanted, inside)

    def placed(
        self, axis: Axis, cells: Sequence[Values], target: Axis | None, condition: Values | None
    ) -> list[int] | None:
        """`placed` on an axis of the answer; what it shows nowhere is its rest, if the list holds all of that."""
        groups = None if target is None else cells_of(target, self.domain)
        positions = placed(cells, groups, condition)
        if positions is None or target is None or not target.has_rest:
            return positions
        own = self.find(axis.variable)
        if condition is not None or own is None or not own.has_rest:
            return None
        return [position if position >= 0 else target.rest for position in positions]

    def uncounted(self, space: CellSpace, conditions: Mapping[str, Values]) -> list[str]:
        """Variables of the list on which it may leave out records that the table counts."""
        settled = {axis.variable for axis in space.axes} | set(conditions)
        others = [axis for axis in self.axes if axis.variable not in settled]
        return [a.variable for a in others if not self.domain.variable(a.variable).keeps_every_row(a)]

    def refuse(self, variables: Sequence[str]) -> None:
        """Refuse a table that would count records which the list leaves out, and say which conditions help."""
        if not variables:
            return
        where = {name: self._condition(name) for name in variables}
        listed = ", ".join(repr(name) for name in variables)
        raise OtherRows(
            f"The stored list leaves out records without one of its values of {listed}; this table would count them. "
            "Add the conditions in `where` to be answered from the list. A list that leaves nothing out needs a "
            "category for missing and unseen values in the dataset document.",
            variables=list(variables),
            where=where,
        )

    def _condition(self, variable: str) -> Any:
        axis = self.find(variable)
        assert axis is not None
        declared, inside = self.domain.variable(variable), covered(cells_of(axis, self.domain))
        if isinstance(declared.domain, Bounds):
            step, ends = declared.domain.step, (min(inside), max(inside))
            return {"at_least": plain(ends[0] * step), "at_most": plain(ends[1] * step)}
        return [declared.domain.labels[code] for code in sorted(inside)]

    def check_zeros(self, space: CellSpace, is_applied: bool, conditions: Mapping[str, Values]) -> bool:
        """Whether list and table leave out the same records as impossible; False if that cannot be told.

        `is_applied` says whether a direct request would leave out the structural zeros of `space`. A difference is
        refused.
        """
        wanted = sorted(space.structural_zeros) if is_applied else []
        if not wanted and not len(self.zeros):
            return True
        places = self._places(space, conditions) if space.size < 2**62 else None
        if places is None:
            return False
        if self._left_out(places, space) != self._expected(places, space, wanted):
            raise OtherRows(
                "The stored list holds structural zeros: it counts no records in cells that are declared impossible,"
                " and this table would count other ones. Ask for the table with all variables of the structural zeros"
                " as axes.",
                structural_zeros=True,
            )
        return True

    def _left_out(self, places: Mapping[str, IntArray], space: CellSpace) -> dict[int, int]:
        """How many structural zeros of the list lie in each cell of the table."""
        at = {axis.variable: places[axis.variable][self.zeros[:, k]] for k, axis in enumerate(self.axes)}
        is_kept = np.ones(len(self.zeros), dtype=bool)
        for column in at.values():
            is_kept &= column >= 0
        cells, counts = np.unique(_flat(at, space, len(self.zeros))[is_kept], return_counts=True)
        return dict(zip(cells.tolist(), counts.tolist(), strict=True))

    def _expected(
        self, places: Mapping[str, IntArray], space: CellSpace, wanted: Sequence[tuple[int, ...]]
    ) -> dict[int, int]:
        """How many cells of the list lie in each structural zero of the table."""
        asked = np.array(wanted, dtype=np.int64).reshape(len(wanted), len(space.axes))
        at = {axis.variable: asked[:, k] for k, axis in enumerate(space.axes)}
        width = {axis.variable: len(axis) for axis in space.axes}
        cells = np.ones(len(asked), dtype=np.int64)
        for name, place in places.items():
            held = np.bincount(place[place >= 0], minlength=width.get(name, 1))
            cells *= held[at[name]] if name in at else held[0]
        flat = _flat(at, space, len(asked)).tolist()
        return {cell: count for cell, count in zip(flat, cells.tolist(), strict=True) if count}

    def _places(self, space: CellSpace, conditions: Mapping[str, Values]) -> dict[str, IntArray] | None:
        """For each axis, the label of the table in which a label of the list is counted; -1 where it is not."""
        targets = {axis.variable: axis for axis in space.axes}
        if not {axis.variable for axis in self.axes} >= set(targets):
            return None
        places = {}
        for axis in self.axes:
            cells, condition = cells_of(axis, self.domain), conditions.get(axis.variable)
            positions = self.placed(axis, cells, targets.get(axis.variable), condition)
            if positions is None:
                return None
            places[axis.variable] = np.array(positions, dtype=np.int64)
        return places


def _flat(columns: Mapping[str, IntArray], space: CellSpace, size: int) -> IntArray:
    flat = np.zeros(size, dtype=np.int64)
    for axis in space.axes:
        flat = flat * len(axis) + columns[axis.variable]
    return flat


def placed(cells: Sequence[Values], groups: Sequence[Values] | None, condition: Values | None) -> list[int] | None:
    """The group in which each label is counted (0 without groups), -1 where it is left out.

    None if a condition or a group cuts through a label, or asks for values that no label holds.
    """
    inside = covered(cells)
    if groups is None and condition is not None and not is_inside(condition, inside):
        return None
    if groups is not None and not all(is_inside(group, inside) for group in groups):
        return None
    owner = {code: n for n, group in enumerate(groups or ()) if isinstance(group, frozenset) for code in group}
    positions = []
    for values in cells:
        holders = {0} if groups is None else _holders(values, groups, owner)
        if len(holders) != 1:
            return None
        place = holders.pop()
        if condition is not None:
            if common(values, condition) and not is_inside(values, condition):
                return None
            place = place if common(values, condition) else -1
        positions.append(place)
    return positions


def _holders(values: Values, groups: Sequence[Values], owner: Mapping[int, int]) -> set[int]:
    """The groups in which the values of one label lie; -1 for values that are in none."""
    if isinstance(values, frozenset):
        return {owner.get(code, -1) for code in values} or {-1}
    met = [n for n, group in enumerate(groups) if common(values, group)]
    return {n if is_inside(values, groups[n]) else -2 for n in met} or {-1}


def _axes(release: Release, domain: Domain) -> tuple[Axis, ...] | None:
    """The axes of the cross, from the canonical request or, without one, from what is shown."""
    described = release.provenance.request.get("axes")
    if described is not None:
        axes = [_described(entry, domain) for entry in described]
        return None if None in axes else tuple(axis for axis in axes if axis is not None)
    spaces = [t.space for t in release.tables] + [b.space for b in release.blocks]
    shown = {a.name: a for space in spaces for a in space.axes if a.codes or a.cuts}
    law = release.law
    names = law.parameters.get("axes") if isinstance(law, Joint) else None
    if names is None:
        names = [axis.name for axis in release.tables[0].space.axes] if release.tables else []
    return tuple(shown[n] for n in names) if set(names) <= set(shown) else None


def _described(entry: Mapping[str, Any], domain: Domain) -> Axis | None:
    if "rest" in entry:
        held = _described({key: entry[key] for key in entry if key != "rest"}, domain)
        return held and replace(held, labels=(*held.labels, entry["rest"]), has_rest=True)
    name = entry["variable"]
    if "cuts" in entry:
        cuts = tuple(entry["cuts"])
        return Axis(variable=name, labels=tuple(map(str, cuts[:-1])), cuts=cuts)
    texts = domain.variable(name).categories.labels
    codes = [-1] * len(texts)
    for index, (_, *members) in enumerate(entry["cells"]):
        for member in members:
            if member not in texts:
                return None
            codes[texts.index(member)] = index
    return Axis(variable=name, labels=tuple(cell[0] for cell in entry["cells"]), codes=tuple(codes))
