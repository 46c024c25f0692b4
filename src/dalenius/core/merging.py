"""Merging small cells along a declared hierarchy, by counts that were released before.

Which categories may be merged is declared; whether a group is merged depends on *released* counts, so the result is
post-processing and may be published. The axis it gives is used for the next request, for example a table of totals.
"""

from collections.abc import Sequence

from dalenius.core.domain import Axis, Variable
from dalenius.errors import ParameterError


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
