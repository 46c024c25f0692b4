"""What several releases of one table say together."""

from collections.abc import Sequence

from dalenius.inference.combine import Combined, combine
from dalenius.inference.observe import Source
from dalenius.inference.parameters import Axes
from dalenius.inference.question import InferenceQuestion

__all__ = ["COMBINE"]


def ask(release: Source, axes: Axes = ()) -> Combined:
    """Mean of several releases of one table, weighted by their precision."""
    return combine(release if isinstance(release, Sequence) else [release], *axes)


COMBINE = InferenceQuestion(
    name="combine",
    ask=ask,
    assumes=("The releases show the same rows, and their noise is independent.",),
    examples=({},),
    served_cells=0,
)
