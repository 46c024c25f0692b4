"""Whether two axes are independent within each label of a third."""

from dalenius.core.estimate import TestResult
from dalenius.errors import ParameterError
from dalenius.inference.comparison import conditional_independence
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.questions._parameters import COUNTS, Axes, NestedTest, Replicates, Seed

__all__ = ["CONDITIONAL_INDEPENDENCE"]


def ask(
    release: Source, axes: Axes = (), method: NestedTest = "monte-carlo", replicates: Replicates = 999, seed: Seed = 0
) -> TestResult:
    """Test that two axes are independent within each label of a third, named last."""
    if len(axes) != 3:
        raise ParameterError("Name three axes: the two that are tested, then the one that is given.")
    return conditional_independence(release, *axes, method=method, replicates=replicates, seed=seed)


CONDITIONAL_INDEPENDENCE = InferenceQuestion(
    name="conditional_independence",
    ask=ask,
    assumes=(COUNTS,),
    examples=({"axes": ("A", "B", "C"), "replicates": 99},),
    is_simulated=True,
)
