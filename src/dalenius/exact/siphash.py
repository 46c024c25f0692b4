"""SipHash-2-4: a keyed 64-bit hash of short messages, for one message or for whole columns of them.

References: Aumasson and Bernstein (2012), SipHash: a fast short-input PRF, INDOCRYPT.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_MASK = 2**64 - 1
# Four words of state and one of scratch for this many messages stay in the cache of a core.
_CHUNK = 1 << 14


def siphash(key: bytes, message: bytes) -> int:
    """The hash of one message under a key of 16 bytes.

    >>> hex(siphash(bytes(range(16)), bytes(range(15))))
    '0xa129ca6149be45e5'
    """
    k = [int.from_bytes(key[8 * i : 8 * i + 8], "little") for i in (0, 1)]
    v = [k[i % 2] ^ start for i, start in enumerate(_START)]
    whole = len(message) // 8 * 8
    last = message[whole:].ljust(7, b"\0") + bytes([len(message) % 256])
    padded = message[:whole] + last
    for place in range(0, len(padded), 8):
        word = int.from_bytes(padded[place : place + 8], "little")
        v[3] ^= word
        v = _round(_round(v))
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        v = _round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _round(v: list[int]) -> list[int]:
    a, b, c, d = v
    a, c = a + b & _MASK, c + d & _MASK
    b, d = _turned(b, 13) ^ a, _turned(d, 16) ^ c
    a = _turned(a, 32)
    a, c = a + d & _MASK, c + b & _MASK
    d, b = _turned(d, 21) ^ a, _turned(b, 17) ^ c
    return [a, b, _turned(c, 32), d]


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _MASK


def siphash_columns(key: bytes, columns: Sequence[Words], length: int | None = None) -> Words:
    """The hashes of many messages, each made of the words of its row.

    `length` is the number of bytes that count where the last word is filled up with zeros.
    """
    rows = len(columns[0])
    bytes_each = 8 * len(columns) if length is None else length
    out = np.empty(rows, dtype=np.uint64)
    for start in range(0, rows, _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part] = _hashed(key, [column[part] for column in columns], bytes_each)
    return out


def _hashed(key: bytes, columns: Sequence[Words], length: int) -> Words:
    end = np.uint64((length % 256) << 56)
    words = list(columns)
    if length % 8:
        words[-1] = words[-1] | end
    else:
        words.append(np.full(len(columns[0]), end))
    k = np.frombuffer(key, dtype="<u8")
    v = [np.full(len(columns[0]), k[i % 2] ^ np.uint64(start)) for i, start in enumerate(_START)]
    scratch = np.empty_like(v[0])
    for word in words:
        v[3] ^= word
        _rounds(v, scratch, 2)
        v[0] ^= word
    v[2] ^= np.uint64(0xFF)
    _rounds(v, scratch, 4)
    result: Words = v[0] ^ v[1] ^ v[2] ^ v[3]
    return result


def _rounds(v: list[Words], scratch: Words, count: int) -> None:
    a, b, c, d = v
    for _ in range(count):
        a += b
        c += d
        _turn(b, 13, scratch)
        _turn(d, 16, scratch)
        b ^= a
        d ^= c
        _turn(a, 32, scratch)
        a += d
        c += b
        _turn(d, 21, scratch)
        _turn(b, 17, scratch)
        d ^= a
        b ^= c
        _turn(c, 32, scratch)


def _turn(words: Words, bits: int, scratch: Words) -> None:
    """Rotate in place."""
    np.right_shift(words, np.uint64(64 - bits), out=scratch)
    np.left_shift(words, np.uint64(bits), out=words)
    np.bitwise_or(words, scratch, out=words)
