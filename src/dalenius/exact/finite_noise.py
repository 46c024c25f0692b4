"""Privacy of integer noise on a finite range: largest finite loss, and the mass of outputs that give the count away.

For a cell that moves by s, an output is impossible under the neighbour exactly if it lies in the last s places of the
range; elsewhere the loss is the difference of two log-weights. Both are computed exactly. Several cells compose:
losses add, and the chance that no cell gives its count away is a product.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import log
from typing import ClassVar, cast

import numpy as np

from dalenius import limits
from dalenius.core.conversions import pure_to_rho
from dalenius.core.evidence import Evidence
from dalenius.core.integer_law import StatedSymmetry
from dalenius.core.law import FloatArray, IntArray, IntegerLaw, WeightTable
from dalenius.core.neighbours import Relation
from dalenius.core.profile import Moves, PrivacyProfile
from dalenius.core.rationals import exp_enclosure, round_up
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact import additive
from dalenius.exact.approximate_concentrated import ROUNDING, rho_of
from dalenius.exact.centred_noise import CentredNoise
from dalenius.exact.enclosures import squared_walk
from dalenius.exact.loss import ExponentialLaw, is_symmetric, of_shift

MOST_LIMIT = 1 << 13


def exponential_weights(unit: Fraction, keys: Sequence[int], first: int, bits: int) -> WeightTable:
    """Weights exp(unit * key) for a table of non-positive integer keys."""
    enclosures = {key: exp_enclosure(unit * key, bits) for key in set(keys)}
    return WeightTable(bits, first, [enclosures[k][0] for k in keys], [enclosures[k][1] for k in keys])


def impossible(law: IntegerLaw, size: int) -> Fraction:
    """Mass of outputs that a neighbour `size` away cannot give, for the worse of the two directions; rounded up."""
    low, high = law.support
    assert low is not None and high is not None
    limits.spend(high - low)
    return _impossible(law, size)


@lru_cache(maxsize=1024)
def _impossible(law: IntegerLaw, size: int) -> Fraction:
    low, high = law.support
    assert low is not None and high is not None
    if size > high - low:
        return Fraction(1)
    table = squared_weights(law.decay, law.limit, 256) if isinstance(law, SquaredExponential) else law.weights(256)
    ends = max(sum(table.upper[:size]), sum(table.upper[-size:])) if size else 0
    return min(Fraction(1), round_up(Fraction(ends, sum(table.lower)), 10**40))


@lru_cache(maxsize=8)
def squared_weights(decay: Fraction, limit: int, bits: int) -> WeightTable:
    """exp(-decay x^2), two multiplications per weight; a little wider than one exponential at a time."""
    work = bits + 64
    walk = squared_walk((1 << work, 1 << work), exp_enclosure(-decay, work), exp_enclosure(-2 * decay, work), work)
    weights = list(islice(walk, limit + 1))
    lower, upper = [low >> 64 for low, _ in weights], [-(-high >> 64) for _, high in weights]
    return WeightTable(bits, -limit, lower[:0:-1] + lower, upper[:0:-1] + upper)


@lru_cache(maxsize=1024)
def largest_finite_loss(law: IntegerLaw, size: int) -> Fraction:
    """Largest |log ratio| where both neighbours can give the output."""
    assert isinstance(law, ExponentialLaw)
    low, high = law.support
    assert low is not None and high is not None
    unit, key = law.log_weight()
    keys = [key(x) for x in range(low, high + 1)]
    return unit * max((abs(a - b) for a, b in zip(keys[size:], keys, strict=False)), default=0)


def profile(
    law: IntegerLaw, sensitivity: Sensitivity, relation: Relation, evidence: Evidence, *, is_log_concave: bool
) -> PrivacyProfile:
    """The exact pair for the worst move; the exact curve too where larger moves are known to lose more.

    The largest finite loss of a law exp(-rate x^2) is concave in the shift, so unlisted moves lose most when they are
    spread; the chance to keep the count, P(noise <= limit - s), is log-concave in s for every log-concave law, so it
    falls most when they are concentrated. A law of another shape takes the bounds that hold for any.
    """
    if sensitivity.linf > MOST_LIMIT:
        raise TooLarge("A cell moves by more than noise on a finite range can hide.")

    def largest(size: int) -> Fraction:
        return _largest_up_to(law, size, is_log_concave)

    epsilon = additive.worst_sum(sensitivity, largest, is_concave=is_log_concave)
    rho = additive.worst_sum(sensitivity, lambda s: pure_to_rho(largest(s)))
    delta = min(Fraction(1), round_up(_worst_failure(law, sensitivity, is_log_concave), 10**40))
    is_unit = sensitivity.patterns is not None and all(set(p) <= {1} for p in sensitivity.patterns)
    has_curve = is_log_concave or (is_unit and isinstance(law, StatedSymmetry) and law.is_symmetric)
    products = additive.shifts_of(law, sensitivity) if has_curve else ()

    def sharpened() -> tuple[Fraction, Fraction]:
        return _sharpened(law, sensitivity, delta, products, is_log_concave)

    stated = additive.assembled(
        law, sensitivity, relation, epsilon=epsilon, delta=delta, rho=rho, sharpened=sharpened, evidence=evidence
    )
    return stated if has_curve else replace(stated, curve=None, estimate=None, shifts=())


@lru_cache(maxsize=4096)
def _largest_up_to(law: IntegerLaw, size: int, is_log_concave: bool) -> Fraction:
    """The largest finite loss of all moves up to a size; a law of any shape may lose more at a smaller one."""
    if not size:
        return Fraction(0)
    if is_log_concave:
        return cast(Fraction, cast(ExponentialLaw, law).largest_loss(size))
    return max(largest_finite_loss(law, s) for s in range(1, size + 1))


def _worst_failure(law: IntegerLaw, sensitivity: Sensitivity, is_log_concave: bool) -> Fraction:
    if sensitivity.patterns is None and not is_log_concave:
        cells = min(sensitivity.l0, -(-sensitivity.l1 // 1))
        return 1 - (1 - impossible(law, -(-sensitivity.linf // 1))) ** cells
    return 1 - additive.least_product(additive.moves(sensitivity), lambda size: 1 - impossible(law, size))


def _sharpened(
    law: IntegerLaw, sensitivity: Sensitivity, delta: Fraction, products: Moves, is_log_concave: bool
) -> tuple[Fraction, Fraction]:
    """rho at delta by the loss distribution of all moved cells together, or cell by cell, whichever is smaller."""
    pairs = []
    if products:
        with suppress(TooLarge):
            costs = [rho_of(one, delta) for one in additive.product_losses(products)]
            pairs.append((max(rho for rho, _ in costs), max(used for _, used in costs)))
    if delta < 1 and additive.is_searched(sensitivity):
        rho = additive.worst_sum(sensitivity, lambda s: _cell_rho(law, s, is_log_concave))
        cells = min(sensitivity.l0, -(-sensitivity.l1 // 1))
        pairs.append((rho, delta + cells * ROUNDING))
    if not pairs:
        raise TooLarge("This noise has no loss distribution that is listed.")
    return min(pairs)


@lru_cache(maxsize=1024)
def _cell_rho(noise: IntegerLaw, size: int, is_log_concave: bool) -> Fraction:
    """rho of one cell that moves by at most `size`, outside the outputs that give its count away."""
    # A smaller shift of log-concave noise is a post-processing of a larger one; the events of failure are nested.
    sizes = range(size, size + 1) if is_log_concave else range(1, size + 1)
    signs = (1,) if is_symmetric(noise) else (1, -1)
    costs = [rho_of(of_shift(noise, sign * s), impossible(noise, s))[0] for s in sizes for sign in signs if s]
    return max(costs, default=Fraction(0))


class SquaredExponential(CentredNoise, ABC):
    """P(x) proportional to exp(-rate x^2) on |x| <= limit; a law says what its rate is."""

    limit: int
    evidence: ClassVar[Evidence]

    @property
    @abstractmethod
    def decay(self) -> Fraction:
        """The rate."""

    @property
    def support(self) -> tuple[int | None, int | None]:
        return (-self.limit, self.limit)

    def _floats(self) -> tuple[FloatArray, FloatArray]:
        x = np.arange(-self.limit, self.limit + 1, dtype=np.float64)
        return x, np.exp(-float(self.decay) * x * x)

    @property
    def variance(self) -> float:
        x, weight = self._floats()
        return float((x * x * weight).sum() / weight.sum())

    def weights(self, bits: int) -> WeightTable:
        keys = [-x * x for x in range(-self.limit, self.limit + 1)]
        return exponential_weights(self.decay, keys, -self.limit, bits)

    def log_pmf(self, k: IntArray) -> FloatArray:
        total = log(float(self._floats()[1].sum()))
        z = np.asarray(k, dtype=np.int64).astype(np.float64)
        return np.where(np.abs(z) > self.limit, -np.inf, -float(self.decay) * z * z - total)

    def log_weight(self) -> tuple[Fraction, Callable[[int], int]]:
        return self.decay, lambda x: -x * x

    def largest_loss(self, size: int) -> Fraction:
        """rate * (2 limit s - s^2), at most rate * limit^2."""
        s = min(abs(size), self.limit)
        return self.decay * (2 * self.limit * s - s * s)

    def profile(self, sensitivity: Sensitivity, relation: Relation) -> PrivacyProfile:
        law = cast(IntegerLaw, self)
        return profile(law, sensitivity, relation, self.evidence, is_log_concave=True)


def check_limit(limit: int) -> None:
    if limit < 1:
        raise ParameterError(f"limit must be an integer of at least 1; received {limit!r}.")
    if limit > MOST_LIMIT:
        raise TooLarge(f"limit must be at most {MOST_LIMIT}; received {limit}.")
