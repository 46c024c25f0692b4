"""Merging small cells along a declared hierarchy, by counts that were released before.

Which categories may be merged is declared; whether a group is merged depends on *released* counts, so the result is
post-processing and may be published. The axis it gives is used for the next request, for example a table of totals.
"""

from collections.abc import Sequence

from dalenius.core.domain import Axis, Variable
from dalenius.core.release import Release
from dalenius.errors import ParameterError, UnknownName


def merged_axis(variable: Variable, level: str, released: Sequence[float], minimum: float) -> Axis:
    """Keep the categories of a group apart only if each of them has a released count of at least `minimum`.

    `released` holds one count for each declared category, in declared order, negative ones included.
    """
    categories, hierarchy = variable.categories, variable.hierarchy(level)
    if len(released) != len(categories):
        raise ParameterError(
            f"Needed: {len(categories)} released counts, one for each category; received {len(released)}."
        )
    small = {hierarchy.parent[code] for code, count in enumerate(released) if count < minimum}
    labels: list[str] = []
    codes: list[int] = []
    for code, label in enumerate(categories.labels):
        group = hierarchy.parent[code]
        shown = hierarchy.groups[group] if group in small else label
        if shown not in labels:
            labels.append(shown)
        codes.append(labels.index(shown))
    return Axis(variable=variable.name, labels=tuple(labels), codes=tuple(codes))


def merged_groups(variable: Variable, axis: Axis) -> dict[str, list[str]]:
    """The axis as a request document writes it: each label with its categories."""
    groups: dict[str, list[str]] = {label: [] for label in axis.labels}
    for code, label in enumerate(axis.codes):
        groups[axis.labels[label]].append(variable.categories.labels[code])
    return groups


def released_counts(release: Release, variable: Variable) -> list[float]:
    """The count of each declared category, in declared order, from a release that shows them."""
    for table in release.tables:
        axes = table.space.axes
        if len(axes) == 1 and axes[0].variable == variable.name and table.measure == "count":
            shown = dict(zip(axes[0].labels, table.values.tolist(), strict=True))
            if set(shown) == set(variable.categories.labels):
                return [shown[label] for label in variable.categories.labels]
    raise UnknownName(
        f"This release has no table that counts every category of {variable.name!r} by itself.", received=variable.name
    )
