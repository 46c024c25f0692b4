"""SipHash-2-4 against the authors' vectors, and columns against single messages."""

import numpy as np
import pytest

from dalenius.exact.siphash import siphash, siphash_columns

KEY = bytes(range(16))
# The first and some later lines of vectors_sip64 in the authors' reference implementation.
VECTORS = {0: "310e0edd47db6f72", 1: "fd67dc93c539f874", 7: "37d1018bf50002ab", 8: "6224939a79f5f593", 63: "724506eb4c328a95"}  # fmt: skip


@pytest.mark.parametrize("length", VECTORS)
def test_the_authors_vectors(length: int) -> None:
    assert siphash(KEY, bytes(range(length))).to_bytes(8, "little").hex() == VECTORS[length]


@pytest.mark.parametrize("length", [8, 9, 15, 16, 23, 24])
def test_columns_equal_single_messages(length: int) -> None:
    rng = np.random.default_rng(3)
    messages = [rng.bytes(length) for _ in range(20_000)]
    padded = np.frombuffer(b"".join(m.ljust(24, b"\0") for m in messages), dtype="<u8").reshape(-1, 3)
    words = [np.ascontiguousarray(padded[:, i]) for i in range(-(-length // 8))]
    hashes = siphash_columns(KEY, words, length)
    some = [0, 1, 16_383, 16_384, 19_999]
    assert [int(hashes[i]) for i in some] == [siphash(KEY, messages[i]) for i in some]
