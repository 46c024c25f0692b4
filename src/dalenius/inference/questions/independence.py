"""Whether the axes of a table are independent."""

from dalenius.core.estimate import TestResult
from dalenius.inference.independence import independence
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import COUNTS, Axes, Replicates, Seed, Test

__all__ = ["INDEPENDENCE"]


def ask(
    release: Source, axes: Axes = (), method: Test = "monte-carlo", replicates: Replicates = 999, seed: Seed = 0
) -> TestResult:
    """Test that the axes of a table are independent."""
    return independence(release, *axes, method=method, replicates=replicates, seed=seed)


INDEPENDENCE = InferenceQuestion(
    name="independence",
    ask=ask,
    assumes=(COUNTS,),
    examples=({"axes": ("A", "B"), "replicates": 99}, {"method": "chi-square", "replicates": 99}),
    is_simulated=True,
)
