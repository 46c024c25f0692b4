"""How the odds of two labels differ between two others."""

from dalenius.inference.association import odds_ratio
from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion

ODDS_RATIO = InferenceQuestion(
    name="odds_ratio", ask=odds_ratio, assumes=(COUNTS,), examples=({"axes": ("A", "C")},), served_cells=400
)
