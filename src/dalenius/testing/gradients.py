"""Stated variances of noise against finite differences of the library's own map from measured sums to shown numbers.

Simulation does not see a wrong derivative that widens. So every measured number is moved a little, one after the
other, and what the shown numbers do, squared and times the variance of the noise, is summed. Where the variance is
computed from the laws of the measured blocks, the same is asked with noise in one block alone: that isolates the
derivative by each of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dalenius.core.law import Additive, FloatArray
from dalenius.core.release import Block
from dalenius.testing.simulated import SimulatedRelease, silenced

PART = 0.05
"""How far a measured number is moved, in standard deviations of its noise, but at least by one."""
NEGLIGIBLE = 1e-3
"""A block that brings less of the variance is not looked at by itself."""


def stated_over_differences(run: SimulatedRelease, blocks: Sequence[Block]) -> Iterator[tuple[str, FloatArray]]:
    """For all blocks and for each alone: the stated variance of the first table's cells over that by differences."""
    moved = [_moved(run, blocks, place) for place in range(len(blocks))]
    parts = [0.0 if one is None else one for one in moved]
    whole = np.asarray(sum(parts))
    if not np.any(whole > 0):
        return
    yield (
        "all measured numbers",
        np.divide(_variance(run, blocks), whole, out=np.full_like(whole, np.nan), where=whole > 0),
    )
    alone = [
        _variance(run, [block if k == place else silenced(block) for k, block in enumerate(blocks)])
        for place in range(len(blocks))
    ]
    if np.allclose(np.nansum(alone, axis=0), _variance(run, blocks), rtol=0.02):
        for block, by_difference, stated in zip(blocks, parts, alone, strict=True):
            is_large = by_difference > NEGLIGIBLE * whole
            if np.any(is_large):
                yield block.name, np.where(is_large, stated / np.where(is_large, by_difference, 1.0), 1.0)


def _variance(run: SimulatedRelease, blocks: Sequence[Block]) -> FloatArray:
    return np.asarray(run.plan.assemble(tuple(blocks))[0].variance, dtype=np.float64)


def _values(run: SimulatedRelease, blocks: Sequence[Block]) -> FloatArray:
    return np.asarray(run.plan.assemble(tuple(blocks))[0].values, dtype=np.float64)


def _moved(run: SimulatedRelease, blocks: Sequence[Block], place: int) -> FloatArray | None:
    """The variance that the noise of one block brings to each shown number, by central differences."""
    block = blocks[place]
    if not isinstance(block.law, Additive):
        return None
    deviation = float(np.sqrt(block.law.noise.variance))
    step = max(1, round(PART * deviation))
    total: FloatArray = np.zeros(1)
    for entry in range(block.values.size):
        ends = []
        for side in (step, -step):
            values = block.values.copy()
            values.reshape(-1)[entry] += side
            changed = [*blocks[:place], replace(block, values=values), *blocks[place + 1 :]]
            ends.append(_values(run, changed))
        total = total + ((ends[0] - ends[1]) / (2 * step) * deviation) ** 2
    return total
