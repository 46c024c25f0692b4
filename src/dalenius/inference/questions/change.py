"""By how many per cent a released number changed."""

from dalenius.core.estimate import Estimate
from dalenius.inference.compared import change, each_pair
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import (
    ALL,
    COMPARED,
    POPULATION,
    Against,
    By,
    Confidence,
    First,
    Kind,
    Samples,
    Second,
)

__all__ = ["CHANGE"]


def ask(
    release: Source,
    first: First = ALL,
    second: Second = ALL,
    against: Against = None,
    by: By = "",
    kind: Kind = "population",
    confidence: Confidence = 0.95,
    samples: Samples = "overlapping",
) -> Estimate | IntervalTable:
    """Change from the first number to the second, in per cent of the first."""
    if by:
        return each_pair(
            change, release, by, first, second, against=against, kind=kind, confidence=confidence, samples=samples
        )
    return change(release, first, second, against=against, kind=kind, confidence=confidence, samples=samples)


CHANGE = InferenceQuestion(
    name="change",
    ask=ask,
    assumes=(POPULATION, COMPARED),
    examples=({"first": {"A": ("a0",)}, "second": {"A": ("a1",)}},),
)
