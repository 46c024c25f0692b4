"""Whether an outcome is distributed alike in all groups."""

from dalenius.core.estimate import TestResult
from dalenius.errors import ParameterError
from dalenius.inference.comparison import homogeneity
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import COUNTS, Axes, NestedTest, Replicates, Seed

__all__ = ["HOMOGENEITY"]


def ask(
    release: Source, axes: Axes = (), method: NestedTest = "monte-carlo", replicates: Replicates = 999, seed: Seed = 0
) -> TestResult:
    """Test that an outcome (the second axis) is distributed alike in all groups (the first)."""
    if len(axes) != 2:
        raise ParameterError("Name two axes: the groups, then the outcome.")
    return homogeneity(release, axes[0], axes[1], method=method, replicates=replicates, seed=seed)


HOMOGENEITY = InferenceQuestion(
    name="homogeneity",
    ask=ask,
    assumes=(COUNTS,),
    examples=({"axes": ("A", "B"), "replicates": 99},),
    is_simulated=True,
)
