"""What measurements of residual components share: noise that can be drawn, differences in integers, and one block."""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray, Joint
from dalenius.core.release import Block, NoReply, Outcome
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian


def check_noise(variances: Iterable[Fraction]) -> None:
    """Noise that cannot be drawn is refused before anything is charged."""
    for variance in set(variances):
        DiscreteGaussian(variance)


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
