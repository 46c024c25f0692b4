"""What a strategy for a list of margins is given, and what it answers: expected error in closed form, measurements."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dalenius.core import conversions, registry
from dalenius.core.budget import Budget
from dalenius.core.contracts import Definition, Measurement
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.query import Filter
from dalenius.errors import Unsupported
from dalenius.linear.margins import Margin, Workload
from dalenius.linear.optimal import Pattern, patterns

PARTS = 10**6
LEAST_VARIANCE = 1e-12


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
            self.workload.interior,
            is_replace=self.neighbours.is_replace,
            is_size_public=self.total is not None,
        )


@dataclass(frozen=True, kw_only=True)
class Allotment:
    """A budget in one currency: "epsilon" for Laplace noise, "rho" for Gaussian."""

    currency: str
    amount: Fraction

    @property
    def mechanism(self) -> str:
        """The family that is best in this currency."""
        return "discrete_laplace" if self.currency == "epsilon" else "discrete_gaussian"

    def part(self, share: Fraction) -> tuple[Definition, Budget]:
        """A share of the budget, with the definition in which it is spent."""
        name = "pure" if self.currency == "epsilon" else "zero_concentrated"
        amounts: dict[str, Any] = {self.currency: self.amount * share}
        return registry.get("definitions", name)(), Budget(definition=name, **amounts)


def purses(definition: Definition, budget: Budget) -> tuple[Allotment, ...]:
    """The currencies in which a definition's budget can be spent."""
    name = definition.name
    if definition.scope is not Scope.EVERYWHERE:
        raise Unsupported(f"Margins are planned under definitions that hold everywhere; {name!r} does not.")
    if name == "pure" and budget.epsilon is not None:
        return (Allotment(currency="epsilon", amount=budget.epsilon),)
    if name == "zero_concentrated" and budget.rho is not None:
        return (Allotment(currency="rho", amount=budget.rho),)
    if budget.epsilon is not None and budget.delta is not None:
        rho = affordable_rho(budget.epsilon, budget.delta)
        return (Allotment(currency="epsilon", amount=budget.epsilon), Allotment(currency="rho", amount=rho))
    raise Unsupported(f"Margins are not planned under {name!r}.")


def affordable_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho (rounded down) whose conversion stays within (epsilon, delta)."""
    low, high = Fraction(0), epsilon
    for _ in range(40):
        middle = Fraction(int((low + high) / 2 * 10**12), 10**12)
        if middle > 0 and conversions.rho_to_delta(middle, epsilon) <= delta:
            low = middle
        else:
            high = middle
    if not low:
        raise Unsupported("No Gaussian noise fits this epsilon and delta.")
    return low


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
