"""What measurements of several numbers at once share: Gaussian profiles, and differences in integers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from dalenius.core import conversions
from dalenius.core.evidence import Evidence
from dalenius.core.integer_law import Noised
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.exact.gaussian_vector import smoothed
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

Key = TypeVar("Key")


def gaussian_profile(
    grid: Mapping[Key, Fraction],
    cells: Mapping[Key, int],
    price: Callable[[Mapping[Key, Fraction]], Fraction],
    neighbours: Neighbours,
    evidence: Evidence,
    *,
    has_curve: bool,
) -> PrivacyProfile:
    """Zero-concentrated; with `has_curve` also delta(epsilon) as Gaussian noise on so many moving cells."""
    rho = price(grid) / 2
    whole = smoothed(grid, cells, price) if has_curve else None
    curve = None
    if whole is not None:

        def curve(epsilon: Fraction) -> Fraction:
            return min(conversions.rho_to_delta(rho, epsilon), whole.delta(epsilon))

    return PrivacyProfile(relation=neighbours.relation, rho=rho, curve=curve, evidence=evidence)


def differences(array: IntArray, first: int = 0) -> IntArray:
    """Differences from the first cell along each axis from `first` on: all that centring can see, in integers."""
    out = array
    for axis in range(first, array.ndim):
        out = out - np.take(out, [0], axis=axis)
    return out


def components_law(scaled: Sequence[IntArray], variances: Iterable[Fraction], first: int = 0) -> Noised:
    """Differences see components only up to what is equal along an axis, so that centred ones give the same."""
    centred = list(scaled)
    for place, part in enumerate(scaled):
        for axis in range(first, part.ndim):
            centred[place] = centred[place] - centred[place].sum(axis=axis, keepdims=True) // part.shape[axis]
    laws = [law for part, law in zip(scaled, map(DiscreteGaussian, variances), strict=True) for _ in range(part.size)]

    def shown(numbers: IntArray) -> IntArray:
        ends = np.cumsum([part.size for part in scaled])[:-1]
        parts = (cut.reshape(part.shape) for cut, part in zip(np.split(numbers, ends), scaled, strict=True))
        return np.concatenate([differences(part, first).ravel() for part in parts])

    return Noised(np.concatenate([part.ravel() for part in centred]).tolist(), laws, shown)
