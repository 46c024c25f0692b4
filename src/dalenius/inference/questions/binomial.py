"""Whether a proportion in a group of known size is what is claimed."""

from typing import Annotated

from dalenius.core.estimate import TestResult
from dalenius.inference.binomial import binomial_test_of_cell
from dalenius.inference.observe import Source
from dalenius.inference.question import Hint, InferenceQuestion
from dalenius.inference.questions._parameters import Alternative, Cell, Seed

__all__ = ["BINOMIAL"]


def ask(
    release: Source,
    label: Cell,
    size: Annotated[int, Hint(least=1, help="The known number of trials.")],
    probability: Annotated[float, Hint(least=0, most=1, help="The hypothesis.")] = 0.5,
    alternative: Alternative = "two-sided",
    method: Annotated[
        str, Hint(help="likelihood-ratio or tulap.", choices=("likelihood-ratio", "tulap"), key="variant")
    ] = "likelihood-ratio",
    seed: Seed = 0,
) -> TestResult:
    """Exact test of a proportion in a group of known size."""
    return binomial_test_of_cell(
        release, label, size, probability=probability, alternative=alternative, method=method, seed=seed
    )


BINOMIAL = InferenceQuestion(
    name="binomial",
    ask=ask,
    assumes=("The count is binomial, and its size is public.",),
    examples=({"label": {"A": ("a0",), "B": ("b0",), "C": ("c0",)}, "size": 100},),
    served_cells=0,
)
