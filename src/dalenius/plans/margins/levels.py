"""From names to tables: levels of declared hierarchies, the tree they run along, and the cells that are impossible.

Of the axes whose levels are asked for, the one with the longest chain of nested levels becomes the tree; levels that do
not lie in the chain are shown as unions of its finest nodes, and levels of other axes as sums of their categories.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from dalenius.algebra.margins import Workload
from dalenius.algebra.nested import View, aggregate
from dalenius.algebra.tree import ROOT, Tree
from dalenius.algebra.tree_law import MOST_ZEROS
from dalenius.algebra.tree_table import TreeTable, TreeView
from dalenius.core.domain import Axis, Categories, CellSpace, Domain
from dalenius.core.law import IntArray
from dalenius.errors import TooLarge, UnknownName, Unsupported
from dalenius.plans.margins.setting import MarginsAsked, Setting

MOST_UNIONS = 50_000_000
Grouping = tuple[int, ...]
Resolved = tuple[View, tuple[Axis, ...]]
"""A margin's view of the finest table, and its own axes."""


def flat_setting(request: MarginsAsked) -> Setting:
    """The request without levels: every axis is detail of the root, and margins have the weights of the objective."""
    setting = root_setting(request)
    table = setting.table
    workload = Workload(table.shape, tuple(view.margin for view in table.shown), request.weights)
    if request.objective == "tables":
        by_table = (w / table.cells(s) for s, w in zip(table.shown, workload.importance, strict=True))
        workload = replace(workload, weights=tuple(by_table))
    return replace(setting, workload=workload)


def root_setting(request: MarginsAsked) -> Setting:
    """The request along a tree that has nothing but its root; levels are sums of categories of their axes."""
    resolved = [resolve(request.domain, request.axes, m) for m in request.margins]
    table = TreeTable(ROOT, tuple(map(len, request.axes)), tuple(TreeView(0, view) for view, _ in resolved))
    return Setting(
        **vars(request),
        table=table,
        workload=table.workload,
        spaces=tuple(CellSpace(axes) for _, axes in resolved),
        place=len(request.axes),
    )


def level_setting(request: MarginsAsked) -> Setting:
    """The request along its tree, with the impossible cells that it shows."""
    resolved = [resolve(request.domain, request.axes, m) for m in request.margins]
    views, spaces = [view for view, _ in resolved], [CellSpace(axes) for _, axes in resolved]
    place, leaves, levels, table = tree_of(request.axes, resolved)
    zeros: tuple[tuple[int, IntArray], ...] = ()
    impossible = CellSpace(request.axes, request.structural_zeros, is_virtual=True).structural_indices
    if impossible:
        shown = shown_zeros([len(axis) for axis in request.axes], impossible, views)
        zeros = independent_zeros(views, shown)
        spaces = [_with_zeros(space, cells) for space, cells in zip(spaces, shown, strict=True)]
    return Setting(
        **vars(request),
        table=table,
        workload=table.workload,
        spaces=tuple(spaces),
        place=place,
        leaves=leaves,
        levels=levels,
        impossible=impossible,
        zeros=zeros,
    )


def _with_zeros(space: CellSpace, cells: IntArray) -> CellSpace:
    places = zip(*(p.tolist() for p in np.unravel_index(cells, space.shape)), strict=True) if space.axes else ()
    return CellSpace(space.axes, frozenset(tuple(place) for place in places))


def table_name(space: CellSpace) -> str:
    """How a margin is called: its axes, or "total"."""
    return " x ".join(axis.name for axis in space.axes) or "total"


@lru_cache(maxsize=64)
def _identity(size: int) -> Grouping:
    return tuple(range(size))


def resolve(domain: Domain, axes: Sequence[Axis], margin: Sequence[str]) -> Resolved:
    """A margin's view of the finest table, and its own axes; "variable.level" is a declared coarser level."""
    wanted: dict[int, tuple[tuple[int, ...], Axis]] = {}
    for name in margin:
        position, groups, axis = _axis(domain, axes, name)
        if position in wanted:
            raise Unsupported(f"The margin {list(margin)} names two levels of {axes[position].variable!r}.")
        wanted[position] = (groups, axis)
    view = tuple(wanted[i][0] if i in wanted else None for i in range(len(axes)))
    return view, tuple(wanted[i][1] for i in sorted(wanted))


def _axis(domain: Domain, axes: Sequence[Axis], name: str) -> tuple[int, tuple[int, ...], Axis]:
    names = [axis.name for axis in axes]
    if name in names:
        position = names.index(name)
        return position, _identity(len(axes[position])), axes[position]
    variable, _, level = name.partition(".")
    for position, axis in enumerate(axes):
        if axis.variable == variable and level and isinstance(domain.variable(variable).domain, Categories):
            hierarchy = domain.variable(variable).hierarchy(level)
            groups = [-1] * len(axis)
            for category, label in enumerate(axis.codes):
                if label >= 0:
                    if groups[label] not in (-1, hierarchy.parent[category]):
                        raise Unsupported(f"{axis.labels[label]!r} lies in two groups of {name!r}.")
                    groups[label] = hierarchy.parent[category]
            if axis.has_rest:
                groups[-1] = len(hierarchy.groups)
            used = {group: place for place, group in enumerate(sorted(set(groups)))}
            labels = (*hierarchy.groups, axis.labels[-1])
            coarse = Axis(
                variable=variable,
                labels=tuple(labels[g] for g in used),
                codes=tuple(used[p] if axis.codes[c] >= 0 else -1 for c, p in enumerate(hierarchy.parent)),
                level=level,
                has_rest=axis.has_rest,
            )
            return position, tuple(used[g] for g in groups), coarse
    raise UnknownName.among("axis", name, names)


