"""How many are in some cells together."""

from dalenius.core.estimate import Estimate
from dalenius.inference.contrast import total
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import ALL, POPULATION, Confidence, First, Kind

__all__ = ["TOTAL"]


def ask(release: Source, first: First = ALL, kind: Kind = "population", confidence: Confidence = 0.95) -> Estimate:
    """Sum of the first cells."""
    return total(release, first, kind=kind, confidence=confidence)


TOTAL = InferenceQuestion(name="total", ask=ask, assumes=(POPULATION,), examples=({"first": {"A": ("a0",)}},))
