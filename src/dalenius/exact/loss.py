"""Loss distributions of shifted integer noise, in integers, rounded towards privacy.

The loss at x of the pair (noise, noise + s) is log p(x) - log p(x - s). Its distribution says everything about a step:
delta(epsilon) = P(loss = infinity) + E max(0, 1 - exp(epsilon - loss)); losses of independent cells add. Masses are
integers over 2**bits and are rounded up, losses are multiples of a rational unit and are rounded up, so every statement
derived here is at least the truth.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from math import gcd
from typing import Protocol, runtime_checkable

from dalenius.core.integer_law import StatedSymmetry
from dalenius.core.law import IntegerLaw
from dalenius.core.rationals import exp_enclosure, log_upper
from dalenius.errors import TooLarge
from dalenius.exact.convolution import convolved

BITS = 112
MOST_ATOMS = 1 << 14
# To this unit the losses of a law without exact logarithms are rounded up.
ROUNDED = Fraction(1, 1 << 12)
_NEGLIGIBLE = 1 << (BITS - 92)


@runtime_checkable
class ExponentialLaw(Protocol):
    """A law with weights exp(unit * key(x)), unit rational and key(x) an integer; its losses are exact."""

    def log_weight(self) -> tuple[Fraction, Callable[[int], int]]:
        """The unit and the key."""

    def largest_loss(self, size: int) -> Fraction | None:
        """Bound of every finite loss at a shift, None if there is none."""


@runtime_checkable
class CoarseLaw(Protocol):
    """A law that bounds its own loss where it is too wide to be listed point by point."""

    def coarse_loss(self, size: int) -> "LossDistribution | None":
        """A loss distribution that dominates the true one, or None to list it."""


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """masses[i] bounds 2**bits * P(loss = (first + i) * unit) from above; `infinite` likewise for no bound at all."""

    unit: Fraction
    first: int
    masses: tuple[int, ...]
    infinite: int = 0

    def delta(self, epsilon: Fraction) -> Fraction:
        """delta(epsilon), rounded up."""
        start = max(epsilon // self.unit + 1 - self.first, 0)
        total = self.infinite << BITS
        if start < len(self.masses):
            keep = exp_enclosure(epsilon - (self.first + start) * self.unit, BITS)[0]
            ratio = exp_enclosure(-self.unit, BITS)[0]
            one = 1 << BITS
            for mass in self.masses[start:]:
                total += mass * (one - keep)
                keep = keep * ratio >> BITS
        return min(Fraction(1), Fraction(total, 1 << (2 * BITS)))

    def tail(self, epsilon: Fraction) -> Fraction:
        """P(loss > epsilon), rounded up."""
        start = max(epsilon // self.unit + 1 - self.first, 0)
        return min(Fraction(1), Fraction(self.infinite + sum(self.masses[start:]), 1 << BITS))

    def beside(self, other: "LossDistribution") -> "LossDistribution":
        """Both steps, independent: the losses add."""
        left, right = _aligned(self, other)
        both = self.infinite + other.infinite - (self.infinite * other.infinite >> BITS)
        masses = convolved(left.masses, right.masses, BITS)
        return LossDistribution(left.unit, left.first + right.first, masses, both)._narrowed()

    def times(self, count: int) -> "LossDistribution":
        if count == 1:
            return self
        half = self.times(count // 2)
        whole = half.beside(half)
        return whole.beside(self) if count % 2 else whole

    def _on(self, unit: Fraction) -> "LossDistribution":
        """The same on another grid, every loss rounded up."""
        if unit == self.unit:
            return self
        p, q = (self.unit / unit).as_integer_ratio()
        keys = [-(-(self.first + i) * p // q) for i in range(len(self.masses))]
        return _collected(unit, keys, self.masses, self.infinite)

    def _narrowed(self) -> "LossDistribution":
        """Not more atoms than are served: thin tails moved up, then a coarser grid with every loss rounded up."""
        low, mass = 0, 0
        while low < len(self.masses) - 1 and mass + self.masses[low] <= _NEGLIGIBLE:
            mass += self.masses[low]
            low += 1
        high, lost = len(self.masses), 0
        # The upper tail may only become infinite where something already is: a pure step stays pure.
        while self.infinite and high > low + 1 and lost + self.masses[high - 1] <= _NEGLIGIBLE:
            lost += self.masses[high - 1]
            high -= 1
        kept = (self.masses[low] + mass, *self.masses[low + 1 : high])
        whole = LossDistribution(self.unit, self.first + low, kept, self.infinite + lost)
        return whole if len(kept) <= MOST_ATOMS else whole._on(self.unit * (len(kept) // MOST_ATOMS + 1))


def _collected(unit: Fraction, keys: Sequence[int], masses: Sequence[int], infinite: int) -> LossDistribution:
    atoms: dict[int, int] = {}
    for key, mass in zip(keys, masses, strict=True):
        atoms[key] = atoms.get(key, 0) + mass
    first, last = min(atoms, default=0), max(atoms, default=-1)
    return LossDistribution(unit, first, tuple(atoms.get(k, 0) for k in range(first, last + 1)), infinite)


def common_unit(left: Fraction, right: Fraction) -> Fraction:
    """The largest unit of which both are multiples."""
    crossed = gcd(left.numerator * right.denominator, right.numerator * left.denominator)
    return Fraction(crossed, left.denominator * right.denominator)


def _aligned(left: LossDistribution, right: LossDistribution) -> tuple[LossDistribution, LossDistribution]:
    if left.unit == right.unit:
        return left, right
    common = common_unit(left.unit, right.unit)
    widest = max(len(left.masses) * left.unit, len(right.masses) * right.unit)
    unit = max(common, widest / MOST_ATOMS)
    return left._on(unit), right._on(unit)


@lru_cache(maxsize=256)
def of_shift(law: IntegerLaw, size: int) -> LossDistribution:
    """The loss of the pair (noise, noise + size), for a size of either sign."""
    if isinstance(law, CoarseLaw):
        coarse = law.coarse_loss(size)
        if coarse is not None:
            return coarse
    low, high = law.support
    if low is not None and high is not None and high - low >= 4 * MOST_ATOMS:
        # Known before a single weight is listed.
        raise TooLarge("The law is too wide for an exact loss distribution.")
    table = law.weights(BITS + 32)
    if len(table.lower) > 4 * MOST_ATOMS:
        raise TooLarge("The law is too wide for an exact loss distribution.")
    total = sum(table.lower)
    scale = 1 << BITS
    masses = [-(-u * scale // total) for u in table.upper]
    tail = -(-(table.left + table.right) * scale // total)
    if isinstance(law, ExponentialLaw):
        unit, key = law.log_weight()
        bound = law.largest_loss(size)
        keys = _exact_keys(law, table.first, len(masses), size, key)
    else:
        unit, bound = ROUNDED, None
        keys = _rounded_keys(table.lower, table.upper, size, unit)
    step = reduce(gcd, (k for k in keys if k is not None), 0) or 1
    infinite = sum(m for m, k in zip(masses, keys, strict=True) if k is None)
    finite = [(k // step, m) for m, k in zip(masses, keys, strict=True) if k is not None]
    if tail and bound is not None:
        finite.append((-(-bound // (unit * step)), tail))
    else:
        infinite += tail
    return _collected(unit * step, [k for k, _ in finite], [m for _, m in finite], min(infinite, scale))


def _exact_keys(law: IntegerLaw, first: int, count: int, size: int, key: Callable[[int], int]) -> list[int | None]:
    low, high = law.support
    return [
        None
        if (low is not None and x - size < low) or (high is not None and x - size > high)
        else key(x) - key(x - size)
        for x in range(first, first + count)
    ]


def _rounded_keys(lower: Sequence[int], upper: Sequence[int], size: int, unit: Fraction) -> list[int | None]:
    """Losses of a law without exact logarithms, rounded up to the unit; unbounded where the partner may vanish."""
    keys: list[int | None] = []
    for i, most in enumerate(upper):
        partner = lower[i - size] if 0 <= i - size < len(lower) else 0
        keys.append(-(-log_upper(Fraction(most, partner), 40) // unit) if partner and most else None)
    return keys


@lru_cache(maxsize=256)
def is_symmetric(law: IntegerLaw) -> bool:
    """Whether noise and its negative have the same law: stated by `is_symmetric`, or judged by the weights."""
    if isinstance(law, StatedSymmetry):
        return law.is_symmetric
    table = law.weights(64)
    return table.first == -table.last and list(table.upper) == list(table.upper)[::-1]


def of_statement(epsilon: Fraction, delta: Fraction = Fraction(0)) -> LossDistribution:
    """The loss that dominates every (epsilon, delta)-DP step: randomised response that fails with probability delta."""
    scale = 1 << BITS
    if not epsilon:
        return LossDistribution(Fraction(1), 0, (scale,), -(-delta * scale // 1))
    odds = Fraction(scale, scale + exp_enclosure(-epsilon, BITS)[0])
    up = -(-odds * (1 - delta) * scale // 1)
    down = -(-(1 - Fraction(scale, scale + exp_enclosure(-epsilon, BITS)[1])) * (1 - delta) * scale // 1)
    return LossDistribution(epsilon, -1, (down, 0, up), -(-delta * scale // 1))
