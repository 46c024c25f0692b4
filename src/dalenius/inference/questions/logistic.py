"""How the odds of an outcome depend on other axes."""

from dalenius.inference.loglinear import logistic
from dalenius.inference.questions._counts import about_counts

LOGISTIC = about_counts(
    logistic, {"outcome": "C", "predictors": "A + B"}, {"outcome": "A", "predictors": "B*C"}, served_cells=1_000
)
