"""Whether an ordered outcome rises or falls over an ordered axis."""

from dalenius.inference.comparison import trend
from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion

TREND = InferenceQuestion(
    name="trend",
    ask=trend,
    assumes=(COUNTS, "The labels of both axes stand in their order."),
    examples=(
        {"axes": ("A", "B"), "replicates": 99},
        {"axes": ("A", "C"), "alternative": "increasing", "column_scores": (0.0, 2.5), "replicates": 99},
    ),
    is_simulated=True,
)
