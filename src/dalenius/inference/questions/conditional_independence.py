"""Whether two axes are independent within each label of a third."""

from dalenius.inference.comparison import conditional_independence
from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion

CONDITIONAL_INDEPENDENCE = InferenceQuestion(
    name="conditional_independence",
    ask=conditional_independence,
    assumes=(COUNTS,),
    examples=({"axes": ("A", "B", "C"), "replicates": 99},),
    is_simulated=True,
)
