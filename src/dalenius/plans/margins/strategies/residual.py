"""Optimal Gaussian noise on residual components."""

from typing import ClassVar

from dalenius.algebra.optimal import exact_cost, grid_variances, select
from dalenius.errors import Unsupported
from dalenius.measurements.residual import Residual
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.setting import Candidate, Setting, check_rounding, least_cost, within_cost

__all__ = ["ResidualStrategy"]


class ResidualStrategy:
    """Optimal Gaussian noise on residual components."""

    name: ClassVar[str] = "residual"
    has_curve: ClassVar[bool] = True
    plainness: ClassVar[int] = 6

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        """Expected error, and how to measure it; a refusal where it does not apply."""
        if allotment.currency != "rho":
            raise Unsupported("Residual measurements are priced in rho.")
        if setting.mechanism not in (None, "discrete_gaussian"):
            raise Unsupported("Residual measurements use discrete Gaussian noise.")
        workload, moves = setting.workload, setting.moves()
        allowed = 2 * allotment.amount / setting.neighbours.max_rows**2
        amounts = setting.amounts and setting.amounts.fitted(max(map(workload.size, workload.components)))
        cost = least_cost(amounts, allowed)
        without_noise = frozenset({()} if setting.total is not None else ())
        chosen = select(workload, float(cost), moves, objective=setting.objective, without=without_noise)
        grid = within_cost(
            amounts,
            grid_variances(workload, chosen, cost, moves),
            lambda variances: exact_cost(workload.shape, variances, moves),
            lambda variances: exact_cost(workload.shape, variances, (None,)),
            allowed,
            is_replace=setting.neighbours.is_replace,
        )
        unit = 1.0 if amounts is None else float(amounts.step) ** 2
        components = {a: unit * float(v) / workload.size(a) ** 2 for a, v in grid.items()}
        components |= dict.fromkeys(without_noise, 0.0)
        step = Residual(
            "residuals", setting.axes, setting.where, grid, setting.total is not None, amounts, allotment.is_by_loss
        )
        check_rounding(amounts, step)
        return Candidate(
            strategy="residual",
            mechanism="discrete_gaussian",
            components=components,
            score=setting.score(components),
            build=lambda: ((step,), [{"name": step.name, "kind": "residual"}]),
        )
