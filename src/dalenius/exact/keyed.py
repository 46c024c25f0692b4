"""Randomness that is a function of a secret and of what it is used for.

Noise drawn from it is the same whenever the same thing is asked for, so it need not be stored. The key binds the secret
of the population, the fingerprint of the data and how they are read, the list, the law with its parameters, and the
block of cells: the same uniform under two laws, two readings or two versions would solve for the count. A claim that
rests on it is computational: it holds against anybody who cannot tell the stream (SHAKE-256 of an HMAC) from random
bits.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalenius.core.law import IntArray, IntegerLaw
from dalenius.errors import ParameterError
from dalenius.exact.sampling import sample

BLOCK = 4096
_DOMAIN = b"dalenius keyed noise 1\x00"


class KeyedRandomness:
    is_tainted = False

    def __init__(self, secret: bytes, description: Mapping[str, Any]) -> None:
        if len(secret) < 16:
            raise ParameterError("A secret for keyed noise must have at least 16 bytes.")
        text = json.dumps(description, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        self._key = hmac.new(secret, _DOMAIN + text.encode(), hashlib.sha256).digest()
        self._used = 0

    def bytes(self, count: int) -> bytes:
        self._used += 1
        return hashlib.shake_256(self._key + self._used.to_bytes(8, "big")).digest(count)


def keyed_noise(law: IntegerLaw, cells: IntArray, secret: bytes, description: Mapping[str, Any]) -> IntArray:
    """The noise of some cells of a list, by position; cells are drawn in blocks, each block under its own key."""
    bound = dict(description) | {"law": law.name, "parameters": {k: str(v) for k, v in sorted(law.parameters.items())}}
    positions = np.asarray(cells, dtype=np.int64)
    out = np.empty(len(positions), dtype=np.int64)
    blocks = positions // BLOCK
    for block in np.unique(blocks):
        rng = KeyedRandomness(secret, bound | {"block": int(block)})
        drawn = sample(law, BLOCK, rng)
        here = blocks == block
        out[here] = drawn[positions[here] % BLOCK]
    return out
