"""A test that one released value is a stated one, by turning its intervals around.

The p-value is one less the largest confidence at which the interval of the cell leaves the stated value out. So it is
as valid as the intervals are, whatever is released: counts, totals, means, proportions, with privacy noise only or with
sampling as well. For replicates of a bootstrap it stands in the place of the z-test of Brawner & Honaker (2018, section
7), whose standard error is too small.
"""

from collections.abc import Mapping

from dalenius.core.estimate import TestResult
from dalenius.core.search import narrow
from dalenius.errors import ParameterError
from dalenius.inference.cells import intervals
from dalenius.inference.interval import check_among
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observe import Source

_LEAST, _HALVINGS = 1e-9, 14
_SIDES = ("two-sided", "greater", "less")


def stated_value(
    source: Source,
    value: float,
    cell: Mapping[str, tuple[str, ...]],
    *,
    kind: str = "population",
    alternative: str = "two-sided",
) -> TestResult:
    """The test for the cell with these labels; a table of one cell needs none."""
    check_among("alternative", alternative, _SIDES)
    table = intervals(source, kind=kind)
    place = _place(table, cell)

    def is_left_out(p: float) -> bool:
        level = p if alternative == "two-sided" else 2 * p
        if level >= 1:
            return (alternative == "greater") == (value < float(table.values[place]))
        interval = intervals(source, kind=kind, confidence=1 - level).at(place)
        return (alternative != "less" and value < interval.lower) or (
            alternative != "greater" and value > interval.upper
        )

    most = _LEAST
    if not is_left_out(_LEAST):
        most = narrow(is_left_out, 1.0, _LEAST, halvings=_HALVINGS, between=lambda a, b: (a * b) ** 0.5).inside
    labels = ", ".join(f"{axis}={name}" for axis, (name,) in cell.items())
    return TestResult(
        name=f"the value{' of ' + labels if labels else ''} is {value:g}",
        statistic=float(table.values[place]) - value,
        p_value=min(most, 1.0),
        method=f"{alternative} test by the intervals: {table.method}",
        assumptions=(f"About the {table.kind}.", *table.notes),
        details={"released": float(table.values[place]), "stated": value},
    )


def _place(table: IntervalTable, cell: Mapping[str, tuple[str, ...]]) -> int:
    """Where the cell stands; one label for each axis."""
    names = {axis.name for axis in table.axes}
    if set(cell) != names or any(len(labels) != 1 for labels in cell.values()):
        raise ParameterError(
            f"Name one label for each axis of the table ({', '.join(sorted(names)) or 'it has none'}); received"
            f" {', '.join(sorted(cell)) or 'none'}."
        )
    return table.place(*(cell[axis.name][0] for axis in table.axes))
