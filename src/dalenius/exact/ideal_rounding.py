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

from dalenius.core.randomness import RandomSource, below
from dalenius.core.rationals import Enclosure
from dalenius.errors import ParameterError
from dalenius.exact.enclosures import ceil_shift, exp_of, log_enclosure, times

START_BITS = 192
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
        missing = bits - self._bits
        if missing > 0:
            size = -(-missing // 8)
            self._known = (self._known << (8 * size)) | int.from_bytes(self.rng.bytes(size), "big")
            self._bits += 8 * size
        low = self._known >> (self._bits - bits)
        return low, low + 1


def exponential(uniform: LazyUniform) -> Ideal:
    """-log U: a standard exponential."""

    def enclose(bits: int) -> Enclosure:
        drawn_bits = bits
        low, high = uniform.enclose(drawn_bits)
        while low == 0:
            drawn_bits = uniform_bits(drawn_bits)
            low, high = uniform.enclose(drawn_bits)
        smallest, largest = log_enclosure(low, high, drawn_bits, bits)
        return max(-largest, 0), max(-smallest, 0)

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
    return floor_of(scale, ideal, centre + Fraction(1, 2))


def floor_of(scale: Fraction, ideal: Ideal, offset: Fraction = Fraction(0)) -> int:
    def ends(bits: int) -> tuple[int, int]:
        low, high = times(ideal(bits), scale)
        shift, unit = offset.numerator << bits, offset.denominator << bits
        return (low * offset.denominator + shift) // unit, (high * offset.denominator + shift) // unit

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


def rounded_laplace(drawn: tuple[Ideal, Ideal], scale: Fraction) -> int:
    """Laplace noise of this scale (the difference of two exponentials), rounded exactly."""

    def difference(bits: int) -> Enclosure:
        (a, b), (c, d) = drawn[0](bits), drawn[1](bits)
        return a - d, b - c

    return saturated(rounded(Fraction(0), scale, difference))


def discrete_laplace(scale: Fraction, rng: RandomSource) -> int:
    return scaled_laplace(unit_laplace(rng), scale)


def unit_normal(rng: RandomSource) -> Ideal:
    """A standard normal: |Y| is an exponential E kept with probability exp(-(E - 1)**2 / 2)."""
    while True:
        e, bar = exponential(LazyUniform(rng)), exponential(LazyUniform(rng))
        if is_below(_half_square(e), bar):
            return mirrored(e, sign(rng))


def _half_square(e: Ideal) -> Ideal:
    def enclose(bits: int) -> Enclosure:
        low, high = e(bits)
        unit = 1 << bits
        ends = ((low - unit) ** 2, (high - unit) ** 2)
        least = 0 if low <= unit <= high else min(ends)
        return least >> (bits + 1), ceil_shift(max(ends), bits + 1)

    return enclose


def mirrored(magnitude: Ideal, s: int) -> Ideal:
    if s > 0:
        return magnitude

    def negative(bits: int) -> Enclosure:
        low, high = magnitude(bits)
        return -high, -low

    return negative


def sign(rng: RandomSource) -> int:
    return 1 - 2 * below(rng, 2)


def is_below(left: Ideal, right: Ideal) -> bool:
    """Whether one ideal number is below another, decided at the precision that it takes."""
    bits = START_BITS
    while True:
        (low, high), (least, most) = left(bits), right(bits)
        if high <= least:
            return True
        if low >= most:
            return False
        bits = uniform_bits(bits)


@dataclass(frozen=True, slots=True)
class PolynomialTail:
    """Ideal draws from the density proportional to (1 + |w|**power) ** -exponent, by exact rejection.

    The envelope min(1, |w|**-g), g = power * exponent > 1, is a uniform on (0, 1) with probability (g-1)/g and a
    Pareto beyond 1 otherwise; with t = w or 1/w a draw is kept with probability (1 + t**power) ** -exponent.
    """

    power: Fraction
    exponent: Fraction

    def draw(self, rng: RandomSource) -> Ideal:
        """One signed draw; the number of attempts depends on the randomness alone."""
        g = self.power * self.exponent
        while True:
            is_core = below(rng, g.numerator) < g.numerator - g.denominator
            uniform, coin = LazyUniform(rng), LazyUniform(rng)
            e = exponential(uniform)
            rate = self.power if is_core else self.power / (g - 1)
            if is_below(coin.enclose, self._keep(e, rate)):
                magnitude = uniform.enclose if is_core else grown(e, 1 / (g - 1))
                return mirrored(magnitude, sign(rng))

    def _keep(self, e: Ideal, rate: Fraction) -> Ideal:
        def enclose(bits: int) -> Enclosure:
            low, high = e(bits)
            t = exp_of(times((-high, -low), rate), bits)
            unit = 1 << bits
            inner = log_enclosure(unit + t[0], unit + t[1], bits, bits)
            low, high = times(inner, -self.exponent)
            return exp_of((low, high), bits)

        return enclose


def grown(e: Ideal, rate: Fraction) -> Ideal:
    return lambda bits: exp_of(times(e(bits), rate), bits)
