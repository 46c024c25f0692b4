"""Noise for smooth sensitivity: release f + scale * S * Z, with the constants that make it private.

Premises: S is at least the local sensitivity at every data set, and |log S - log S'| <= beta between neighbours, both
for the relation of the claim. With g = -log density of Z in the unit scale / S, the loss is at most epsilon if, for all
z, |s| <= 1/scale and 0 <= b <= beta, both g(e^b z + s) - b - g(z) and g(e^-b (z + s)) + b - g(z) are. Each class states
its scale as a rational rounded up, and draws ideal values for `exact.ideal_rounding`.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import atan, exp, log1p, pi, sqrt
from typing import ClassVar

import numpy as np

from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import Enclosure, exp_lower, exp_upper, log_upper, sqrt_upper
from dalenius.errors import ParameterError
from dalenius.exact.enclosures import exp_of, times
from dalenius.exact.ideal_rounding import (
    Ideal,
    LazyUniform,
    PolynomialTail,
    exponential,
    grown,
    mirrored,
    sign,
    unit_normal,
)

_BITS = 96


def _reciprocal_up(x: Fraction) -> Fraction:
    """1/x, rounded up to a short rational."""
    if x <= 0:
        raise ParameterError("epsilon is too small for this beta; choose a smaller beta.", name="beta")
    return Fraction(-(-(x.denominator << _BITS) // x.numerator), 1 << _BITS)


def _check(epsilon: Fraction, beta: Fraction, limit: Fraction) -> None:
    if not 0 < beta < limit:
        raise ParameterError(
            f"beta must be positive and below {limit} for this noise at epsilon {epsilon}; received {beta}.",
            name="beta",
        )


def _two_sided(z: float, tail: float) -> float:
    """The distribution function of a symmetric law at z, from its tail beyond |z|."""
    return tail if z < 0 else 1 - tail


@dataclass(frozen=True, slots=True)
class _Noise:
    epsilon: Fraction
    beta: Fraction
    is_pure: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Cauchy(_Noise):
    """Density 1 / (pi (1 + z^2)); tight: 1/scale^2 = min(4 sinh^2(eps/2), (e^eps - e^beta)(e^beta - e^-eps)).

    For beta <= log(2 cosh eps - 1) the second term is not active and beta costs nothing. No mean, no variance.
    """

    name: ClassVar[str] = "cauchy"

    def __post_init__(self) -> None:
        _check(self.epsilon, self.beta, self.epsilon)

    @property
    def scale(self) -> Fraction:
        grow_low, shrink_low = exp_lower(self.epsilon, _BITS), exp_lower(-self.epsilon, _BITS)
        shrink_up = exp_upper(-self.epsilon, _BITS)
        b_low, b_up = exp_lower(self.beta, _BITS), exp_upper(self.beta, _BITS)
        square = min(grow_low - 2 + shrink_low, (grow_low - b_up) * (b_low - shrink_up))
        if square <= 0:
            raise ParameterError("beta is too close to epsilon.", name="beta")
        return sqrt_upper(1 / square, _BITS)

    def draw(self, rng: RandomSource) -> Ideal:
        return PolynomialTail(Fraction(2), Fraction(1)).draw(rng)

    def distribution(self, z: float) -> float:
        """P(Z <= z), accurate in the lower tail."""
        return atan(-1 / z) / pi if z < -1 else 0.5 + atan(z) / pi


@dataclass(frozen=True, slots=True)
class Lomax(_Noise):
    """Density proportional to (1 + a|z|)^-k, k = 1 + eps/beta, a = min(e^(eps/k) - 1, e^beta (e^((eps-beta)/k) - 1)).

    Scale 1. The variance 2 / (a^2 (k-2)(k-3)) is finite for beta < eps/2; as beta -> 0 the law tends to Laplace's.
    """

    name: ClassVar[str] = "lomax"

    def __post_init__(self) -> None:
        _check(self.epsilon, self.beta, self.epsilon)

    @property
    def k(self) -> Fraction:
        return 1 + self.epsilon / self.beta

    @property
    def a(self) -> Fraction:
        """Rate near zero, rounded down."""
        first = exp_lower(self.epsilon / self.k, _BITS) - 1
        second = exp_lower(self.beta, _BITS) * (exp_lower((self.epsilon - self.beta) / self.k, _BITS) - 1)
        return min(first, second)

    @property
    def scale(self) -> Fraction:
        """1 / a, rounded up: the law is drawn in units of 1 / a."""
        return _reciprocal_up(self.a)

    @property
    def variance(self) -> float:
        """At S = 1; infinite for k <= 3."""
        a, k = float(self.a), float(self.k)
        return 2 / (a * a * (k - 2) * (k - 3)) if k > 3 else float("inf")

    def draw(self, rng: RandomSource) -> Ideal:
        powers = grown(exponential(LazyUniform(rng)), 1 / (self.k - 1))

        def magnitude(bits: int) -> Enclosure:
            low, high = powers(bits)
            return max(low - (1 << bits), 0), max(high - (1 << bits), 0)

        return mirrored(magnitude, sign(rng))

    def distribution(self, z: float) -> float:
        """P(aZ <= z), accurate in the lower tail."""
        return _two_sided(z, exp(-(float(self.k) - 1) * log1p(abs(z))) / 2)


@dataclass(frozen=True, slots=True)
class Polynomial(_Noise):
    """Density proportional to 1 / (1 + |z|^g): (g-1)^((g-1)/g) / scale + max(g-1, 1) beta <= eps suffices."""

    g: Fraction = Fraction(3)
    name: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        if self.g <= 1:
            raise ParameterError("g must be greater than 1.", name="g")
        _check(self.epsilon, self.beta, self.epsilon / max(self.g - 1, Fraction(1)))

    @property
    def slide(self) -> Fraction:
        return exp_upper(log_upper(self.g - 1, _BITS) * (self.g - 1) / self.g, _BITS)

    @property
    def scale(self) -> Fraction:
        return self.slide * _reciprocal_up(self.epsilon - max(self.g - 1, Fraction(1)) * self.beta)

    def draw(self, rng: RandomSource) -> Ideal:
        return PolynomialTail(self.g, Fraction(1)).draw(rng)

    def distribution(self, z: float) -> float:
        """P(Z <= z), accurate in the lower tail; |z|^g / (1 + |z|^g) has a beta law."""
        from scipy.special import betainc

        g = float(self.g)
        return _two_sided(z, float(betainc(1 - 1 / g, 1 / g, 1 / (1 + abs(z) ** g))) / 2)


@dataclass(frozen=True, slots=True)
class StudentT(_Noise):
    """Student's t with nu >= 1 degrees: 1/scale = 2 sqrt(nu) (eps - nu beta) / (nu + 1) suffices.

    Drawn as W = Z / sqrt(nu), density (1 + w^2)^(-(nu+1)/2), so that the scale stays rational.
    """

    nu: Fraction = Fraction(3)
    name: ClassVar[str] = "student"

    def __post_init__(self) -> None:
        if self.nu < 1:
            raise ParameterError("nu must be at least 1.", name="nu")
        _check(self.epsilon, self.beta, self.epsilon / self.nu)

    @property
    def scale(self) -> Fraction:
        return (self.nu + 1) / (2 * (self.epsilon - self.nu * self.beta))

    def draw(self, rng: RandomSource) -> Ideal:
        return PolynomialTail(Fraction(2), (self.nu + 1) / 2).draw(rng)

    def distribution(self, z: float) -> float:
        from scipy.special import stdtr

        return float(stdtr(float(self.nu), z * sqrt(float(self.nu))))


@dataclass(frozen=True, slots=True)
class LaplaceLogNormal(_Noise):
    """Z = X e^{sY}, X Laplace, Y normal: (eps^2/2)-zCDP with 1/scale = e^{-3 s^2/2} (eps - beta/s)."""

    s: Fraction = Fraction(1, 2)
    name: ClassVar[str] = "laplace_log_normal"
    is_pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.s <= 0:
            raise ParameterError("s must be positive.", name="s")
        _check(self.epsilon, self.beta, self.epsilon * self.s)

    @property
    def scale(self) -> Fraction:
        return exp_upper(3 * self.s**2 / 2, _BITS) * _reciprocal_up(self.epsilon - self.beta / self.s)

    @property
    def variance(self) -> float:
        """At S = 1."""
        s, eps, t = float(self.s), float(self.epsilon), float(self.beta)
        return 2 * exp(5 * s * s) / (eps - t / s) ** 2

    def draw(self, rng: RandomSource) -> Ideal:
        e, y = exponential(LazyUniform(rng)), unit_normal(rng)

        def magnitude(bits: int) -> Enclosure:
            (a, b), (c, d) = e(bits), exp_of(times(y(bits), self.s), bits)
            return (a * c) >> bits, -(-(b * d) >> bits)

        return mirrored(magnitude, sign(rng))

    def distribution(self, z: float) -> float:
        """P(Z <= z), accurate in the lower tail: summed over Y, given which it is that of Laplace noise."""
        y = np.arange(-14.0, 30.0, 0.02)
        given = np.exp(-y * y / 2 - abs(z) * np.exp(-float(self.s) * y))
        return _two_sided(z, 0.01 * float(given.sum()) / sqrt(2 * pi))


SmoothNoise = Cauchy | Lomax | Polynomial | StudentT | LaplaceLogNormal
