"""How far combined counts are off where their noise has few values: docs/explanation/margins.md."""

from collections.abc import Sequence

import numpy as np

from dalenius.core.law import Additive, FloatArray, IntArray
from dalenius.core.release import Block, Table

_WIDE, _FEW = 64.0, 9.0
"""Variances in squared steps from which on the normal law misses less than 3 % and 3.7 % in a tail of 2.5 %."""
_SMOOTH = 0.15
"""Variance of what other draws add, in squares of the distance between values, from which on a twentieth of it is seen:
exp(-2 pi^2 / 6.7), by Poisson summation. Where all noise is below one step the others have few values, too.
"""
_DIGITS = 4


def half_widths(
    blocks: Sequence[Block], table: Table, confidence: float, usual: FloatArray, *, is_sum: bool
) -> FloatArray:
    """Half-widths of a table that combines some blocks; `usual` ones where noise has many values.

    `is_sum` says that nothing beside the blocks is known: cells of one block are then summed and not corrected.
    """
    law = _drawn(blocks, table)
    if law is None:
        return usual
    step, ratios = float(law.step), np.round(table.variance / law.variance, _DIGITS)
    half = np.array(np.broadcast_to(usual, ratios.shape), dtype=np.float64)
    squared = ratios * law.noise.variance
    if len(blocks) > 1 or not is_sum:
        share = np.minimum(ratios, 1.0)
        is_rough = (squared < _FEW) & (squared * (1 - share) < _SMOOTH * share**2)
        return np.where((squared > 0) & ((squared < 1) | is_rough), half + share * step / 2, half)
    for ratio in np.unique(ratios[(squared > 0) & (squared < _WIDE)]):
        half[ratios == ratio] = step * _reached(*_convolved(law, max(round(float(ratio)), 1)), confidence)
    return half


def _drawn(blocks: Sequence[Block], table: Table) -> Additive | None:
    """The noise of the one block, or of the one over the cells that the table shows; None where there is neither."""
    axes = {axis.name for axis in table.space.axes}
    laws = [b.law for b in blocks if len(blocks) == 1 or {axis.name for axis in b.space.axes} == axes]
    return laws[0] if laws and isinstance(laws[0], Additive) and laws[0].variance > 0 else None


def _convolved(law: Additive, terms: int) -> tuple[IntArray, FloatArray]:
    """Whole numbers and their probabilities, for a sum of so many draws."""
    _, mass = law.central()
    whole, left = np.ones(1), terms
    while left:
        if left % 2:
            whole = np.convolve(whole, mass)
        mass, left = (np.convolve(mass, mass), left // 2) if left > 1 else (mass, 0)
    return np.arange(len(whole)) - len(whole) // 2, whole / whole.sum()


def _reached(points: IntArray, mass: FloatArray, confidence: float) -> int:
    """The smallest whole number beyond which no more than the rest of the probability lies."""
    size = np.abs(points)
    beyond = np.array([mass[size > k].sum() for k in range(int(size.max()) + 1)])
    return int(np.argmax(beyond <= (1 - confidence) * (1 + 1e-9)))
