"""Values of a variable cell by cell, for steps that read lists of them."""

from itertools import product

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.query import ValuesQuery
from dalenius.errors import TooLarge
from dalenius.measurements.grid_selection import MOST_CELLS


def cell_queries(
    domain: Domain, variable: str, space: CellSpace, where: tuple[Filter, ...] = ()
) -> tuple[ValuesQuery, ...]:
    """The values of one variable in every cell of a space, as filters on the axes; structural zeros included."""
    if space.size > MOST_CELLS:
        raise TooLarge(
            f"Values of {variable!r} are read cell by cell, in tables of at most {MOST_CELLS} cells; this one has "
            f"{space.size:,}. Leave out a variable, use a coarser level, or ask for some of the categories at a time.",
            limit=MOST_CELLS,
            received=space.size,
        )
    _ = domain.variable(variable).bounds
    choices: list[list[Filter]] = []
    for axis in space.axes:
        if axis.cuts:
            cells = zip(axis.cuts[:-1], axis.cuts[1:], strict=True)
            choices.append([Filter(variable=axis.variable, low=a, high=b - 1) for a, b in cells])
        else:
            groups = [tuple(c for c, to in enumerate(axis.codes) if to == i) for i in range(len(axis))]
            choices.append([Filter(variable=axis.variable, codes=codes) for codes in groups])
    return tuple(ValuesQuery(value=variable, where=(*where, *filters)) for filters in product(*choices))
