"""What a release says of the true counts, as a posterior."""

from dalenius.inference.bayes import posterior
from dalenius.inference.question import InferenceQuestion

BAYES = InferenceQuestion(
    name="bayes",
    ask=posterior,
    assumes=("Poisson counts with Jeffreys priors on their means, or on the factors of independence.",),
    examples=({"draws": 400}, {"axes": ("A", "B", "C"), "model": "independence", "draws": 400}),
    served_cells=400,
)
