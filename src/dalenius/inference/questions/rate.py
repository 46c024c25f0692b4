"""How many there are for each unit of a known exposure."""

from typing import Annotated

from dalenius.core.estimate import Estimate
from dalenius.inference.contrast import rate
from dalenius.inference.observe import Source
from dalenius.inference.parameters import ALL, POPULATION, Confidence, First, KindName
from dalenius.inference.question import Hint, InferenceQuestion


def ask(
    release: Source,
    exposure: Annotated[float, Hint(help="Known exposure, such as person-years.", is_positional=True)],
    first: First = ALL,
    kind: KindName = "population",
    confidence: Confidence = 0.95,
) -> Estimate:
    """Count of some cells for each unit of a known exposure."""
    return rate(release, first, exposure, kind=kind, confidence=confidence)


RATE = InferenceQuestion(
    name="rate",
    ask=ask,
    assumes=(POPULATION, "The exposure is known and was not taken from the data."),
    examples=({"exposure": 1000.0, "first": {"A": ("a0",)}}, {"exposure": 12.5}),
)
