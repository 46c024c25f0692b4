"""What several releases of one table say together."""

from dalenius.inference.combine import combine
from dalenius.inference.question import InferenceQuestion

COMBINE = InferenceQuestion(
    name="combine",
    ask=combine,
    assumes=("The releases show the same rows, and their noise is independent.",),
    examples=({},),
    served_cells=0,
)
