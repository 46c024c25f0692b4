"""Ideal-then-round: exact integers from an ideal real mechanism, whatever its scale.

A real random variable Z is determined by endless uniform bits. `rounded` returns round(centre + scale * Z) by
evaluating the expression in integer interval arithmetic at growing precision until the rounding is certain; nothing is
ever approximated, so the output is exact post-processing of the ideal mechanism. Neither a table nor the number of
steps depends on the scale (only the width of a few integers does), which is what a withheld scale needs.

An enclosure of a real y at `bits` bits is a pair (low, high) of integers with low <= 2**bits * y <= high.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from dalenius.core.exact import Enclosure
from dalenius.core.randomness import RandomSource, below
from dalenius.errors import ParameterError

START_BITS = 192
_GUARD = 16
_MOST_BITS = 1 << 16
MOST = 1 << 62

Ideal = Callable[[int], Enclosure]


@dataclass(slots=True)
class LazyUniform:
    """A uniform real in (0, 1), known to as many bits as were asked for."""

    rng: RandomSource
    _known: int = 0
    _bits: int = field(default=0)

    def enclose(self, bits: int) -> Enclosure:
        """First `bits` bits, and that plus one."""
        missing = bits - self._bits
        if missing > 0:
            size = -(-missing // 8)
            self._known = (self._known << (8 * size)) | int.from_bytes(self.rng.bytes(size), "big")
            self._bits += 8 * size
        low = self._known >> (self._bits - bits)
        return low, low + 1


def _ceil_shift(value: int, bits: int) -> int:
    return -(-value >> bits)


@lru_cache(maxsize=64)
def _log_two(bits: int) -> Enclosure:
    """log 2 = 2 atanh(1/3)."""
    low, high = _atanh_enclosure(1, 1, 3, 3, bits + 2)
    return (low >> 1), _ceil_shift(high, 1)


def _atanh_enclosure(p_low: int, p_high: int, q_low: int, q_high: int, bits: int) -> Enclosure:
    """atanh of a number between p_low/q_high and p_high/q_low, at most 1/3, at `bits` bits."""
    work = bits + _GUARD
    result = []
    for p, q, is_upper in ((p_low, q_high, False), (p_high, q_low, True)):
        t = (p << work) // q if not is_upper else -(-(p << work) // q)
        square = (t * t) >> work if not is_upper else _ceil_shift(t * t, work)
        total, power, k = 0, t, 1
        while power > k:
            total += power // k if not is_upper else -(-power // k)
            power = (power * square) >> work if not is_upper else _ceil_shift(power * square, work)
            k += 2
        # What is left is below power / (k (1 - 1/9)) < 2 in units of the working precision.
        result.append(total if not is_upper else total + 4)
    return result[0] >> _GUARD, _ceil_shift(result[1], _GUARD)


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
    high = 2 * a_high + _ceil_shift(exponent * t_high, 16)
    return low >> _GUARD, _ceil_shift(high, _GUARD)


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
            term = _ceil_shift(term * remainder, work) if is_upper else (term * remainder) >> work
            term = -(-term // k) if is_upper else term // k
            total += term
        # From here the terms at least halve, and the last one was at most 1.
        result.append(total + (4 if is_upper else 0))
    shift = work - bits - n
    return result[0] >> shift, _ceil_shift(result[1], shift)


def times(enclosed: Enclosure, factor: Fraction) -> Enclosure:
    """Multiply an enclosure by a rational."""
    ends = [v * factor.numerator for v in enclosed]
    return min(ends) // factor.denominator, -(-max(ends) // factor.denominator)


def exponential(uniform: LazyUniform) -> Ideal:
    """-log U: a standard exponential."""

    def enclose(bits: int) -> Enclosure:
        low, high = uniform.enclose(bits)
        while low == 0:
            bits_more = uniform_bits(bits)
            low, high = uniform.enclose(bits_more)
            if low:
                result = log_enclosure(low, high, bits_more, bits)
                return max(-result[1], 0), max(-result[0], 0)
            bits = bits_more
        result = log_enclosure(low, high, bits, bits)
        return max(-result[1], 0), max(-result[0], 0)

    return enclose


def uniform_bits(bits: int) -> int:
    """The next precision, or a refusal to go on for ever (probability below 2**-60000)."""
    if bits > _MOST_BITS:
        raise ParameterError("A rounding could not be decided; draw again.")
    return 2 * bits


def decide(enclose: Callable[[int], tuple[int, int]], start: int = START_BITS) -> int:
    """The integer on which both ends agree, at the first precision where they do."""
    bits = start
    while True:
        low, high = enclose(bits)
        if low == high:
            return low
        bits = uniform_bits(bits)


def rounded(centre: Fraction, scale: Fraction, ideal: Ideal) -> int:
    """floor(centre + scale * Z + 1/2), exactly."""
    half = Fraction(1, 2)

    def ends(bits: int) -> tuple[int, int]:
        low, high = times(ideal(bits), scale)
        unit = 1 << bits
        offset = centre + half
        return (
            (low * offset.denominator + offset.numerator * unit) // (offset.denominator * unit),
            (high * offset.denominator + offset.numerator * unit) // (offset.denominator * unit),
        )

    return decide(ends)


def floor_of(scale: Fraction, ideal: Ideal) -> int:
    """floor(scale * Z), exactly."""

    def ends(bits: int) -> tuple[int, int]:
        low, high = times(ideal(bits), scale)
        return low >> bits, high >> bits

    return decide(ends)


def saturated(value: int) -> int:
    """Cut at +-2**62: public post-processing, so that no scale can leave the range of 64-bit integers."""
    return max(-MOST, min(MOST, value))


def unit_laplace(rng: RandomSource) -> tuple[Ideal, Ideal]:
    """Two ideal exponentials, drawn before any scale is known."""
    return exponential(LazyUniform(rng)), exponential(LazyUniform(rng))


def scaled_laplace(drawn: tuple[Ideal, Ideal], scale: Fraction) -> int:
    """P(x) proportional to exp(-|x| / scale): the difference of two geometrics floor(scale * E), at any scale alike."""
    return saturated(floor_of(scale, drawn[0]) - floor_of(scale, drawn[1]))


def discrete_laplace(scale: Fraction, rng: RandomSource) -> int:
    """One draw of the discrete Laplace law without a table."""
    return scaled_laplace(unit_laplace(rng), scale)


def unit_normal(rng: RandomSource) -> Ideal:
    """A standard normal: |Y| is an exponential E kept with probability exp(-(E - 1)**2 / 2)."""
    while True:
        e, bar = exponential(LazyUniform(rng)), exponential(LazyUniform(rng))
        if _is_kept(e, bar):
            return mirrored(e, sign(rng))


def _is_kept(e: Ideal, bar: Ideal) -> bool:
    bits = START_BITS
    while True:
        low, high = e(bits)
        unit = 1 << bits
        ends = ((low - unit) ** 2, (high - unit) ** 2)
        least = 0 if low <= unit <= high else min(ends)
        target = (least >> (bits + 1), _ceil_shift(max(ends), bits + 1))
        b_low, b_high = bar(bits)
        if b_low >= target[1]:
            return True
        if b_high <= target[0]:
            return False
        bits = uniform_bits(bits)


def mirrored(magnitude: Ideal, s: int) -> Ideal:
    """The ideal number times a sign."""
    if s > 0:
        return magnitude

    def negative(bits: int) -> Enclosure:
        low, high = magnitude(bits)
        return -high, -low

    return negative


def sign(rng: RandomSource) -> int:
    """+1 or -1."""
    return 1 - 2 * below(rng, 2)


def is_below(uniform: LazyUniform, target: Ideal) -> bool:
    """Whether a uniform is below an ideal number, decided at the precision that it takes."""
    bits = START_BITS
    while True:
        (u_low, u_high), (t_low, t_high) = uniform.enclose(bits), target(bits)
        if u_high <= t_low:
            return True
        if u_low >= t_high:
            return False
        bits = uniform_bits(bits)
