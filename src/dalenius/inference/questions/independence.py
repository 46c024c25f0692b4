"""Whether the axes of a table are independent."""

from dalenius.inference.independence import independence
from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion

INDEPENDENCE = InferenceQuestion(
    name="independence",
    ask=independence,
    assumes=(COUNTS,),
    examples=({"axes": ("A", "B"), "replicates": 99}, {"method": "chi-square", "replicates": 99}),
    is_simulated=True,
)
