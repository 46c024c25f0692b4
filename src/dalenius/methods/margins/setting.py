"""What a strategy for a list of margins is given, and what it answers: expected error in closed form, measurements."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar, runtime_checkable

from dalenius.algebra.amounts import Amounts
from dalenius.algebra.margins import Margin, Workload
from dalenius.algebra.optimal import Pattern, patterns
from dalenius.core.budget import Budget
from dalenius.core.conditions import Filter
from dalenius.core.contracts import Definition, Measurement, Mechanism, Statistic
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.core.rationals import round_up
from dalenius.measurements.noisy import Noisy
from dalenius.plans.allotments import Allotment
from dalenius.statistics.count import Count
from dalenius.statistics.magnitude_table import MagnitudeTable

PARTS = 10**6
LEAST_VARIANCE = 1e-12
Key = TypeVar("Key")
"""What has a share: a margin, or a level by a margin."""


@dataclass(frozen=True, kw_only=True)
class MarginsAsked:
    """What was asked, by names."""

    axes: tuple[Axis, ...]
    margins: tuple[tuple[str, ...], ...]
    where: tuple[Filter, ...]
    budget: Budget
    definition: Definition
    neighbours: Neighbours
    weights: tuple[float, ...]
    objective: str
    strategy: str | None
    mechanism: str | None
    structural_zeros: frozenset[tuple[int, ...]]
    total: int | None
    amounts: Amounts | None = None

    @property
    def measure(self) -> str:
        """What the tables show."""
        return "count" if self.amounts is None else self.amounts.measure


@dataclass(frozen=True)
class UnpricedStep:
    """A table that will be measured by itself, before its noise is chosen."""

    name: str
    space: CellSpace
    where: tuple[Filter, ...]
    amounts: Amounts | None

    @property
    def statistic(self) -> Statistic:
        """Counts, or totals of what each row adds."""
        if self.amounts is None:
            return Count(TableQuery(space=self.space, where=self.where))
        if self.amounts.is_plain_count:
            return Count(self.amounts.query(self.space, self.where))
        low, high = self.amounts.ends
        return MagnitudeTable(query=self.amounts.query(self.space, self.where), low=low, high=high)

    @property
    def unit(self) -> Fraction:
        """What one step is worth."""
        return Fraction(1) if self.amounts is None else self.amounts.step

    def measured(self, mechanism: Mechanism) -> Noisy:
        """The measurement."""
        return Noisy(self.name, self.statistic, mechanism, self.unit)

    def variance(self, mechanism: Mechanism) -> float:
        """Of one cell; a budget so large that no noise is left must not divide by zero."""
        return max(mechanism.variance, LEAST_VARIANCE) * float(self.unit) ** 2


def least_cost(amounts: Amounts | None, cost: Fraction) -> Fraction:
    """What counts may cost, so that amounts cost no more than `cost`."""
    return cost if amounts is None else cost / amounts.largest**2


def within_span(
    amounts: Amounts | None,
    grid: Mapping[Key, Fraction],
    alone: Callable[[Mapping[Key, Fraction]], Fraction],
    cost: Fraction,
    *,
    is_replace: bool,
) -> dict[Key, Fraction]:
    """The variances, widened where a replaced row that changes its sign would cost more than a moved one."""
    spent = Fraction(0) if amounts is None or not is_replace else amounts.span**2 * alone(grid)
    if spent <= cost:
        return dict(grid)
    factor = spent / cost * Fraction(1_000_001, 1_000_000)
    return {key: round_up(variance * factor, 10**8) for key, variance in grid.items()}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The request, resolved to positions of axes."""

    domain: Domain
    axes: tuple[Axis, ...]
    where: tuple[Filter, ...]
    workload: Workload
    neighbours: Neighbours
    definition: Definition
    budget: Budget
    objective: str
    mechanism: str | None
    total: int | None
    amounts: Amounts | None = None

    def step(self, name: str, margin: Margin) -> UnpricedStep:
        """A margin that is measured by itself."""
        return UnpricedStep(name, self.space(margin), self.where, self.amounts)

    def space(self, margin: Margin) -> CellSpace:
        """Cells of a margin."""
        return CellSpace(tuple(self.axes[a] for a in margin))

    def score(self, components: Mapping[Margin, float]) -> float:
        """What the objective makes small."""
        judge = self.workload.worst if self.objective == "maximum" else self.workload.rmse
        return judge(components)

    def moves(self) -> tuple[Pattern, ...]:
        """Patterns of change of one row."""
        return patterns(
            self.workload.interior, is_replace=self.neighbours.is_replace, is_size_public=self.total is not None
        )


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One strategy: component variances after least squares, and how to measure it."""

    strategy: str
    mechanism: str
    components: Mapping[Margin, float]
    score: float
    build: Callable[[], tuple[tuple[Measurement, ...], list[dict[str, Any]]]]
    before: float | None = None

    def measurements(self, setting: Setting) -> tuple[Measurement, ...]:
        """The private steps."""
        return self.build()[0]

    def law(self, setting: Setting) -> Joint:
        """Public: rebuilds estimates and covariances from the blocks."""
        workload = setting.workload
        return Joint(
            "margins",
            {
                "strategy": self.strategy,
                "axes": [axis.name for axis in setting.axes],
                "shape": list(workload.shape),
                "shown": [list(m) for m in workload.margins],
                "components": [[list(a), v] for a, v in self.components.items()],
                "total": setting.total,
                "blocks": self.build()[1],
            },
        )


def without_total(setting: Setting) -> Workload:
    """The list without a total that is public anyway."""
    workload = setting.workload
    if setting.total is None or () not in workload.margins or len(workload.margins) == 1:
        return workload
    kept = [(m, w) for m, w in zip(workload.margins, workload.importance, strict=True) if m]
    return Workload(workload.shape, tuple(m for m, _ in kept), tuple(w for _, w in kept))


@runtime_checkable
class ListStrategy(Protocol):
    """A strategy for lists of plain margins."""

    name: str

    def option(self, setting: Setting, allotment: Allotment, /) -> Candidate:
        """Return what the strategy would measure for this amount."""


@runtime_checkable
class Curved(Protocol):
    """A strategy that says whether its single step states delta as a function of epsilon."""

    has_curve: bool


def has_curve(strategy: object) -> bool:
    """Return whether a strategy can be priced by its loss; one that does not say so cannot."""
    return isinstance(strategy, Curved) and strategy.has_curve
