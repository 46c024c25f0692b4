"""Logarithms and exponentials of enclosed numbers, in integers and without a cache: arguments may be secret noise.

An enclosure of a real y at `bits` bits is a pair (low, high) of integers with low <= 2**bits * y <= high.
"""

from fractions import Fraction
from functools import lru_cache

from dalenius.core.rationals import Enclosure

_GUARD = 16


def ceil_shift(value: int, bits: int) -> int:
    return -(-value >> bits)


@lru_cache(maxsize=64)
def _log_two(bits: int) -> Enclosure:
    """log 2 = 2 atanh(1/3)."""
    low, high = _atanh_enclosure(1, 1, 3, 3, bits + 2)
    return (low >> 1), ceil_shift(high, 1)


def _atanh_enclosure(p_low: int, p_high: int, q_low: int, q_high: int, bits: int) -> Enclosure:
    """atanh of a number between p_low/q_high and p_high/q_low, at most 1/3, at `bits` bits."""
    work = bits + _GUARD
    result = []
    for p, q, is_upper in ((p_low, q_high, False), (p_high, q_low, True)):
        t = (p << work) // q if not is_upper else -(-(p << work) // q)
        square = (t * t) >> work if not is_upper else ceil_shift(t * t, work)
        total, power, k = 0, t, 1
        while power > k:
            total += power // k if not is_upper else -(-power // k)
            power = (power * square) >> work if not is_upper else ceil_shift(power * square, work)
            k += 2
        # What is left is below power / (k (1 - 1/9)) < 2 in units of the working precision.
        result.append(total if not is_upper else total + 4)
    return result[0] >> _GUARD, ceil_shift(result[1], _GUARD)


def log_enclosure(low: int, high: int, scale: int, bits: int) -> Enclosure:
    """Enclose log of a number between low / 2**scale and high / 2**scale, both positive."""
    return _log_one(low, scale, bits)[0], _log_one(high, scale, bits)[1]


def _log_one(value: int, scale: int, bits: int) -> Enclosure:
    """log(value / 2**scale) = e log 2 + 2 atanh((m - 1)/(m + 1)) with m = value / 2**(scale + e) in [2/3, 4/3)."""
    length = value.bit_length()
    exponent = length - 1 - scale
    if 3 * value >= 4 << (length - 1):
        exponent += 1
    one = 1 << (scale + exponent) if scale + exponent >= 0 else 1
    if scale + exponent < 0:
        value <<= -(scale + exponent)
    work = bits + _GUARD
    difference = value - one
    a_low, a_high = _atanh_enclosure(*(abs(difference),) * 2, *(value + one,) * 2, work)
    if difference < 0:
        a_low, a_high = -a_high, -a_low
    t_low, t_high = _log_two(work + 16)
    if exponent < 0:
        t_low, t_high = t_high, t_low
    low = 2 * a_low + ((exponent * t_low) >> 16)
    high = 2 * a_high + ceil_shift(exponent * t_high, 16)
    return low >> _GUARD, ceil_shift(high, _GUARD)


def exp_of(enclosed: Enclosure, bits: int) -> Enclosure:
    """Enclose exp of an enclosed number, at the same precision. Nothing is cached: arguments are secret noise."""
    return _exp_one(enclosed[0], bits)[0], _exp_one(enclosed[1], bits)[1]


def _exp_one(value: int, bits: int) -> Enclosure:
    """exp(value / 2**bits) = 2**n exp(r) with r = value - n log 2 small, by Taylor's series."""
    # One less than the quotient: the remainder then lies between 0 and 1.5 for certain.
    n = value // _log_two(bits)[0] - 1
    work = bits + max(n, 0) + 2 * abs(n).bit_length() + 2 * _GUARD
    t_low, t_high = _log_two(work)
    ends = (n * t_high, n * t_low) if n >= 0 else (n * t_low, n * t_high)
    shifted = value << (work - bits)
    result = []
    for remainder, is_upper in ((shifted - ends[0], False), (shifted - ends[1], True)):
        total = term = 1 << work
        k = 0
        while term > 1:
            k += 1
            term = ceil_shift(term * remainder, work) if is_upper else (term * remainder) >> work
            term = -(-term // k) if is_upper else term // k
            total += term
        # From here the terms at least halve, and the last one was at most 1.
        result.append(total + (4 if is_upper else 0))
    shift = work - bits - n
    return result[0] >> shift, ceil_shift(result[1], shift)


def times(enclosed: Enclosure, factor: Fraction) -> Enclosure:
    """Multiply an enclosure by a rational."""
    ends = [v * factor.numerator for v in enclosed]
    return min(ends) // factor.denominator, -(-max(ends) // factor.denominator)
