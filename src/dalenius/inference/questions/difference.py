"""By how much two released numbers differ."""

from dalenius.core.estimate import Estimate
from dalenius.inference.compared import difference, each_pair
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

__all__ = ["DIFFERENCE"]


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
    """First number minus the second: counts, totals, means, shares or quantiles."""
    if by:
        return each_pair(
            difference, release, by, first, second, against=against, kind=kind, confidence=confidence, samples=samples
        )
    return difference(release, first, second, against=against, kind=kind, confidence=confidence, samples=samples)


DIFFERENCE = InferenceQuestion(
    name="difference",
    ask=ask,
    assumes=(POPULATION, COMPARED),
    examples=({"first": {"A": ("a0",)}, "second": {"A": ("a1",)}},),
)
