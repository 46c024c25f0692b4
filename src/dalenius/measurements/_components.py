"""What measurements of residual components share: noise that can be drawn, differences in integers, and one block."""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray, Joint
from dalenius.core.query import Filter, TableQuery
from dalenius.core.rationals import plain
from dalenius.core.release import Block, NoReply, Outcome
from dalenius.linear.amounts import Amounts
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian


def check_noise(variances: Iterable[Fraction]) -> None:
    """Noise that cannot be drawn is refused before anything is charged."""
    for variance in set(variances):
        DiscreteGaussian(variance)


def table_query(space: CellSpace, where: tuple[Filter, ...], amounts: Amounts | None) -> TableQuery:
    """Counts of rows, or totals of what they add."""
    return TableQuery(space=space, where=where) if amounts is None else amounts.query(space, where)


def step_of(amounts: Amounts | None) -> dict[str, str]:
    """The part of a law's document that says in which steps totals are measured; counts have none."""
    return {} if amounts is None else {"step": plain(amounts.step)}


def differences(array: IntArray, first: int = 0) -> IntArray:
    """Differences from the first cell along each axis from `first` on: all that centring can see, in integers."""
    out = array
    for axis in range(first, array.ndim):
        out = out - np.take(out, [0], axis=axis)
    return out


def components_block(name: str, outcome: Outcome, law: Joint) -> Block | None:
    """One array: the components one after the other."""
    if isinstance(outcome, NoReply):
        return None
    labels = tuple(str(i) for i in range(len(outcome.values)))
    space = CellSpace((Axis(variable=name, labels=labels),))
    return Block(name=name, space=space, values=outcome.values, law=law, role="residual components")
