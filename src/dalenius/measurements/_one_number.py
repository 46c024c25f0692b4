"""The block of a step whose answer is one statistic of one variable."""

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Law
from dalenius.core.release import Block, Value


def block_of(name: str, statistic: object, variable: str, outcome: Value, law: Law) -> Block:
    """The answer, over a one-cell space; nothing about the scale."""
    label = type(statistic).__name__.lower()
    space = CellSpace((Axis(variable=variable, labels=(label,)),))
    return Block(name=name, space=space, values=outcome.values, law=law, role="statistic")
