"""How many are in some cells together."""

from dalenius.inference.contrast import total
from dalenius.inference.parameters import POPULATION
from dalenius.inference.question import InferenceQuestion

TOTAL = InferenceQuestion(name="total", ask=total, assumes=(POPULATION,), examples=({"where": {"A": ("a0",)}},))
