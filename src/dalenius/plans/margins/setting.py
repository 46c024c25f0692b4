"""What a strategy for a list of margins is given, and what it answers: expected error in closed form, measurements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from dalenius.algebra import joint
from dalenius.algebra.amounts import Amounts
from dalenius.algebra.margins import Margin, Workload
from dalenius.algebra.optimal import Pattern, patterns
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.conditions import Filter
from dalenius.core.contracts import Definition, Measurement, Mechanism, Statistic
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import Assemble
from dalenius.core.query import TableQuery
from dalenius.core.rationals import round_up
from dalenius.core.release import Block, Table
from dalenius.errors import DaleniusError, ParameterError, TooLarge, Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.allotments import Allotment, allotments, within_loss
from dalenius.statistics.count import Count
from dalenius.statistics.magnitude_table import MagnitudeTable

STRATEGIES = "plans.margins.strategies"
PARTS = 10**6
LEAST_VARIANCE = 1e-12
Key = TypeVar("Key")
"""What has a share: a margin, or a level by a margin."""


@dataclass(frozen=True, kw_only=True)
class MarginsAsked:
    """What was asked, by names."""

    domain: Domain
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
        return Noisy(self.name, self.statistic, mechanism, self.unit)

    def variance(self, mechanism: Mechanism) -> float:
        """Of one cell; a budget so large that no noise is left must not divide by zero."""
        return max(mechanism.variance, LEAST_VARIANCE) * float(self.unit) ** 2


def least_cost(amounts: Amounts | None, cost: Fraction) -> Fraction:
    """What counts may cost, so that amounts cost no more than `cost`."""
    return cost if amounts is None else cost / amounts.largest**2


def check_rounding(amounts: Amounts | None, step: Measurement) -> None:
    """Refuse a step that makes totals of too many halved sums."""
    if amounts is not None:
        amounts.check_rounding(max(need.space.size for need in step.needs if isinstance(need, TableQuery)))


def within_cost(
    amounts: Amounts | None,
    grid: Mapping[Key, Fraction],
    counted: Callable[[Mapping[Key, Fraction]], Fraction],
    alone: Callable[[Mapping[Key, Fraction]], Fraction],
    cost: Fraction,
    *,
    is_replace: bool,
) -> dict[Key, Fraction]:
    """The variances, widened where a replaced row that changes its sign, or halved sums, would cost more than rows that
    are counted `largest` times.
    """
    spent = counted(grid)
    if amounts is not None:
        spent = amounts.cost(spent, alone(grid) if is_replace else spent, is_replace=is_replace)
    if spent <= cost:
        return dict(grid)
    assert amounts is not None
    factor = spent / cost * Fraction(1_000_001, 1_000_000)
    return {key: round_up(variance * factor, 10**8) for key, variance in grid.items()}


@dataclass(frozen=True, kw_only=True)
class Setting(MarginsAsked):
    """The request, resolved to positions of axes."""

    workload: Workload

    def step(self, name: str, margin: Margin) -> UnpricedStep:
        """A margin that is measured by itself."""
        return UnpricedStep(name, self.space(margin), self.where, self.amounts)

    def space(self, margin: Margin) -> CellSpace:
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


def candidates(
    setting: MarginsAsked, proposal: Callable[[Any], Callable[[Allotment], Any] | None]
) -> tuple[list[Any], DaleniusError | None]:
    """Return the candidates of all strategies that serve the request, the plainest first, and the last refusal of one
    that does not; `proposal` is what a strategy proposes for an amount, or None.
    """
    offers = registry.own(STRATEGIES) if setting.strategy is None else registry.every(STRATEGIES)
    strategies = sorted(offers.values(), key=lambda strategy: strategy.plainness)
    served, refusal = [], None
    for allotment in allotments(setting.definition, setting.budget):
        for strategy in strategies:
            propose = proposal(strategy)
            if propose is None or setting.strategy not in (None, strategy.name):
                continue
            if allotment.is_by_loss and not has_curve(strategy):
                continue
            try:
                if allotment.is_by_loss:
                    served.append(
                        within_loss(allotment, propose, lambda c: c.build()[0], setting.neighbours, setting.budget)
                    )
                else:
                    served.append(propose(allotment))
            except (Unsupported, ParameterError, TooLarge) as error:
                # Noise that cannot be drawn rules out one strategy, not the others.
                refusal = error
    return served, refusal


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


def refuse_public_alone(is_public: bool) -> None:
    """Refuse a list of which every number is public."""
    if is_public:
        raise Unsupported(
            "Every number of this list is the declared size of the data, which is public: there is nothing to measure."
        )


def assembling(law: Joint, spaces: Sequence[CellSpace], measure: str) -> Assemble:
    """From blocks to tables, by the law alone."""

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        shown = zip(spaces, joint.estimates(blocks, law), joint.variances(law), strict=True)
        return tuple(
            Table(
                name=table_name([axis.name for axis in space.axes]),
                space=space,
                values=np.asarray(values, dtype=np.float64),
                variance=np.array(variance),
                measure=measure,
            )
            for space, values, variance in shown
        )

    return assemble


def table_name(names: Sequence[str]) -> str:
    """How a margin is called: its axes, or "total"."""
    return " x ".join(names) or "total"


def without_total(setting: Setting) -> Workload:
    """The list without a total that is public anyway."""
    workload = setting.workload
    if setting.total is None or () not in workload.margins or len(workload.margins) == 1:
        return workload
    kept = [(m, w) for m, w in zip(workload.margins, workload.importance, strict=True) if m]
    return Workload(workload.shape, tuple(m for m, _ in kept), tuple(w for _, w in kept))
