"""How the odds of an outcome depend on other axes."""

from typing import Annotated

from dalenius.inference.loglinear import LoglinearFit, logistic
from dalenius.inference.observe import Source
from dalenius.inference.question import Hint, InferenceQuestion
from dalenius.inference.questions._parameters import COUNTS, Axes

__all__ = ["LOGISTIC"]


def ask(
    release: Source,
    outcome: Annotated[str, Hint(help="The axis whose odds are explained.", is_positional=True)],
    predictors: Annotated[str, Hint(help='A formula of the other axes, such as "A + B".', is_positional=True)],
    axes: Axes = (),
) -> LoglinearFit:
    """Fit a logistic regression of a categorical outcome on other axes."""
    return logistic(release, outcome, predictors, *axes)


LOGISTIC = InferenceQuestion(
    name="logistic",
    ask=ask,
    assumes=(COUNTS,),
    examples=({"outcome": "C", "predictors": "A + B"}, {"outcome": "A", "predictors": "B*C"}),
    served_cells=1_000,
)
