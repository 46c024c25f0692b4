"""Exact convolution of long lists of integers, rounded up to a scale: the arithmetic behind sums of independent losses.

Short lists are one multiplication of long numbers. Long ones are transformed in floats, twelve bits at a time, and
every sum is the nearest whole number: that is the exact one, because the error of a float transform is bounded.

Proof. A digit is below 2^12 and a list has n <= 2^16 entries, so that its 2-norm is below 2^20. Brent, Percival &
Zimmermann (2007), Theorem 5.1: transforms of length 2^k with roots right to a unit in the last place err in a
convolution of x and y by less than |x| |y| 13 k u, u = 2^-53. With k <= 17 and at most 10 pairs of digits in one sum,
the error is below 2^40 * 10 * 221 * 2^-53 < 0.28, less than one half. A real transform is a part of a complex one.
"""

from collections.abc import Sequence

import numpy as np

from dalenius.core.law import IntArray

_SHORT = 200
_LONGEST = 1 << 16
_DIGIT, _DIGITS = 12, 10
# Both lists are raised by so many bits that a scale of 112 bits ends between two digits.
_RAISED = 4
_BYTES = _DIGIT * _DIGITS // 8


def convolved(left: Sequence[int], right: Sequence[int], bits: int) -> tuple[int, ...]:
    """ceil(sum of left[i] right[k - i] / 2**bits) for every k; entries are not negative."""
    if not left or not right:
        return ()
    is_served = (bits + 2 * _RAISED) % _DIGIT == 0 and max(len(left), len(right)) <= _LONGEST
    largest = max(m.bit_length() for part in (left, right) for m in part)
    if min(len(left), len(right)) >= _SHORT and is_served and largest + _RAISED <= _DIGIT * _DIGITS:
        return _transformed(left, right, (bits + 2 * _RAISED) // _DIGIT)
    return _multiplied(left, right, bits, largest)


def _multiplied(left: Sequence[int], right: Sequence[int], bits: int, largest: int) -> tuple[int, ...]:
    """One product of two long numbers, in whose digits the sums stand side by side."""
    count = len(left) + len(right) - 1
    width = (2 * largest + min(len(left), len(right)).bit_length()) // 8 + 1
    a = _joined(left, width)
    product = (a * (a if left is right else _joined(right, width))).to_bytes(width * (count + 1), "little")
    sums = (int.from_bytes(product[i * width : (i + 1) * width], "little") for i in range(count))
    return tuple(-(-s >> bits) for s in sums)


def _joined(numbers: Sequence[int], width: int) -> int:
    return int.from_bytes(b"".join(m.to_bytes(width, "little") for m in numbers), "little")


def _transformed(left: Sequence[int], right: Sequence[int], cut: int) -> tuple[int, ...]:
    count = len(left) + len(right) - 1
    size = 1 << (count - 1).bit_length()
    first = np.fft.rfft(_digits(left), size, axis=1)
    second = first if left is right else np.fft.rfft(_digits(right), size, axis=1)
    sums = []
    for place in range(2 * _DIGITS - 1):
        pairs = range(max(0, place - _DIGITS + 1), min(place, _DIGITS - 1) + 1)
        whole = sum(first[i] * second[place - i] for i in pairs)
        sums.append(np.rint(np.fft.irfft(whole, size)[:count]).astype(np.int64))
    return _scaled(_carried(sums), cut)


def _digits(numbers: Sequence[int]) -> IntArray:
    """One row for each place of twelve bits, the lowest first."""
    joined = b"".join((m << _RAISED).to_bytes(_BYTES, "little") for m in numbers)
    octets = np.frombuffer(joined, dtype=np.uint8).astype(np.int64).reshape(len(numbers), _BYTES // 3, 3)
    low = octets[:, :, 0] | (octets[:, :, 1] & 15) << 8
    high = octets[:, :, 1] >> 4 | octets[:, :, 2] << 4
    return np.stack([low, high], axis=2).reshape(len(numbers), _DIGITS).T


def _carried(sums: list[IntArray]) -> list[IntArray]:
    """The same numbers with every digit below 2^12."""
    digits, carry = [], np.zeros_like(sums[0])
    while sums or carry.any():
        whole = carry + (sums.pop(0) if sums else 0)
        digits.append(whole & ((1 << _DIGIT) - 1))
        carry = whole >> _DIGIT
    return digits


def _scaled(digits: list[IntArray], cut: int) -> tuple[int, ...]:
    """What stands above the cut, one more where something stands below it."""
    rest = np.zeros_like(digits[0])
    for digit in digits[:cut]:
        rest |= digit
    whole: list[int] = (rest != 0).astype(np.int64).tolist()
    for start in range(cut, len(digits), 4):
        word = np.zeros_like(rest)
        for place, digit in enumerate(digits[start : start + 4]):
            word |= digit << _DIGIT * place
        if word.any():
            shift = _DIGIT * (start - cut)
            whole = [a + (b << shift) for a, b in zip(whole, word.tolist(), strict=True)]
    return tuple(whole)
