"""The loss of one pair of data sets, from the exact laws of the answers on either side.

Nothing here uses profiles, sensitivities or loss distributions of the product: probabilities are listed, divided and
summed. Sums are in floats and round *down* where a grid is needed, so that a loss above its charge is a fault and not a
rounding.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from math import exp, floor, isqrt, log
from typing import cast

import numpy as np

from dalenius.core.integer_law import Listed, NoiseLaw
from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import TooLarge
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

_UNIT = 1e-3
_LARGEST = 60.0
_FAINTEST = -650.0
_MOST_LISTED = 2_000_000
_FARTHEST = 1 << 55
# NoiseLaw with a larger scale is not listed answer by answer.
_WIDE = 1000


@dataclass(frozen=True, eq=False)
class AnswerPart:
    """An independent part of an answer: log-probabilities on either side, and the sure share of a hockey stick."""

    here: FloatArray
    there: FloatArray
    share: float = 1.0
    _orders: dict[float, float] = field(default_factory=dict, repr=False)

    def reversed(self) -> "AnswerPart":
        return self._reversed

    @cached_property
    def _reversed(self) -> "AnswerPart":
        return AnswerPart(self.there, self.here, self.share)

    def _possible(self) -> tuple[FloatArray, FloatArray]:
        kept = self.here > -np.inf
        return self.here[kept], self.there[kept]

    def largest(self) -> float:
        """Largest log-ratio of any answer; infinite where one is possible on one side only."""
        here, there = self._possible()
        return float(np.max(here - there, initial=0.0))

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence at epsilon, or a little less."""
        here, there = self._possible()
        return self.share * float(np.maximum(np.exp(here) - np.exp(there + epsilon), 0.0).sum())

    def beyond(self, epsilon: float) -> float:
        """Probability of log-ratios above epsilon; losses within a rounding of epsilon are not beyond it."""
        here, there = self._possible()
        return float(np.exp(here[here - there > epsilon + 1e-9]).sum())

    def renyi(self, order: float) -> float:
        if order not in self._orders:
            self._orders[order] = self._renyi(order)
        return self._orders[order]

    def _renyi(self, order: float) -> float:
        here, there = self._possible()
        if np.any(np.isneginf(there)):
            return np.inf
        return max(0.0, _log_sum(order * here + (1 - order) * there) / (order - 1))

    def on_grid(self) -> tuple[int, FloatArray]:
        """Masses of the losses, each rounded down to a multiple of the unit; the first multiple."""
        here, there = self._possible()
        with np.errstate(invalid="ignore"):
            loss = np.clip(here - there, -_LARGEST, _LARGEST)
        places = np.floor(loss / _UNIT + 1e-9).astype(np.int64)
        first = int(places.min())
        return first, np.asarray(np.bincount(places - first, weights=np.exp(here)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Together:
    parts: tuple["Shown", ...]

    def reversed(self) -> "Together":
        return self._reversed

    @cached_property
    def _reversed(self) -> "Together":
        return Together(tuple(part.reversed() for part in self.parts))

    def largest(self) -> float:
        return sum(part.largest() for part in self.parts)

    @cached_property
    def losses(self) -> tuple[FloatArray, FloatArray]:
        grids = [part.on_grid() for part in self.parts]
        length = sum(len(masses) - 1 for _, masses in grids) + 1
        size = 1 << (length - 1).bit_length()
        spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
        for _, masses in grids:
            spectrum = spectrum * np.fft.rfft(masses, size)
        together = np.maximum(np.fft.irfft(spectrum, size)[:length], 0.0)
        places = sum(first for first, _ in grids) + np.arange(length, dtype=np.float64)
        return np.asarray(places * _UNIT), np.asarray(together, dtype=np.float64)

    def delta(self, epsilon: float) -> float:
        """From the listed losses of one part, or from the losses of all on a grid."""
        if len(self.parts) == 1:
            return self.parts[0].delta(epsilon)
        loss, masses = self.losses
        above = loss > epsilon
        return float((masses[above] * -np.expm1(epsilon - loss[above])).sum())

    def beyond(self, epsilon: float) -> float:
        if len(self.parts) == 1:
            return self.parts[0].beyond(epsilon)
        loss, masses = self.losses
        return float(masses[loss > epsilon + _UNIT].sum())

    def renyi(self, order: float) -> float:
        return sum(part.renyi(order) for part in self.parts)


@dataclass(frozen=True, eq=False)
class Adaptive:
    first: AnswerPart
    then: tuple[Together, ...]

    def reversed(self) -> "Adaptive":
        return Adaptive(self.first.reversed(), tuple(pair.reversed() for pair in self.then))

    def _branches(self) -> Sequence[tuple[float, float, Together]]:
        both = zip(self.first.here.tolist(), self.first.there.tolist(), self.then, strict=True)
        return [branch for branch in both if branch[0] > -np.inf]

    def largest(self) -> float:
        return max(a - b + pair.largest() for a, b, pair in self._branches())

    def delta(self, epsilon: float) -> float:
        """The first loss shifts the epsilon of the second step."""
        return sum(exp(a) * pair.delta(epsilon - (a - b)) for a, b, pair in self._branches())

    def beyond(self, epsilon: float) -> float:
        return sum(exp(a) * pair.beyond(epsilon - (a - b)) for a, b, pair in self._branches())

    def renyi(self, order: float) -> float:
        terms = [order * a + (1 - order) * b + (order - 1) * p.renyi(order) for a, b, p in self._branches()]
        return max(0.0, _log_sum(np.array(terms)) / (order - 1))

    def on_grid(self) -> tuple[int, FloatArray]:
        """Masses of the losses of all branches, each rounded down to a multiple of the unit; the first multiple."""
        branches = [(exp(a), np.clip(a - b, -_LARGEST, _LARGEST), *pair.losses) for a, b, pair in self._branches()]
        loss = np.concatenate([first + then for _, first, then, _ in branches])
        places = np.floor(loss / _UNIT + 1e-9).astype(np.int64)
        masses = np.concatenate([chance * then for chance, _, _, then in branches])
        first = int(places.min())
        return first, np.asarray(np.bincount(places - first, weights=masses), dtype=np.float64)


Shown = AnswerPart | Adaptive
Divergence = Together | Shown
"""What an answer shows of the difference between two data sets, in one direction: `here` against `there`."""


def _log_sum(terms: FloatArray) -> float:
    top = float(np.max(terms))
    return top if np.isinf(top) else top + float(np.log(np.exp(terms - top).sum()))


def certain(shift: int) -> AnswerPart:
    """An answer without noise: any shift gives the data away."""
    here = np.array([0.0, -np.inf])
    return AnswerPart(here, here[::-1] if shift else here)


def shifted(law: NoiseLaw, shift: int) -> AnswerPart:
    """NoiseLaw at an exact answer against the same noise at an answer that is `shift` larger."""
    # Laws are frozen and compared by their parameters.
    return _shifted(cast(Hashable, law), shift)


@lru_cache(maxsize=512)
def _shifted(held: Hashable, shift: int) -> AnswerPart:
    law = cast(NoiseLaw, held)
    if isinstance(law, DiscreteGaussian) and law.sigma_squared > _WIDE**2:
        return _thinned(law, shift)
    if isinstance(law, DiscreteLaplace):
        return _lumped(law, shift)
    points, here = listed(law, shift)
    return AnswerPart(here, _log_pmf(law, points - shift))


def _thinned(law: DiscreteGaussian, shift: int) -> AnswerPart:
    """Multiples of a small part of the standard deviation: sums of powers over them are those over all integers.

    A hockey stick has a bend, at which that is off by a part of less than 1e-4; so much is taken off.
    """
    stride = isqrt(floor(law.sigma_squared)) // 500
    most = _reach(law, shift) // stride
    if most > _MOST_LISTED:
        raise TooLarge("Too many answers to be listed.", received=most, limit=_MOST_LISTED)
    points = np.arange(-most, most + 1, dtype=np.int64) * stride
    sides = [_log_pmf(law, points - centre) + log(stride) for centre in (0, shift)]
    return AnswerPart(sides[0], sides[1], share=1 - 1e-4)


def _lumped(law: DiscreteLaplace, shift: int) -> AnswerPart:
    """Runs of answers as one answer each: beyond both centres ratios are alike, between them a run shows less."""
    rate, (low, high) = float(law.rate), sorted((0, shift))
    width = max(1, min((high - low) // 1000, floor(1 / (200 * rate))))
    if high - low > _MOST_LISTED * width:
        raise TooLarge("Too many answers to be listed.", received=high - low, limit=_MOST_LISTED * width)
    between = np.arange(low, high, width, dtype=np.int64)
    outer = np.array([low - _FARTHEST, 0, 1, shift, shift + 1, high + _FARTHEST], dtype=np.int64)
    ends = np.unique(np.concatenate([between, outer]))
    first, last = ends[:-1], ends[1:] - 1
    size = np.log(-np.expm1(-rate * (last - first + 1))) - np.log(-np.expm1(-rate))
    sides = []
    for centre in (0, shift):
        nearest = np.where(first >= centre, first - centre, centre - last)
        sides.append(_log_pmf(law, nearest) + size)
    return AnswerPart(sides[0], sides[1])


def mixed(law: NoiseLaw, here: Mapping[int, float], there: Mapping[int, float]) -> AnswerPart:
    centres = [*here, *there]
    middle = (min(centres) + max(centres)) // 2
    points, _ = listed(law, max(centres) - middle + 1)
    return AnswerPart(_mixture(law, points, middle, here), _mixture(law, points, middle, there))


def _mixture(law: NoiseLaw, points: IntArray, middle: int, centres: Mapping[int, float]) -> FloatArray:
    likely = ((centre - middle, log(chance)) for centre, chance in centres.items() if chance > 0)
    return np.asarray(
        reduce(np.logaddexp, (_log_pmf(law, points - shift) + log_chance for shift, log_chance in likely))
    )


def aligned(a: Listed, b: Listed) -> tuple[IntArray, FloatArray, FloatArray]:
    """All outcomes of two laws, with their log-probabilities in either; minus infinity where one has none."""
    if np.array_equal(a.outcomes, b.outcomes):
        return a.outcomes, a.logs, b.logs
    places = dict.fromkeys(map(tuple, (*a.outcomes.tolist(), *b.outcomes.tolist())))
    sides = [dict(zip(map(tuple, law.outcomes.tolist()), law.logs.tolist(), strict=True)) for law in (a, b)]
    logs = [np.array([side.get(place, -np.inf) for place in places]) for side in sides]
    return np.array(list(places), dtype=np.int64), logs[0], logs[1]


def listed(law: NoiseLaw, shift: int) -> tuple[IntArray, FloatArray]:
    """Answers of a noise and of the same noise `shift` away, either way, with log-probabilities of the first."""
    reach = _reach(law, shift)
    if reach > _MOST_LISTED:
        raise TooLarge("Too many answers to be listed.", received=reach, limit=_MOST_LISTED)
    points = np.arange(-reach, reach + 1, dtype=np.int64)
    return points, _log_pmf(law, points)


def _log_pmf(law: NoiseLaw, points: IntArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(law.log_pmf(points), dtype=np.float64)


def _reach(law: NoiseLaw, shift: int) -> int:
    """How far answers are listed: all of a finite law, otherwise until they are too faint for a float."""
    low, high = law.support
    if low is not None and high is not None:
        return max(-low, high) + abs(shift)
    reach = 16
    while reach < _FARTHEST and float(_log_pmf(law, np.array([reach], dtype=np.int64))[0]) > _FAINTEST:
        reach *= 2
    return reach + abs(shift)
