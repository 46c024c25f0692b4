"""Intervals for the parameters of a model, by simulating the model and the noise."""

from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observe import Source
from dalenius.inference.parametric import parametric_bootstrap
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import Confidence, Replicates, Seed

__all__ = ["PARAMETRIC_BOOTSTRAP"]


def ask(release: Source, replicates: Replicates = 1999, seed: Seed = 0, confidence: Confidence = 0.95) -> IntervalTable:
    """Intervals for parameters by simulating a fitted model and the published noise."""
    if not isinstance(release, Release):
        raise Unsupported("The parametric bootstrap simulates one release; ask about one at a time.")
    return parametric_bootstrap(release, confidence=confidence, replicates=replicates, seed=seed)


PARAMETRIC_BOOTSTRAP = InferenceQuestion(
    name="parametric_bootstrap",
    ask=ask,
    assumes=("Counts are Poisson; values behind means, variances and correlations are normal.",),
    examples=({"replicates": 499},),
    is_simulated=True,
    served_cells=1_000,
)
