"""Whether an ordered outcome rises or falls over an ordered axis."""

from dalenius.inference.comparison import trend
from dalenius.inference.questions._counts import about_counts

TREND = about_counts(
    trend,
    {"axes": ("A", "B"), "replicates": 99},
    {"axes": ("A", "C"), "alternative": "increasing", "column_scores": (0.0, 2.5), "replicates": 99},
    assumes=("The labels of both axes stand in their order.",),
    is_simulated=True,
)
