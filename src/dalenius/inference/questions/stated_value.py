"""Whether a released value is a stated one."""

from typing import Annotated

from dalenius.core.estimate import TestResult
from dalenius.inference.observe import Source
from dalenius.inference.question import Hint, InferenceQuestion
from dalenius.inference.questions._parameters import ALL, POPULATION, Alternative, Cell, Kind
from dalenius.inference.stated_value import stated_value

__all__ = ["STATED_VALUE"]


def ask(
    release: Source,
    value: Annotated[float, Hint(help="The hypothesis.")],
    label: Cell = ALL,
    kind: Kind = "population",
    alternative: Alternative = "two-sided",
) -> TestResult:
    """Test that the value of one cell is a stated one, by its intervals."""
    return stated_value(release, value, label, kind=kind, alternative=alternative)


STATED_VALUE = InferenceQuestion(
    name="stated_value",
    ask=ask,
    assumes=(POPULATION,),
    examples=(
        {"value": 50.0, "label": {"A": ("a0",), "B": ("b0",), "C": ("c0",)}, "kind": "parameter"},
        {"value": 60.0, "label": {"A": ("a0",), "B": ("b0",), "C": ("c0",)}, "alternative": "greater"},
    ),
)
