"""Logarithms and exponentials of enclosed numbers, in integers and without a cache: arguments may be secret noise.

An enclosure of a real y at `bits` bits is a pair (low, high) of integers with low <= 2**bits * y <= high.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from dalenius.core.rationals import Enclosure

_GUARD = 16


def ceil_shift(value: int, bits: int) -> int:
    return -(-value >> bits)


@lru_cache(maxsize=64)
def _log_two(bits: int) -> Enclosure:
    """log 2 = 2 atanh(1/3)."""
    return _atanh_end(1, 3, bits + 2, False) >> 1, ceil_shift(_atanh_end(1, 3, bits + 2, True), 1)


def _atanh_end(p: int, q: int, bits: int, is_upper: bool) -> int:
    """One end of an enclosure of atanh(p / q), at most atanh(1/3), at `bits` bits."""
    work = bits + _GUARD
    t = -(-(p << work) // q) if is_upper else (p << work) // q
    square = -(-t * t >> work) if is_upper else t * t >> work
    total, power, k = 0, t, 1
    while power > k:
        total += -(-power // k) if is_upper else power // k
        power = -(-power * square >> work) if is_upper else power * square >> work
        k += 2
    # What is left is below power / (k (1 - 1/9)) < 2 in units of the working precision.
    return ceil_shift(total + 4, _GUARD) if is_upper else total >> _GUARD


def log_enclosure(low: int, high: int, scale: int, bits: int) -> Enclosure:
    """Enclose log of a number between low / 2**scale and high / 2**scale, both positive."""
    return _log_end(low, scale, bits, False), _log_end(high, scale, bits, True)


def _log_end(value: int, scale: int, bits: int, is_upper: bool) -> int:
    """One end of log(value / 2**scale) = e log 2 + 2 atanh((m-1)/(m+1)), m = value / 2**(scale + e) in [2/3, 4/3)."""
    length = value.bit_length()
    exponent = length - 1 - scale
    if 3 * value >= 4 << (length - 1):
        exponent += 1
    one = 1 << (scale + exponent) if scale + exponent >= 0 else 1
    if scale + exponent < 0:
        value <<= -(scale + exponent)
    work = bits + _GUARD
    # A negative part is largest where its size is smallest.
    is_below = value < one
    part = _atanh_end(abs(value - one), value + one, work, is_upper is not is_below)
    twos = exponent * _log_two(work + 16)[is_upper is not (exponent < 0)]
    twice = -2 * part if is_below else 2 * part
    return ceil_shift(twice + ceil_shift(twos, 16), _GUARD) if is_upper else (twice + (twos >> 16)) >> _GUARD


def exp_of(enclosed: Enclosure, bits: int) -> Enclosure:
    """Enclose exp of an enclosed number, at the same precision. Nothing is cached: arguments are secret noise."""
    return _exp_end(enclosed[0], bits, False), _exp_end(enclosed[1], bits, True)


def _exp_end(value: int, bits: int, is_upper: bool) -> int:
    """One end of exp(value / 2**bits) = 2**n exp(r) with r = value - n log 2 small, by Taylor's series."""
    # One less than the quotient: the remainder then lies between 0 and 1.5 for certain.
    n = value // _log_two(bits)[0] - 1
    work = bits + max(n, 0) + 2 * abs(n).bit_length() + 2 * _GUARD
    remainder = (value << (work - bits)) - n * _log_two(work)[is_upper is (n < 0)]
    total = term = 1 << work
    k = 0
    while term > 1:
        k += 1
        term = -(-term * remainder >> work) if is_upper else term * remainder >> work
        term = -(-term // k) if is_upper else term // k
        total += term
    # From here the terms at least halve, and the last one was at most 1.
    shift = work - bits - n
    return ceil_shift(total + 4, shift) if is_upper else total >> shift


def squared_walk(weight: Enclosure, ratio: Enclosure, change: Enclosure, work: int) -> Iterator[Enclosure]:
    """Yield enclosures of w(0), w(1), … at `work` bits, where w(x + 1) = w(x) r(x) and r(x + 1) = r(x) c."""
    (low, high), (ratio_low, ratio_high), (change_low, change_high) = weight, ratio, change
    while True:
        yield low, high
        low, high = low * ratio_low >> work, -(-high * ratio_high >> work)
        ratio_low, ratio_high = ratio_low * change_low >> work, -(-ratio_high * change_high >> work)


def times(enclosed: Enclosure, factor: Fraction) -> Enclosure:
    ends = [v * factor.numerator for v in enclosed]
    return min(ends) // factor.denominator, -(-max(ends) // factor.denominator)
