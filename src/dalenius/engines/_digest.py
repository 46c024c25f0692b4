"""The digest that ties data to a version: leaves of four mebibytes, hashed side by side, under one keyed root.

A leaf is the SHA-256 of its bytes and never leaves the process; the root is a keyed BLAKE2 hash of lengths and leaves.
Threads share the leaves, because hashing lets go of the interpreter.
"""

import hmac
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from dalenius.engines._threads import threads

LEAF = 1 << 22
_MOST_THREADS = 4


class TreeDigest:
    def __init__(self, key: bytes) -> None:
        self._root = hmac.new(key, b"dalenius tree 1\n", digestmod=lambda: blake2b(digest_size=32))

    def update(self, content: Any) -> None:
        whole = memoryview(content).cast("B")
        leaves = (whole[start : start + LEAF] for start in range(0, len(whole), LEAF))
        self._add(len(whole), leaves, lambda leaf: sha256(leaf).digest())

    def add_file(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            self._add(size, range(0, size, LEAF), partial(_read, descriptor))
        finally:
            os.close(descriptor)

    def hexdigest(self) -> str:
        return self._root.hexdigest()

    def _add(self, size: int, leaves: Iterable[Any], hashed: Any) -> None:
        self._root.update(size.to_bytes(8, "little"))
        if size <= LEAF:
            for leaf in leaves:
                self._root.update(hashed(leaf))
            return
        with ThreadPoolExecutor(min(_MOST_THREADS, threads())) as pool:
            for leaf_hash in pool.map(hashed, leaves):
                self._root.update(leaf_hash)


def _read(descriptor: int, start: int) -> bytes:
    """The hash of the leaf of a file that starts there; a file that shrinks meanwhile gives another digest."""
    leaf = sha256()
    stop = start + LEAF
    while start < stop and (part := os.pread(descriptor, stop - start, start)):
        leaf.update(part)
        start += len(part)
    return leaf.digest()
