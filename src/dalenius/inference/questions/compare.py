"""Which of two nested log-linear models describes a table."""

from dalenius.inference.comparison import compare
from dalenius.inference.questions._counts import about_counts

COMPARE = about_counts(
    compare,
    {"null": "A*B + C", "replicates": 99},
    {"null": "A + B", "alternative": "A*B", "axes": ("A", "B"), "replicates": 99},
    is_simulated=True,
    served_cells=500,
)
