"""Costs of Laplace noise, of groups, and of add-remove restated under replace; every result is rounded up."""

from fractions import Fraction

from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import exp_upper, round_up
from dalenius.errors import Unsupported

_GRID = 10**15


def laplace_to_rho(epsilon: Fraction) -> Fraction:
    """rho of continuous Laplace noise of scale (sensitivity / epsilon): epsilon - 1 + exp(-epsilon), tight."""
    return round_up(epsilon - 1 + exp_upper(-epsilon, 128), _GRID)


def to_replace(cost: Cost) -> Cost:
    """A cost under add-remove, restated under replace: one replacement is one removal and one addition.

    epsilon doubles and rho is multiplied by four; with a failure probability the triangle inequality behind the factor
    four does not hold as it stands, so such a cost is refused.
    """
    if cost.relation is Relation.REPLACE:
        return cost
    if cost.delta:
        raise Unsupported(
            "A cost with a failure probability is not restated under replace; state the step under replace instead."
        )
    pure = None if cost.epsilon is None else 2 * cost.epsilon
    return Cost(relation=Relation.REPLACE, rho=4 * cost.rho, epsilon=pure)
