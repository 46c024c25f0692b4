"""The ways to measure a list of margins: expected error in closed form, and the measurements if chosen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from dalenius.core import conversions, registry
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Definition, Measurement, Mechanism
from dalenius.core.domain import MOST_CELLS, Axis, CellSpace, Domain
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.query import Filter, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.linear.margins import Margin, Workload
from dalenius.linear.optimal import Pattern, exact_cost, grid_variances, patterns, select
from dalenius.linear.shares import GaussianNoise, LaplaceNoise, Noise, equal_shares, optimise, root_shares
from dalenius.measurements.fourier import Fourier, coefficient_shift
from dalenius.measurements.noisy import Noisy
from dalenius.measurements.residual import Residual
from dalenius.statistics.count import Count

_PARTS = 10**6
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Request:
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
class Purse:
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


def purses(definition: Definition, budget: Budget) -> tuple[Purse, ...]:
    """The currencies in which a definition's budget can be spent."""
    name = definition.name
    if definition.scope is not Scope.EVERYWHERE:
        raise Unsupported(f"Margins are planned under definitions that hold everywhere; {name!r} does not.")
    if name == "pure" and budget.epsilon is not None:
        return (Purse(currency="epsilon", amount=budget.epsilon),)
    if name == "zero_concentrated" and budget.rho is not None:
        return (Purse(currency="rho", amount=budget.rho),)
    if budget.epsilon is not None and budget.delta is not None:
        rho = affordable_rho(budget.epsilon, budget.delta)
        return (Purse(currency="epsilon", amount=budget.epsilon), Purse(currency="rho", amount=rho))
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
class Option:
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


def every(setting: Setting, only: str | None = None) -> list[Option]:
    """All strategies that are valid for the request; or the named one, which must be."""
    workload = setting.workload
    if setting.total is not None and all(workload.size(margin) == 1 for margin in workload.margins):
        raise Unsupported(
            "Every number of this list is the declared size of the data, which is public: there is nothing to measure."
        )
    found: list[Option] = []
    for purse in purses(setting.definition, setting.budget):
        root = "cube_root" if purse.currency == "epsilon" else "square_root"
        makers: dict[str, Callable[[Setting, Purse], Option]] = {
            "interior": _interior,
            "split": _split,
            "equal": _equal,
            root: _root,
            "fourier": _fourier,
        }
        if purse.currency == "rho":
            makers["residual"] = _residual
        for name, make in makers.items():
            if only is not None and name != only:
                continue
            try:
                option = make(setting, purse)
            except (Unsupported, ParameterError, TooLarge):
                # Noise that cannot be drawn rules out one strategy, not the others.
                continue
            if isfinite(option.score):
                found.append(option)
    if not found:
        which = f"The strategy {only!r} is not" if only else "No strategy is"
        raise Unsupported(f"{which} available for this list of margins under {setting.definition.name!r}.")
    return found


def _noise(setting: Setting, purse: Purse) -> Noise:
    rows, sides = setting.neighbours.max_rows, 2 if setting.neighbours.is_replace else 1
    if purse.currency == "epsilon":
        return LaplaceNoise(float(purse.amount), sides * rows)
    return GaussianNoise(float(purse.amount), sides * rows**2)


def _interior(setting: Setting, purse: Purse) -> Option:
    if setting.workload.size(setting.workload.interior) > MOST_CELLS:
        raise Unsupported("The interior is too large to be measured.")
    return _measured(setting, purse, "interior", {setting.workload.interior: 1.0})


def _equal(setting: Setting, purse: Purse) -> Option:
    return _measured(setting, purse, "equal", equal_shares(_without_total(setting)))


def _root(setting: Setting, purse: Purse) -> Option:
    name, power = ("cube_root", 1 / 3) if purse.currency == "epsilon" else ("square_root", 1 / 2)
    return _measured(setting, purse, name, root_shares(_without_total(setting), power))


def _split(setting: Setting, purse: Purse) -> Option:
    workload = _without_total(setting)
    candidates = list(workload.margins)
    if workload.interior not in candidates and workload.size(workload.interior) <= MOST_CELLS:
        candidates.append(workload.interior)
    shares = optimise(workload, candidates, _noise(setting, purse), objective=setting.objective)
    return _measured(setting, purse, "split", shares)


def _without_total(setting: Setting) -> Workload:
    """The list without a total that is public anyway."""
    workload = setting.workload
    if setting.total is None or () not in workload.margins or len(workload.margins) == 1:
        return workload
    kept = [(m, w) for m, w in zip(workload.margins, workload.importance, strict=True) if m]
    return Workload(workload.shape, tuple(m for m, _ in kept), tuple(w for _, w in kept))


def _exact_shares(shares: Mapping[Margin, float]) -> dict[Margin, Fraction]:
    """Shares as rationals that add up to exactly one; the largest takes what rounding left."""
    whole = {m: int(s * _PARTS) for m, s in shares.items()}
    largest = max(whole, key=lambda m: whole[m])
    whole[largest] += _PARTS - sum(whole.values())
    return {m: Fraction(k, _PARTS) for m, k in whole.items() if k}


