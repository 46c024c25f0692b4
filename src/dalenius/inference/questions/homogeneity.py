"""Whether an outcome is distributed alike in all groups."""

from dalenius.inference.comparison import homogeneity
from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion

HOMOGENEITY = InferenceQuestion(
    name="homogeneity",
    ask=homogeneity,
    assumes=(COUNTS,),
    examples=({"axes": ("A", "B"), "replicates": 99},),
    is_simulated=True,
)
