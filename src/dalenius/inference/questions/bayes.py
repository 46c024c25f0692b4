"""What a release says of the true counts, as a posterior."""

from typing import Annotated

from dalenius.inference.bayes import MODELS, Posterior, posterior
from dalenius.inference.observe import Source
from dalenius.inference.question import Hint, InferenceQuestion
from dalenius.inference.questions._parameters import Axes, Seed

__all__ = ["BAYES"]


def ask(
    release: Source,
    axes: Axes = (),
    model: Annotated[str, Hint(help="saturated or independence.", choices=MODELS)] = "saturated",
    draws: Annotated[int, Hint(help="Draws of each of four chains.", least=100, most=50_000)] = 2000,
    seed: Seed = 0,
) -> Posterior:
    """Draw the true counts given the release: posterior means and intervals of every cell."""
    return posterior(release, *axes, model=model, draws=draws, seed=seed)


BAYES = InferenceQuestion(
    name="bayes",
    ask=ask,
    assumes=("Poisson counts with Jeffreys priors on their means, or on the factors of independence.",),
    examples=({"draws": 400}, {"axes": ("A", "B", "C"), "model": "independence", "draws": 400}),
    served_cells=400,
)
