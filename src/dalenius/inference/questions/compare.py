"""Which of two nested log-linear models describes a table."""

from typing import Annotated

from dalenius.core.estimate import TestResult
from dalenius.inference.comparison import compare
from dalenius.inference.observe import Source
from dalenius.inference.question import Hint, InferenceQuestion
from dalenius.inference.questions._parameters import COUNTS, Axes, NestedTest, Replicates, Seed

__all__ = ["COMPARE"]


def ask(
    release: Source,
    null: Annotated[str, Hint(help='The smaller model, such as "A*C + B*C".', is_positional=True)],
    alternative: Annotated[
        str | None, Hint(help="The larger model; the saturated one if left out.", is_positional=True)
    ] = None,
    axes: Axes = (),
    method: NestedTest = "monte-carlo",
    replicates: Replicates = 999,
    seed: Seed = 0,
) -> TestResult:
    """Compare two nested log-linear models."""
    return compare(release, null, alternative, *axes, method=method, replicates=replicates, seed=seed)


COMPARE = InferenceQuestion(
    name="compare",
    ask=ask,
    assumes=(COUNTS,),
    examples=(
        {"null": "A*B + C", "replicates": 99},
        {"null": "A + B", "alternative": "A*B", "axes": ("A", "B"), "replicates": 99},
    ),
    is_simulated=True,
    served_cells=500,
)
