"""Whose change a sensitivity at the data is about."""

from dalenius.core.neighbours import Neighbours
from dalenius.errors import Unsupported


def check_one_row(neighbours: Neighbours, *, is_complete: bool) -> None:
    """Refuse neighbours for which the change of one value is not the whole change; `is_complete` says no row can drop
    out.
    """
    if neighbours.max_rows > 1:
        raise Unsupported("Local and smooth sensitivities are for one row to a unit.")
    if neighbours.is_replace and not is_complete:
        raise Unsupported(
            "Under replace a row may leave the list (a filter, a missing value or one outside the bounds): declare"
            " what replaces it, or use add-remove."
        )


def check_distance(neighbours: Neighbours, *, is_served: bool = True) -> None:
    """Refuse neighbours for whom changed records are not changed units."""
    if neighbours.max_rows > 1:
        raise Unsupported("How many records can change is counted for one row to a unit.")
    if not is_served:
        raise Unsupported("Distances are served for the lower median; drop is_midpoint.")
