"""A log-linear model of a table."""

from typing import Annotated

from dalenius.inference.loglinear import LoglinearFit, loglinear
from dalenius.inference.observe import Source
from dalenius.inference.parameters import COUNTS, Axes
from dalenius.inference.question import Hint, InferenceQuestion

__all__ = ["LOGLINEAR"]


def ask(
    release: Source,
    model: Annotated[str, Hint(help='A formula, such as "A*B + C".', is_positional=True)],
    axes: Axes = (),
) -> LoglinearFit:
    """Fit a log-linear model."""
    return loglinear(release, model, *axes)


LOGLINEAR = InferenceQuestion(
    name="loglinear",
    ask=ask,
    assumes=(COUNTS,),
    examples=({"model": "A*B + C"}, {"model": "(A+B+C)^2"}),
    served_cells=1_000,
)
