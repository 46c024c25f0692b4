"""By how much two groups of cells differ."""

from dalenius.core.estimate import Estimate
from dalenius.inference.contrast import difference
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import ALL, POPULATION, Confidence, First, Kind, Second

__all__ = ["DIFFERENCE"]


def ask(
    release: Source, first: First = ALL, second: Second = ALL, kind: Kind = "population", confidence: Confidence = 0.95
) -> Estimate:
    """Count of the first cells minus count of the second."""
    return difference(release, first, second, kind=kind, confidence=confidence)


DIFFERENCE = InferenceQuestion(
    name="difference", ask=ask, assumes=(POPULATION,), examples=({"first": {"A": ("a0",)}, "second": {"A": ("a1",)}},)
)
