"""Whether an ordered outcome rises or falls over an ordered axis."""

from typing import Annotated

from dalenius.core.estimate import TestResult
from dalenius.errors import ParameterError
from dalenius.inference.comparison import trend
from dalenius.inference.observe import Source
from dalenius.inference.question import Hint, InferenceQuestion
from dalenius.inference.questions._parameters import COUNTS, Axes, Replicates, Seed

__all__ = ["TREND"]

Direction = Annotated[
    str,
    Hint(
        help="two-sided, increasing or decreasing.",
        choices=("two-sided", "increasing", "decreasing"),
        options=("--alternative",),
    ),
]
_SCORE = "A score for each label of the {} axis; 0, 1, 2, … if left out."
RowScores = Annotated[tuple[float, ...], Hint(help=_SCORE.format("first"), options=("--row-score",))]
ColumnScores = Annotated[tuple[float, ...], Hint(help=_SCORE.format("second"), options=("--column-score",))]


def ask(
    release: Source,
    axes: Axes = (),
    alternative: Direction = "two-sided",
    row_scores: RowScores = (),
    column_scores: ColumnScores = (),
    replicates: Replicates = 999,
    seed: Seed = 0,
) -> TestResult:
    """Test that an ordered outcome (the second axis) has no linear trend over the first."""
    if len(axes) != 2:
        raise ParameterError("Name two ordered axes: the rows, then the outcome.")
    return trend(
        release,
        axes[0],
        axes[1],
        row_scores=row_scores or None,
        column_scores=column_scores or None,
        alternative=alternative,
        replicates=replicates,
        seed=seed,
    )


TREND = InferenceQuestion(
    name="trend",
    ask=ask,
    assumes=(COUNTS, "The labels of both axes stand in their order."),
    examples=(
        {"axes": ("A", "B"), "replicates": 99},
        {"axes": ("A", "C"), "alternative": "increasing", "column_scores": (0.0, 2.5), "replicates": 99},
    ),
    is_simulated=True,
)
