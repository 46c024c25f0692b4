"""How strongly two axes are related."""

from dalenius.inference.association import cramers_v
from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion

CRAMERS_V = InferenceQuestion(
    name="cramers_v",
    ask=cramers_v,
    assumes=(COUNTS,),
    examples=({"axes": ("A", "C"), "replicates": 99},),
    is_simulated=True,
)
