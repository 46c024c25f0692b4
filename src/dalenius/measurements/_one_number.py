"""The block of a step whose answer is one statistic of one variable."""

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Law
from dalenius.core.release import Block, NoReply, Outcome


def block_of(name: str, statistic: object, variable: str, outcome: Outcome, law: Law) -> Block | None:
    """The answer, over a one-cell space; nothing about the scale."""
    if isinstance(outcome, NoReply):
        return None
    label = type(statistic).__name__.lower()
    space = CellSpace((Axis(variable=variable, labels=(label,)),))
    return Block(name=name, space=space, values=outcome.values, law=law, role="statistic")
