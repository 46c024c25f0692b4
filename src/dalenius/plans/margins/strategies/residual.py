"""Optimal Gaussian noise on residual components."""

from typing import ClassVar

from dalenius.algebra.optimal import exact_cost, grid_variances, select
from dalenius.errors import Unsupported
from dalenius.measurements.residual import Residual
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.setting import Candidate, Setting, least_cost, within_span

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
        cost = least_cost(setting.amounts, allowed)
        without_noise = frozenset({()} if setting.total is not None else ())
        chosen = select(workload, float(cost), moves, objective=setting.objective, without=without_noise)
        grid = within_span(
            setting.amounts,
            grid_variances(workload, chosen, cost, moves),
            lambda variances: exact_cost(workload.shape, variances, (None,)),
            allowed,
            is_replace=setting.neighbours.is_replace,
        )
        unit = 1.0 if setting.amounts is None else float(setting.amounts.step) ** 2
        components = {a: unit * float(v) / workload.size(a) ** 2 for a, v in grid.items()}
        components |= dict.fromkeys(without_noise, 0.0)
        step = Residual(
            "residuals",
            setting.axes,
            setting.where,
            grid,
            setting.total is not None,
            setting.amounts,
            allotment.is_by_loss,
        )
        assert exact_cost(workload.shape, grid, moves) <= cost
        return Candidate(
            strategy="residual",
            mechanism="discrete_gaussian",
            components=components,
            score=setting.score(components),
            build=lambda: ((step,), [{"name": step.name, "kind": "residual"}]),
        )
