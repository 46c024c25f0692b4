"""Where the value of every cell lies."""

from dalenius.inference.cells import intervals
from dalenius.inference.parameters import POPULATION
from dalenius.inference.question import InferenceQuestion

INTERVAL = InferenceQuestion(
    name="interval",
    ask=intervals,
    assumes=(POPULATION,),
    examples=({}, {"axes": ("A",), "kind": "parameter", "method": "mid-p"}, {"is_simultaneous": True}),
)
