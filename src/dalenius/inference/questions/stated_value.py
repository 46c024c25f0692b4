"""A test that one released value is a stated one, by turning its intervals around.

The p-value is one less the largest confidence at which the interval of the cell leaves the stated value out. So it is
as valid as the intervals are, whatever is released.
"""

from typing import Annotated

from dalenius.core.estimate import TestResult
from dalenius.errors import ParameterError
from dalenius.inference.cells import intervals
from dalenius.inference.interval import check_among, p_values
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observe import Source
from dalenius.inference.parameters import ALL, POPULATION, Alternative, Cell, Cells, KindName
from dalenius.inference.question import Hint, InferenceQuestion

_SIDES = ("two-sided", "greater", "less")


def ask(
    release: Source,
    value: Annotated[float, Hint(help="The hypothesis.")],
    label: Cell = ALL,
    kind: KindName = "population",
    alternative: Alternative = "two-sided",
) -> TestResult:
    """Test that the value of one cell is a stated one, by its intervals."""
    check_among("alternative", alternative, _SIDES)
    table = intervals(release, kind=kind)
    place = _place(table, label)

    def is_left_out(_: int, p: float) -> bool:
        level = p if alternative == "two-sided" else 2 * p
        if level >= 1:
            return (alternative == "greater") == (value < float(table.values[place]))
        interval = intervals(release, kind=kind, confidence=1 - level).at(place)
        return (alternative != "less" and value < interval.lower) or (
            alternative != "greater" and value > interval.upper
        )

    labels = ", ".join(f"{axis}={name}" for axis, (name,) in label.items())
    return TestResult(
        name=f"the value{' of ' + labels if labels else ''} is {value:g}",
        statistic=float(table.values[place]) - value,
        p_value=float(p_values(is_left_out)[0]),
        method=f"{alternative} test by the intervals: {table.method}",
        assumptions=(f"About the {table.kind}.", *table.notes),
        details={"released": float(table.values[place]), "stated": value},
    )


def _place(table: IntervalTable, cell: Cells) -> int:
    names = {axis.name for axis in table.axes}
    if set(cell) != names or any(len(labels) != 1 for labels in cell.values()):
        raise ParameterError(
            f"Name one label for each axis of the table ({', '.join(sorted(names)) or 'it has none'}); received"
            f" {', '.join(sorted(cell)) or 'none'}."
        )
    return table.place(*(cell[axis.name][0] for axis in table.axes))


STATED_VALUE = InferenceQuestion(
    name="stated_value",
    ask=ask,
    assumes=(POPULATION,),
    examples=(
        {"value": 50.0, "label": {"A": ("a0",), "B": ("b0",), "C": ("c0",)}, "kind": "parameter"},
        {"value": 60.0, "label": {"A": ("a0",), "B": ("b0",), "C": ("c0",)}, "alternative": "greater"},
    ),
)
