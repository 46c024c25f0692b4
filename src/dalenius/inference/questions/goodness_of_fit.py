"""Whether counts follow given probabilities."""

from typing import Annotated

from dalenius.core.estimate import TestResult
from dalenius.inference.goodness_of_fit import goodness_of_fit
from dalenius.inference.observe import Source
from dalenius.inference.parameters import COUNTS, Axes, NestedTest, Replicates, Seed
from dalenius.inference.question import Hint, InferenceQuestion


def ask(
    release: Source,
    probabilities: Annotated[
        tuple[float, ...], Hint(help="One for each cell, in order; equal if left out.", options=("--probability", "-p"))
    ] = (),
    axes: Axes = (),
    method: NestedTest = "monte-carlo",
    replicates: Replicates = 999,
    seed: Seed = 0,
) -> TestResult:
    """Test that the counts follow given probabilities."""
    return goodness_of_fit(release, probabilities or None, *axes, method=method, replicates=replicates, seed=seed)


GOODNESS_OF_FIT = InferenceQuestion(
    name="goodness_of_fit",
    ask=ask,
    assumes=(COUNTS,),
    examples=({"axes": ("B",), "probabilities": (1.0, 2.0), "replicates": 99}, {"replicates": 99}),
    verb="gof",
    is_simulated=True,
)
