"""Whether a proportion in a group of known size is what is claimed."""

from dataclasses import replace
from typing import Annotated

from dalenius.core.estimate import TestResult
from dalenius.core.law import Additive
from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.inference.binomial import binomial_test
from dalenius.inference.contrast import noise_of, selection
from dalenius.inference.drawn import condition
from dalenius.inference.observation import Observed
from dalenius.inference.observe import Source, observe
from dalenius.inference.parameters import Alternative, Cell, Seed
from dalenius.inference.question import Hint, InferenceQuestion


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
    observation = observe(release)
    weights = selection(observation, label)
    noise = noise_of(observation, weights) if isinstance(observation, Observed) else None
    if noise is None:
        raise Unsupported("The exact test needs an additive law for each cell.")
    is_single = int(weights.sum()) == 1
    if method == "tulap" and (not is_single or not isinstance(release, Release) or not _is_laplace(release)):
        raise Unsupported("The randomised test is for a single cell with discrete Laplace noise; use likelihood-ratio.")
    value = int(weights @ observation.released.reshape(-1))
    tested = binomial_test(
        value, size, noise, probability=probability, alternative=alternative, method=method, seed=seed
    )
    return replace(tested, assumptions=(*tested.assumptions, condition(observation)))


def _is_laplace(release: Release) -> bool:
    return all(isinstance(b.law, Additive) and b.law.noise.name == "discrete_laplace" for b in release.blocks)


BINOMIAL = InferenceQuestion(
    name="binomial",
    ask=ask,
    assumes=("The count is binomial, and its size is public.",),
    examples=({"label": {"A": ("a0",), "B": ("b0",), "C": ("c0",)}, "size": 100},),
    served_cells=0,
)
