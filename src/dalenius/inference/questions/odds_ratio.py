"""How the odds of two labels differ between two others."""

from dalenius.core.estimate import Estimate
from dalenius.inference.association import odds_ratio
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import COUNTS, Axes, Confidence, pair

__all__ = ["ODDS_RATIO"]


def ask(release: Source, axes: Axes = (), confidence: Confidence = 0.95) -> Estimate:
    """Odds ratio of the first two rows and columns, with a profile-likelihood interval."""
    return odds_ratio(release, *pair(axes), confidence=confidence)


ODDS_RATIO = InferenceQuestion(
    name="odds_ratio", ask=ask, assumes=(COUNTS,), examples=({"axes": ("A", "C")},), served_cells=400
)
