"""Which of two nested log-linear models describes a table."""

from dalenius.inference.comparison import compare
from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion

COMPARE = InferenceQuestion(
    name="compare",
    ask=compare,
    assumes=(COUNTS,),
    examples=(
        {"null": "A*B + C", "replicates": 99},
        {"null": "A + B", "alternative": "A*B", "axes": ("A", "B"), "replicates": 99},
    ),
    is_simulated=True,
    served_cells=500,
)
