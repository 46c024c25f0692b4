"""Draws of small whole numbers that one random byte nearly always decides.

The generator of the system is the slowest part of drawing many small numbers. A uniform number is read eight bits at a
time: the first eight decide wherever no threshold of the law lies inside their interval (49 times in 50 for
Poisson(1)), then sixteen by the guide of the table, then as many as are needed. What is decided by fewer bits is what
more bits would have decided: the law is exactly the stated one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import IntArray, IntegerLaw
from dalenius.core.randomness import RandomSource, words
from dalenius.exact.sampling import TableSampler

_UNDECIDED = 255


class ByteSampler:
    """One random byte per draw of a law from zero on, more for the undecided; answers are bytes where they fit."""

    def __init__(self, law: IntegerLaw) -> None:
        self._table = TableSampler(law)
        guide = self._table.guide.reshape(256, 256)
        is_decided = (guide == guide[:, :1]).all(axis=1) & (guide[:, 0] >= 0) & (guide[:, 0] < _UNDECIDED)
        self._first = np.where(is_decided, guide[:, 0], _UNDECIDED).astype(np.uint8).tobytes()

    def draw(self, size: int, rng: RandomSource) -> NDArray[np.integer[Any]]:
        first = rng.bytes(size)
        # A copy that may be written to, looked up byte by byte.
        drawn = np.frombuffer(bytearray(first.translate(self._first)), dtype=np.uint8)
        where = np.flatnonzero(drawn == _UNDECIDED)
        if len(where):
            begun = np.frombuffer(first, dtype=np.uint8)[where].astype(np.uint16)
            decided = self._table.extend(begun << np.uint16(8) | words(rng, len(where), np.uint8), rng)
            if int(decided.max()) >= _UNDECIDED:
                wide: IntArray = drawn.astype(np.int64)
                wide[where] = decided
                return wide
            drawn[where] = decided
        return drawn
