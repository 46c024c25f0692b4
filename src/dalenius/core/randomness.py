"""The only place that touches a source of randomness for released values.

`SystemRandomness` is the operating system's generator. `RecordedRandomness` replays a stream that a test chose; it
is constructed in-process only, no flag or variable reaches it, and it taints every release it touches.
"""

import hashlib
import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import ParameterError


class RandomSource(Protocol):
    @property
    def is_tainted(self) -> bool:
        """Whether the bits are known to somebody, so that a release made with them is not private."""

    def bytes(self, count: int) -> bytes:
        """So many independent uniform bytes."""


class SystemRandomness:
    is_tainted = False

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)


class RecordedRandomness:
    """A reproducible stream for tests: SHAKE-256 of a seed, block by block."""

    is_tainted = True

    def __init__(self, seed: int | str) -> None:
        self._seed = str(seed).encode()
        self._block = 0

    def bytes(self, count: int) -> bytes:
        self._block += 1
        return hashlib.shake_256(self._seed + b"/" + str(self._block).encode()).digest(count)


def words(rng: RandomSource, count: int, dtype: type[np.unsignedinteger] = np.uint64) -> NDArray[np.uint64]:
    return np.frombuffer(rng.bytes(count * np.dtype(dtype).itemsize), dtype=dtype)


def below(rng: RandomSource, bound: int) -> int:
    """A uniform integer in [0, bound), exactly: rejection on whole bits."""
    if bound < 1:
        raise ParameterError("a bound must be at least 1")
    bits = (bound - 1).bit_length()
    size = (bits + 7) // 8
    while size:
        draw = int.from_bytes(rng.bytes(size), "little") & ((1 << bits) - 1)
        if draw < bound:
            return draw
    return 0
