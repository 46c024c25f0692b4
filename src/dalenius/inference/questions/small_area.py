"""Small cells by a model: each drawn towards its group."""

from typing import Annotated

from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observe import Source
from dalenius.inference.question import Hint, InferenceQuestion
from dalenius.inference.questions._parameters import Axes, Confidence
from dalenius.inference.small_area import small_areas

__all__ = ["SMALL_AREA"]


def ask(
    release: Source,
    axes: Axes = (),
    within: Annotated[
        tuple[str, ...],
        Hint(help="An axis in which the cells of a group agree; repeat for each. The tree of the release if left out."),
    ] = (),
    confidence: Confidence = 0.95,
) -> IntervalTable:
    """Small cells by a model (empirical Bayes): each drawn towards its group."""
    return small_areas(release, *axes, within=within, confidence=confidence)


SMALL_AREA = InferenceQuestion(
    name="small_area",
    ask=ask,
    assumes=(
        "The cells of a group vary about its mean, with a variance in proportion to it that is one for all groups.",
    ),
    examples=({}, {"within": ("A",)}),
)
