"""How many times one group of cells is another."""

from dalenius.core.estimate import Estimate
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import ALL, POPULATION, Confidence, First, Kind, Second
from dalenius.inference.quotient import ratio

__all__ = ["RATIO"]


def ask(
    release: Source, first: First = ALL, second: Second = ALL, kind: Kind = "population", confidence: Confidence = 0.95
) -> Estimate:
    """Count of the first cells over count of the second."""
    return ratio(release, first, second, kind=kind, confidence=confidence)


RATIO = InferenceQuestion(
    name="ratio", ask=ask, assumes=(POPULATION,), examples=({"first": {"A": ("a0",)}, "second": {"A": ("a1",)}},)
)
