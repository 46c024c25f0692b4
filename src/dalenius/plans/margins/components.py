"""Residual components of levels and margins, measured in one step with the noise that a search proposes: what
strategies by components share.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

from dalenius.algebra.amounts import Amounts
from dalenius.algebra.moves import ALONE, Part, exact_cost, grid_variances
from dalenius.core.query import TableQuery
from dalenius.core.rationals import round_up
from dalenius.errors import Unsupported
from dalenius.measurements.residual import Residual
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.setting import Candidate, Setting


def by_components(
    setting: Setting, allotment: Allotment, name: str, propose: Callable[[float], Mapping[Part, Fraction]]
) -> Candidate:
    """The option whose integer noise has variances (in units of 1/N_A) that are proposed for a cost (= 2 rho)."""
    if allotment.currency != "rho":
        raise Unsupported("Residual components are priced in rho.")
    if setting.mechanism not in (None, "discrete_gaussian"):
        raise Unsupported("Residual components use discrete Gaussian noise.")
    table, size = setting.table, setting.workload.size
    allowed = 2 * allotment.amount / setting.neighbours.max_rows**2
    amounts = setting.amounts and setting.amounts.fitted(max(map(size, table.finest)))
    # What counts may cost, so that amounts cost no more than what is allowed.
    cost = allowed if amounts is None else allowed / amounts.largest**2
    grid = grid_variances(table.shape, propose(float(cost)), cost, setting.ways)
    if amounts is not None:
        grid = _widened(setting, amounts, grid, allowed)
    step = Residual(
        "parts" if setting.levels else "residuals",
        setting.detail,
        setting.where,
        grid,
        setting.total is not None,
        amounts,
        allotment.is_by_loss,
        table.tree,
        setting.levels,
    )
    if amounts is not None:
        # Totals of too many halved sums are refused.
        amounts.check_rounding(max(need.space.size for need in step.needs if isinstance(need, TableQuery)))
    unit = 1.0 if amounts is None else float(amounts.step) ** 2
    return Candidate(
        setting=setting,
        strategy=name,
        mechanism="discrete_gaussian",
        law=setting.tree_law({p: size(p[1]) ** 2 / (unit * float(v)) for p, v in grid.items()})
        if setting.levels
        else setting.margins_law({a: unit * float(v) / size(a) ** 2 for (_, a), v in grid.items()}),
        build=lambda: ((step,), [{"name": step.name, "kind": step.law.structure}]),
    )


def _widened(setting: Setting, amounts: Amounts, grid: dict[Part, Fraction], allowed: Fraction) -> dict[Part, Fraction]:
    """The variances, wider where a replaced row that changes its sign, or halved sums, would cost more than rows that
    are counted `largest` times.
    """
    is_replace = setting.neighbours.is_replace
    spent = exact_cost(setting.table.shape, grid, setting.ways)
    alone = exact_cost(setting.table.shape, grid, (ALONE,)) if is_replace else spent
    spent = amounts.cost(spent, alone, is_replace=is_replace)
    if spent <= allowed:
        return grid
    factor = spent / allowed * Fraction(1_000_001, 1_000_000)
    return {part: round_up(variance * factor, 10**8) for part, variance in grid.items()}
