"""How the odds of an outcome depend on other axes."""

from dalenius.inference.loglinear import logistic
from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion

LOGISTIC = InferenceQuestion(
    name="logistic",
    ask=logistic,
    assumes=(COUNTS,),
    examples=({"outcome": "C", "predictors": "A + B"}, {"outcome": "A", "predictors": "B*C"}),
    served_cells=1_000,
)
