"""Enclosures of exponentials and logarithms of rationals, in integers.

Every number that bounds privacy, and every entry of a sampler's table, passes through here. An enclosure at
`bits` bits of a real y >= 0 is a pair of integers (lower, upper) with lower <= 2**bits * y <= upper.
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, isfinite, isqrt, log, nextafter

from dalenius.core.search import narrow
from dalenius.errors import InternalError, ParameterError

Enclosure = tuple[int, int]
_GUARD = 32


def rational(value: object, name: str = "value") -> Fraction:
    """The exact rational a caller means; decimal text and floats are read as the decimals they print as.

    >>> rational(0.1), rational("1/3"), rational("1e-6")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
    """
    if isinstance(value, bool) or value is None:
        raise ParameterError(f"{name} must be a number; received {value!r}.", name=name)
    try:
        if isinstance(value, float):
            if not isfinite(value):
                raise ParameterError(f"{name} must be finite; received {value!r}.", name=name)
            return Fraction(repr(value))
        if isinstance(value, Fraction | int):
            return Fraction(value)
        if isinstance(value, str) and len(value) <= 200 and abs(_exponent(value)) <= 400:
            return Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        pass
    raise ParameterError(f"{name} must be a number such as 0.5 or 1/3; received {value!r:.80}.", name=name)


def _exponent(text: str) -> int:
    mantissa, _, exponent = text.lower().partition("e")
    return int(exponent) if exponent and mantissa else 0


def exp_enclosure(x: Fraction, bits: int) -> Enclosure:
    """Enclose 2**bits * exp(x) for a rational x of either sign."""
    return exp_enclosure_of(x.numerator, x.denominator, bits)


@lru_cache(maxsize=4096)
def exp_enclosure_of(p: int, q: int, bits: int) -> Enclosure:
    """Enclose 2**bits * exp(p / q), q > 0; the same for every way to write the fraction."""
    if p == 0:
        return (1 << bits, 1 << bits)
    if p > 0:
        # exp(x) = 1 / exp(-x); the extra bits keep the relative error of the reciprocal small.
        extra = bits + 2 * (p // q * 3 // 2 + 2)
        low, high = exp_enclosure_of(-p, q, extra)
        top = 1 << (bits + extra)
        return (top // high, -(-top // max(low, 1)))
    halvings = max(0, (-p // q).bit_length() + 1) + 8 if -p >= q else 8
    work = bits + _GUARD + 2 * halvings
    low, high = _exp_small(-p, q << halvings, work)
    for _ in range(halvings):
        low = (low * low) >> work
        high = -((-high * high) >> work)
    shift = work - bits
    return (low >> shift, -(-high >> shift))


def _exp_small(p: int, q: int, bits: int) -> Enclosure:
    """Enclose 2**bits * exp(-p/q) for 0 < p/q <= 2**-8 by the alternating series."""
    one = 1 << bits
    term_low, term_high = one, one
    low = high = one
    k = 0
    while term_high > 1:
        k += 1
        term_low = (term_low * p) // (q * k)
        term_high = -(-(term_high * p) // (q * k))
        if k % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    # The terms fall in size and alternate: the rest of the series is smaller than the last term.
    return (max(low - term_high - 1, 0), high + term_high + 1)


def exp_upper(x: Fraction, bits: int = 96) -> Fraction:
    """A rational that is at least exp(x)."""
    return Fraction(exp_enclosure(x, bits)[1], 1 << bits)


def exp_lower(x: Fraction, bits: int = 96) -> Fraction:
    """A rational that is at most exp(x)."""
    return Fraction(exp_enclosure(x, bits)[0], 1 << bits)


def log_upper(y: Fraction, bits: int = 64) -> Fraction:
    """A rational r >= log(y), for y > 0, with r - log(y) of the order 2**-bits."""
    return _log_bound(y, bits, upper=True)


def log_lower(y: Fraction, bits: int = 64) -> Fraction:
    """A rational r <= log(y), for y > 0, with log(y) - r of the order 2**-bits."""
    return _log_bound(y, bits, upper=False)


def _log_bound(y: Fraction, bits: int, *, upper: bool) -> Fraction:
    if y <= 0:
        raise ParameterError("a logarithm needs a positive number")
    work = bits + 32 + 2 * max(y.numerator.bit_length(), y.denominator.bit_length())
    # A float says where to look; enclosures decide whether it is right.
    near = Fraction(log(y.numerator) - log(y.denominator)).limit_denominator(1 << 40)
    # Everything below is near plus a whole number of 2**-scale.
    scale = max(bits, 36) + 4
    least, most = _log_beyond(y, near, work, scale)

    def is_below(x: int) -> bool:
        return x <= least or (x < most and exp_upper(near + Fraction(x, 1 << scale), work) <= y)

    def is_above(x: int) -> bool:
        return x >= most or (x > least and exp_lower(near + Fraction(x, 1 << scale), work) >= y)

    high = step = 1 << (scale - 36)
    while not is_above(high):
        high, step = high + step, 2 * step
    low = -(step := 1 << (scale - 36))
    while not is_below(low):
        low, step = low - step, 2 * step
    low, high = narrow(
        lambda x: is_below(x) or (False if is_above(x) else None),
        low,
        high,
        until=lambda low, high: high - low <= 1 << (scale - bits),
        between=lambda low, high: (low + high) >> 1,
    )
    return near + Fraction(high if upper else low, 1 << scale)


def _log_beyond(y: Fraction, near: Fraction, work: int, scale: int) -> tuple[int, int]:
    """Bounds of 2**scale * (log(y) - near) from one exponential: log(1 + r) with r = y / exp(near) - 1.

    It differs from r - r^2 / 2 + r^3 / 3 by at most r^4 where |r| <= 1/4, and rises with r, so that each end of an
    enclosure of r gives an end.
    """
    low, high = exp_enclosure(near, work)
    ends: list[tuple[Fraction, Fraction]] = []
    for exponential in (high, max(low, 1)):
        # Rounded away from the other end, to keep the numbers short.
        r = Fraction((y.numerator << 2 * work) // (y.denominator * exponential) + len(ends), 1 << work) - 1
        if abs(r) > Fraction(1, 4):
            raise InternalError("The logarithm of a float is far from right.")
        ends.append((r - r * r / 2 + r**3 / 3, r**4))
    (least, below), (most, above) = ends
    return floor((least - below) * (1 << scale)), ceil((most + above) * (1 << scale))


def sqrt_upper(y: Fraction, bits: int = 64) -> Fraction:
    """A rational that is at least sqrt(y), y >= 0."""
    scaled = -(-(y.numerator << (2 * bits)) // y.denominator)
    root = isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, 1 << bits)


def round_up(x: Fraction, denominator: int) -> Fraction:
    """The smallest multiple of 1/denominator that is at least x."""
    return Fraction(-(-x.numerator * denominator // x.denominator), denominator)


def float_upper(x: Fraction) -> float:
    """The smallest float that is at least x."""
    value = float(x)
    return value if Fraction(value) >= x else nextafter(value, inf)


def float_lower(x: Fraction) -> float:
    """The largest float that is at most x."""
    value = float(x)
    return value if Fraction(value) <= x else nextafter(value, -inf)


def plain(x: Fraction) -> str:
    """Canonical text of a rational: an integer, a finite decimal, or numerator/denominator.

    >>> plain(Fraction(1, 2)), plain(Fraction(1, 3)), plain(Fraction(7))
    ('0.5', '1/3', '7')
    """
    if x.denominator == 1:
        return str(x.numerator)
    rest, fives = x.denominator, 0
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 18:
        return f"{x.numerator}/{x.denominator}"
    digits = str(abs(x.numerator) * 10**places // x.denominator).rjust(places + 1, "0")
    sign = "-" if x.numerator < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"