def is_nested(fine: Grouping, coarse: Grouping) -> bool:
    """Whether every group of the first lies in one group of the second."""
    return len(set(zip(fine, coarse, strict=True))) == len(set(fine))


def chain(groupings: Sequence[Grouping]) -> list[Grouping]:
    """The longest chain of nested groupings, coarse ones first.

    >>> chain([(0, 0, 1, 1), (0, 1, 2, 3), (0, 1, 0, 1)])
    [(0, 0, 1, 1), (0, 1, 2, 3)]
    """
    ordered = sorted(set(groupings), key=lambda g: (max(g), g))
    longest: list[list[Grouping]] = []
    for k, fine in enumerate(ordered):
        before = [longest[i] for i in range(k) if is_nested(fine, ordered[i])]
        longest.append([*max(before, key=len, default=[]), fine])
    return max(longest, key=lambda c: (len(c), max(c[-1])), default=[])


def tree_of(axes: Sequence[Axis], resolved: Sequence[Resolved]) -> tuple[int, Grouping, tuple[Axis, ...], TreeTable]:
    """The place of the tree among the axes, the leaf of each category, the axes of the levels, and the
    tables along it.
    """
    if not axes:
        raise Unsupported("A table without axes has no levels; leave 'strategy' and 'margins' out for one number.")
    used = [[view[k] for view, _ in resolved if view[k] is not None] for k in range(len(axes))]
    chains = [chain([g for g in own if g is not None]) for own in used]
    place = max(range(len(axes)), key=lambda k: (len(chains[k]), len(axes[k])))
    spine, own = chains[place], set(used[place])
    identity = _identity(len(axes[place]))
    if not spine or not all(g is None or is_nested(spine[-1], g) for g in own):
        spine = [*[g for g in spine if g != identity], identity]
    leaves = spine[-1]
    tree = Tree.of_groups([_onto(leaves, g) for g in spine])
    shown = []
    for view, _ in resolved:
        detail = view[:place] + view[place + 1 :]
        groups = view[place]
        if groups is None:
            shown.append(TreeView(0, detail))
        elif groups in spine:
            shown.append(TreeView(spine.index(groups) + 1, detail))
        else:
            shown.append(TreeView(tree.depth, detail, tuple(_onto(leaves, groups))))
    table = TreeTable(tree, tuple(len(a) for k, a in enumerate(axes) if k != place), tuple(shown))
    for part in table.shown:
        if part.leaves is not None and table.nodes(part) * tree.sizes[-1] > MOST_UNIONS:
            raise TooLarge("Two groupings that are not nested have too many groups; ask for one of them.")
    return place, leaves, tuple(_axis_of(axes[place], g, place, resolved) for g in spine), table


def shown_zeros(shape: Sequence[int], impossible: Sequence[int], views: Sequence[View]) -> list[IntArray]:
    """The cells of every shown table that are made of impossible cells only, flat."""
    possible = np.ones(tuple(shape), dtype=np.float64)
    possible.ravel()[list(impossible)] = 0
    return [np.flatnonzero(aggregate(possible, view).ravel() == 0) for view in views]


def independent_zeros(views: Sequence[View], zeros: Sequence[IntArray]) -> tuple[tuple[int, IntArray], ...]:
    """The impossible cells of tables that are not sums of another: the others follow from them."""
    chosen = []
    for k, (view, cells) in enumerate(zip(views, zeros, strict=True)):
        finer = (v for j, v in enumerate(views) if j != k and _is_sum(view, v))
        if len(cells) and not any(True for _ in finer):
            chosen.append((k, cells))
    if sum(len(cells) for _, cells in chosen) > MOST_ZEROS:
        raise TooLarge(
            f"Least squares knows up to {MOST_ZEROS:,} impossible cells; this list shows more of them.",
            limit=MOST_ZEROS,
        )
    return tuple(chosen)


def _is_sum(coarse: View, fine: View) -> bool:
    """Whether every cell of the first view is a sum of cells of the second, which is another."""
    pairs = list(zip(coarse, fine, strict=True))
    return coarse != fine and all(c is None or (f is not None and is_nested(f, c)) for c, f in pairs)


def _onto(leaves: Grouping, groups: Grouping) -> list[int]:
    nodes = [0] * (max(leaves) + 1)
    for leaf, group in zip(leaves, groups, strict=True):
        nodes[leaf] = group
    return nodes


def _axis_of(own: Axis, groups: Grouping, place: int, resolved: Sequence[Resolved]) -> Axis:
    """The axis of a level: as a margin names it, or the axis itself for leaves that no margin shows."""
    for view, axes in resolved:
        if view[place] == groups:
            return axes[sum(v is not None for v in view[:place])]
    return own
