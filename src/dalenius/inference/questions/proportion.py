"""Which share some cells have in others."""

from dalenius.inference.parameters import POPULATION
from dalenius.inference.question import InferenceQuestion
from dalenius.inference.quotient import proportion

PROPORTION = InferenceQuestion(
    name="proportion",
    ask=proportion,
    assumes=(POPULATION,),
    examples=({"part": {"A": ("a0",), "B": ("b0",)}, "whole": {"B": ("b0",)}}, {"part": {"A": ("a0",)}}),
)
