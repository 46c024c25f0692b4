"""Privacy of integer noise on a finite range: largest finite loss, and the mass of outputs that give the count away.

For a cell that moves by s, an output is impossible under the neighbour exactly if it lies in the last s places of the
range; elsewhere the loss is the difference of two log-weights. Both are computed exactly. Several cells compose:
losses add, and the chance that no cell gives its count away is a product.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import log
from typing import ClassVar, cast

import numpy as np

from dalenius.core.conversions import pure_to_rho
from dalenius.core.evidence import Evidence
from dalenius.core.law import FloatArray, IntArray, IntegerLaw, WeightTable
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import exp_enclosure, round_up
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact import additive
from dalenius.exact.loss import ExponentialLaw

MOST_LIMIT = 1 << 13


def exponential_weights(unit: Fraction, keys: Sequence[int], first: int, bits: int) -> WeightTable:
    """Weights exp(unit * key) for a table of non-positive integer keys."""
    known = {key: exp_enclosure(unit * key, bits) for key in set(keys)}
    return WeightTable(bits, first, [known[k][0] for k in keys], [known[k][1] for k in keys])


def impossible(law: IntegerLaw, size: int) -> Fraction:
    """Mass of outputs that a neighbour `size` away cannot give, for the worse of the two directions; rounded up."""
    return _impossible(cast(Hashable, law), size)


@lru_cache(maxsize=1024)
def _impossible(law: IntegerLaw, size: int) -> Fraction:
    low, high = law.support
    assert low is not None and high is not None
    if size > high - low:
        return Fraction(1)
    table = law.weights(256)
    ends = max(sum(table.upper[:size]), sum(table.upper[-size:])) if size else 0
    return min(Fraction(1), round_up(Fraction(ends, sum(table.lower)), 10**40))


def largest_finite_loss(law: IntegerLaw, size: int) -> Fraction:
    """Largest |log ratio| where both neighbours can give the output."""
    return _largest_finite_loss(cast(Hashable, law), size)


@lru_cache(maxsize=1024)
def _largest_finite_loss(law: IntegerLaw, size: int) -> Fraction:
    assert isinstance(law, ExponentialLaw)
    low, high = law.support
    assert low is not None and high is not None
    unit, key = law.log_weight()
    keys = [key(x) for x in range(low, high + 1)]
    return unit * max((abs(a - b) for a, b in zip(keys[size:], keys, strict=False)), default=0)


def profile(
    law: IntegerLaw,
    sensitivity: Sensitivity,
    relation: Relation,
    evidence: Evidence,
    *,
    is_log_concave: bool,
) -> PrivacyProfile:
    """The exact pair for the worst move; the exact curve too where larger moves are known to lose more."""
    if sensitivity.linf > MOST_LIMIT:
        raise TooLarge("A cell moves by more than noise on a finite range can hide.")
    epsilon = rho = delta = Fraction(0)
    for move in additive.moves(sensitivity):
        loss = part = Fraction(0)
        kept = Fraction(1)
        for size in move:
            # Without log-concavity a smaller move may lose more than a larger one.
            sizes = (size,) if is_log_concave else range(1, size + 1)
            worst = max(largest_finite_loss(law, s) for s in sizes)
            loss, part = loss + worst, part + pure_to_rho(worst)
            kept *= 1 - max(impossible(law, s) for s in sizes)
        epsilon, rho, delta = max(epsilon, loss), max(rho, part), max(delta, 1 - kept)
    delta = min(Fraction(1), round_up(delta, 10**40))
    is_unit = sensitivity.patterns is not None and all(set(p) <= {1} for p in sensitivity.patterns)
    if is_log_concave or (is_unit and getattr(law, "is_symmetric", False)):
        return additive.assembled(
            law,
            sensitivity,
            relation,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            rho_delta=delta,
            evidence=evidence,
        )
    return PrivacyProfile(
        relation=relation, epsilon=epsilon, delta=delta, rho=rho, rho_delta=delta, evidence=evidence
    )


class SquaredExponential(ABC):
    """P(x) proportional to exp(-rate x^2) on |x| <= limit; a law says what its rate is."""

    limit: int
    evidence: ClassVar[Evidence]
    is_symmetric: ClassVar[bool] = True

    @property
    @abstractmethod
    def decay(self) -> Fraction:
        """The rate."""

    @property
    def support(self) -> tuple[int | None, int | None]:
        """-limit to limit."""
        return (-self.limit, self.limit)

    @property
    def mean(self) -> float:
        """Zero."""
        return 0.0

    def _floats(self) -> tuple[FloatArray, FloatArray]:
        x = np.arange(-self.limit, self.limit + 1, dtype=np.float64)
        return x, np.exp(-float(self.decay) * x * x)

    @property
    def variance(self) -> float:
        """Summed."""
        x, weight = self._floats()
        return float((x * x * weight).sum() / weight.sum())

    def weights(self, bits: int) -> WeightTable:
        """exp(-rate x^2), as many as there are."""
        keys = [-x * x for x in range(-self.limit, self.limit + 1)]
        return exponential_weights(self.decay, keys, -self.limit, bits)

    def log_pmf(self, k: IntArray) -> FloatArray:
        """-rate k^2 - log of the total weight; -inf beyond the limit."""
        total = log(float(self._floats()[1].sum()))
        z = np.asarray(k, dtype=np.int64).astype(np.float64)
        return np.where(np.abs(z) > self.limit, -np.inf, -float(self.decay) * z * z - total)

    def log_weight(self) -> tuple[Fraction, Callable[[int], int]]:
        """Losses are multiples of the rate."""
        return self.decay, lambda x: -x * x

    def largest_loss(self, size: int) -> Fraction:
        """rate * (2 limit s - s^2), at most rate * limit^2."""
        s = min(abs(size), self.limit)
        return self.decay * (2 * self.limit * s - s * s)

    def profile(self, sensitivity: Sensitivity, relation: Relation) -> PrivacyProfile:
        """The exact pair, and the exact curve where the moves are listed."""
        law = cast(IntegerLaw, self)
        return profile(law, sensitivity, relation, self.evidence, is_log_concave=True)


def check_limit(limit: int) -> None:
    """A finite range is an integer of at least one, and short enough to be listed."""
    if limit < 1:
        raise ParameterError(f"limit must be an integer of at least 1; received {limit!r}.")
    if limit > MOST_LIMIT:
        raise TooLarge(f"limit must be at most {MOST_LIMIT}; received {limit}.")