def _measured(setting: Setting, purse: Purse, name: str, shares: Mapping[Margin, float]) -> Option:
    workload = setting.workload
    family = registry.get("mechanisms", setting.mechanism or purse.mechanism)
    mechanisms: dict[Margin, Mechanism] = {}
    made: dict[tuple[Sensitivity, Fraction], Mechanism] = {}
    for margin, share in _exact_shares(shares).items():
        query = TableQuery(space=setting.space(margin), where=setting.where)
        sensitivity = Count(query).sensitivity(setting.neighbours)
        if (sensitivity, share) not in made:
            definition, budget = purse.part(share)
            made[sensitivity, share] = calibrate(
                family, sensitivity, setting.neighbours.relation, definition, budget
            )
        mechanisms[margin] = made[sensitivity, share]
    # A budget so large that no noise is left must not divide by zero.
    variances = {m: max(law.variance, LEAST_VARIANCE) for m, law in mechanisms.items()}
    precisions = {m: 1 / v for m, v in variances.items()}
    components = workload.after_least_squares(precisions)
    if setting.total is not None:
        components[()] = 0.0

    def build() -> tuple[tuple[Measurement, ...], list[dict[str, Any]]]:
        steps = tuple(
            Noisy(
                " x ".join(setting.axes[a].name for a in m) or "total",
                Count(TableQuery(space=setting.space(m), where=setting.where)),
                law,
            )
            for m, law in mechanisms.items()
        )
        specs = [{"axes": list(m), "variance": v} for m, v in variances.items()]
        return steps, specs

    # Without least squares each margin stands alone, so there is an error only if each was measured.
    alone = None
    if all(m in mechanisms for m in workload.margins):
        weights = zip(workload.margins, workload.importance, strict=True)
        cells = [(w * workload.size(m), mechanisms[m].variance) for m, w in weights]
        alone = (sum(c * v for c, v in cells) / sum(c for c, _ in cells)) ** 0.5
    score = setting.score(components) if all(v < inf for v in components.values()) else inf
    return Option(
        strategy=name,
        mechanism=family.name,
        components=components,
        score=score,
        build=build,
        before=alone,
    )


def _residual(setting: Setting, purse: Purse) -> Option:
    if setting.mechanism not in (None, "discrete_gaussian"):
        raise Unsupported("Residual measurements use discrete Gaussian noise.")
    workload, moves = setting.workload, setting.moves()
    cost = 2 * purse.amount / setting.neighbours.max_rows**2
    known = frozenset({()} if setting.total is not None else ())
    chosen = select(workload, float(cost), moves, objective=setting.objective, without=known)
    grid = grid_variances(workload, chosen, cost, moves)
    components = {a: float(v) / workload.size(a) ** 2 for a, v in grid.items()}
    components |= dict.fromkeys(known, 0.0)
    step = Residual("residuals", setting.axes, setting.where, grid, setting.total is not None)
    assert exact_cost(workload.shape, grid, moves) <= cost
    return Option(
        strategy="residual",
        mechanism="discrete_gaussian",
        components=components,
        score=setting.score(components),
        build=lambda: ((step,), [{"name": step.name, "kind": "residual"}]),
    )


def _fourier(setting: Setting, purse: Purse) -> Option:
    if setting.mechanism not in (None, purse.mechanism):
        raise Unsupported(f"Fourier coefficients use {purse.mechanism} noise here.")
    workload = setting.workload
    if any(workload.shape[a] != 2 for a in workload.interior):
        raise Unsupported("Fourier coefficients need variables of exactly two categories.")
    names = [a for a in workload.components if not (a == () and setting.total is not None)]
    # A coefficient's noise of variance s gives the component a variance s / 2^|A|.
    influence = {a: workload.influence[a] / 2 ** len(a) for a in names}
    moves = setting.moves()
    power = 1 / 3 if purse.currency == "epsilon" else 1 / 2
    raw = {a: influence[a] ** power for a in names}
    laws = _coefficient_laws(setting, purse, raw, moves)
    components = {a: law.variance / 2 ** len(a) for a, law in laws.items()}
    if setting.total is not None:
        components[()] = 0.0
    step = Fourier("coefficients", setting.axes, setting.where, laws, setting.total is not None)
    return Option(
        strategy="fourier",
        mechanism=next(iter(laws.values())).name,
        components=components,
        score=setting.score(components),
        build=lambda: ((step,), [{"name": step.name, "kind": "fourier"}]),
    )


def _coefficient_laws(
    setting: Setting, purse: Purse, raw: Mapping[Margin, float], moves: Sequence[Pattern]
) -> dict[Margin, Mechanism]:
    """Noise of the coefficients, in proportion to `raw`, within the purse for the worst pattern."""
    rows = setting.neighbours.max_rows
    exponent = 1 if purse.currency == "epsilon" else 2
    weight = {a: max(int(r * _PARTS**2), 1) for a, r in raw.items()}
    totals = [0] * len(moves)
    for a, w in weight.items():
        for k, pattern in enumerate(moves):
            totals[k] += w * (coefficient_shift(a, pattern) * rows) ** exponent
    unit = purse.amount / max(totals)
    family = registry.get("mechanisms", purse.mechanism)
    laws: dict[Margin, Mechanism] = {}
    for a, w in weight.items():
        if purse.currency == "epsilon":
            laws[a] = family(Fraction(int(w * unit * 10**12), 10**12))
        else:
            variance = 1 / (2 * w * unit)
            laws[a] = family(Fraction(int(variance * 10**9) + 1, 10**9))
    return laws
