"""A log-linear model of a table."""

from dalenius.inference.loglinear import loglinear
from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion

LOGLINEAR = InferenceQuestion(
    name="loglinear",
    ask=loglinear,
    assumes=(COUNTS,),
    examples=({"model": "A*B + C"}, {"model": "(A+B+C)^2"}),
    served_cells=1_000,
)
