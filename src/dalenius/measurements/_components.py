"""What measurements of residual components share: noise that can be drawn, differences in integers, and one block."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.core import conversions
from dalenius.core.cells import Axis, CellSpace, numbered
from dalenius.core.conditions import Filter
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Noised
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.exact.gaussian_vector import smoothed
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

Key = TypeVar("Key")


class ComponentsStep(ABC):
    """Scaled components plus integer Gaussian noise, reduced to differences along every axis from `first` on.

    `grid` holds the variance of the noise of each component. With `amounts` the components are of totals.
    """

    name: str
    grid: Mapping[Any, Fraction]
    amounts: Amounts | None
    first: ClassVar[int] = 0
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED, references=("Xiao et al. (2023)", "docs/explanation/margins.md")
    )

    def __post_init__(self) -> None:
        # Noise that cannot be drawn is refused before anything is charged.
        for variance in set(self.grid.values()):
            DiscreteGaussian(variance)
        if self.amounts is not None:
            self.amounts.check(max((prod(self._cells(key)[self.first :]) for key in self.grid), default=1))

    @property
    @abstractmethod
    def law(self) -> Joint:
        """Everything needed to draw such blocks again."""

    @abstractmethod
    def _cells(self, key: Any) -> tuple[int, ...]:
        """The shape of a component."""

    @abstractmethod
    def _scaled(self, content: Sequence[IntArray]) -> list[IntArray]:
        """The components in units of one over the cells of their axes from `first` on."""

    def draw(self, rng: RandomSource) -> list[IntArray]:
        return [sample(DiscreteGaussian(v), prod(self._cells(key)), rng) for key, v in self.grid.items()]

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Noisy components, reduced to differences from the reference cell; overflow wraps and stays private."""
        scaled = self._scaled([table.open_below_the_gate() for table in exact])
        noisy = (part + noise.reshape(part.shape) for part, noise in zip(scaled, drawn, strict=True))
        return Value(np.concatenate([differences(part, self.first).ravel() for part in noisy]))

    def block(self, outcome: Value) -> Block:
        """One array: the components one after the other, in the order of `grid`."""
        space = CellSpace((Axis(variable=self.name, labels=numbered(len(outcome.values))),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="residual components")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """What the differences see, plus noise. Guard: audits run the step on both neighbours with the same noise."""
        return (components_law(self._scaled(content), self.grid.values(), self.first),)


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
