"""Which share some cells have in others."""

from dalenius.core.estimate import Estimate
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import ALL, POPULATION, Confidence, First, Kind, Second
from dalenius.inference.quotient import proportion

__all__ = ["PROPORTION"]


def ask(
    release: Source, first: First = ALL, second: Second = ALL, kind: Kind = "population", confidence: Confidence = 0.95
) -> Estimate:
    """Share of the first cells in the second, or in the whole table."""
    return proportion(release, first, second or None, kind=kind, confidence=confidence)


PROPORTION = InferenceQuestion(
    name="proportion",
    ask=ask,
    assumes=(POPULATION,),
    examples=({"first": {"A": ("a0",), "B": ("b0",)}, "second": {"B": ("b0",)}}, {"first": {"A": ("a0",)}}),
)
