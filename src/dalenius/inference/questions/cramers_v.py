"""How strongly two axes are related."""

from dalenius.core.estimate import Estimate
from dalenius.inference.association import cramers_v
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import COUNTS, Axes, Confidence, Replicates, Seed, pair

__all__ = ["CRAMERS_V"]


def ask(
    release: Source, axes: Axes = (), confidence: Confidence = 0.95, replicates: Replicates = 999, seed: Seed = 0
) -> Estimate:
    """Cramer's V of two axes, corrected for noise and for sampling."""
    return cramers_v(release, *pair(axes), confidence=confidence, replicates=replicates, seed=seed)


CRAMERS_V = InferenceQuestion(
    name="cramers_v", ask=ask, assumes=(COUNTS,), examples=({"axes": ("A", "C"), "replicates": 99},), is_simulated=True
)
