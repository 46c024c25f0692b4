"""Where the value of every cell lies."""

from typing import Annotated

from dalenius.inference.cells import intervals
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observe import Source
from dalenius.inference.question import Hint, InferenceQuestion
from dalenius.inference.questions._parameters import POPULATION, Axes, Confidence, Kind

__all__ = ["INTERVAL"]


def ask(
    release: Source,
    axes: Axes = (),
    kind: Kind = "population",
    method: Annotated[
        str,
        Hint(
            help="exact, guarded or mid-p, or deconvolution of bootstrap replicates; for the parameter only.",
            choices=("exact", "guarded", "mid-p", "deconvolution"),
            key="variant",
        ),
    ] = "exact",
    simultaneous: Annotated[bool, Hint(help="Hold for all cells together.")] = False,
    confidence: Confidence = 0.95,
) -> IntervalTable:
    """Intervals for every cell of a table or of a margin."""
    return intervals(release, *axes, kind=kind, confidence=confidence, method=method, is_simultaneous=simultaneous)


INTERVAL = InferenceQuestion(
    name="interval",
    ask=ask,
    assumes=(POPULATION,),
    examples=({}, {"axes": ("A",), "kind": "parameter", "method": "mid-p"}, {"simultaneous": True}),
)
