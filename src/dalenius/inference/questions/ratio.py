"""How many times one released number is another."""

from dalenius.core.estimate import Estimate
from dalenius.inference.compared import each_pair, ratio
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

__all__ = ["RATIO"]


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
    """First number over the second: counts, totals, means, shares or quantiles."""
    if by:
        return each_pair(
            ratio, release, by, first, second, against=against, kind=kind, confidence=confidence, samples=samples
        )
    return ratio(release, first, second, against=against, kind=kind, confidence=confidence, samples=samples)


RATIO = InferenceQuestion(
    name="ratio",
    ask=ask,
    assumes=(POPULATION, COMPARED),
    examples=({"first": {"A": ("a0",)}, "second": {"A": ("a1",)}},),
)
