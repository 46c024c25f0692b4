"""What measurements of residual components share: noise that can be drawn, differences in integers, and one block."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.core import conversions
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace, numbered
from dalenius.core.evidence import Evidence
from dalenius.core.integer_law import Noised
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import TableQuery
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Value
from dalenius.exact.gaussian_vector import smoothed
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

Key = TypeVar("Key")


def check_noise(variances: Iterable[Fraction]) -> None:
    """Noise that cannot be drawn is refused before anything is charged."""
    for variance in set(variances):
        DiscreteGaussian(variance)


def table_query(space: CellSpace, where: tuple[Filter, ...], amounts: Amounts | None) -> TableQuery:
    """Counts of rows, or totals of what they add."""
    return TableQuery(space=space, where=where) if amounts is None else amounts.query(space, where)


def step_of(amounts: Amounts | None) -> dict[str, str]:
    """The part of a law's document that says in which steps totals are measured; counts have none."""
    return {} if amounts is None else {"step": plain(amounts.step)}


def priced_by(
    worst: Callable[[Mapping[Key, Fraction]], Fraction],
    alone: Callable[[Mapping[Key, Fraction]], Fraction],
    amounts: Amounts | None,
    neighbours: Neighbours,
) -> Callable[[Mapping[Key, Fraction]], Fraction]:
    """2 rho of a unit's rows, from the costs of counted rows: of the worst neighbours, and of one row that is added."""

    def price(grid: Mapping[Key, Fraction]) -> Fraction:
        cost = worst(grid)
        if amounts is not None:
            cost = amounts.cost(cost, alone(grid), is_replace=neighbours.is_replace)
        return cost * neighbours.max_rows**2

    return price


def gaussian_profile(
    grid: Mapping[Key, Fraction],
    cells: Mapping[Key, int],
    price: Callable[[Mapping[Key, Fraction]], Fraction],
    neighbours: Neighbours,
    evidence: Evidence,
    *,
    has_curve: bool,
) -> PrivacyProfile:
    """Zero-concentrated; with `has_curve` delta(epsilon) of the Gaussian step that so many moving cells are
    together.
    """
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
    """Differences of noisy components see them only up to what does not vary along an axis from `first` on, so that the
    centred components, which are whole because they are scaled, give the same differences.
    """
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


def components_block(name: str, outcome: Value, law: Joint) -> Block:
    """One array: the components one after the other."""
    labels = numbered(len(outcome.values))
    space = CellSpace((Axis(variable=name, labels=labels),))
    return Block(name=name, space=space, values=outcome.values, law=law, role="residual components")
