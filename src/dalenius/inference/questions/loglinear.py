"""A log-linear model of a table."""

from dalenius.inference.loglinear import loglinear
from dalenius.inference.questions._counts import about_counts

LOGLINEAR = about_counts(loglinear, {"model": "A*B + C"}, {"model": "(A+B+C)^2"}, served_cells=1_000)
