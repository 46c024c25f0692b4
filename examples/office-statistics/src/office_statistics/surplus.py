"""By how much the first cells exceed the second."""

from dalenius.core.estimate import Estimate
from dalenius.inference.contrast import difference
from dalenius.inference.observe import Source
from dalenius.inference.parameters import ALL, POPULATION, Confidence, First, Second
from dalenius.inference.question import InferenceQuestion

__all__ = ["SURPLUS"]


def ask(release: Source, first: First = ALL, second: Second = ALL, confidence: Confidence = 0.95) -> Estimate:
    """Count of the first cells less count of the second, for the population."""
    return difference(release, first, second, kind="population", confidence=confidence)


SURPLUS = InferenceQuestion(
    name="surplus", ask=ask, assumes=(POPULATION,), examples=({"first": {"A": ("a0",)}, "second": {"A": ("a1",)}},)
)
