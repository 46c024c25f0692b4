"""Gaussian lists under (epsilon, delta) priced by their loss: less noise for the same guarantee, certified, with the rho that is charged."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from dalenius.core.neighbours import Relation
from dalenius.definitions.approximate import Approximate
from dalenius.plans.allotments import affordable_rho
from dalenius.testing.asking import plan_of
from dalenius.testing.strategy_kit import branching, world

STATED = {"definition": "approximate", "epsilon": 1, "delta": "1e-6"}
# The largest rho whose conversion stays within them.
BY_RHO = {"definition": "zero_concentrated", "rho": affordable_rho(Fraction(1), Fraction(1, 10**6))}
LEVELS = [["v0", "v1"], ["v1.half"], []]


def asked(margins: Any, names: list[str], **privacy: Any) -> dict[str, Any]:
    return {"table": {"rows": names, "margins": margins}, "privacy": privacy}


@pytest.mark.parametrize("relation", Relation)
def test_a_hundred_and_twenty_margins_take_an_eighth_less_variance(relation: Relation) -> None:
    domain = world((2, 3, 2, 2, 3, 2, 2, 2, 3, 2) if relation is Relation.ADD_REMOVE else (2, 3, 2, 2, 3), relation)
    names = list(domain.variables)
    margins = [list(m) for m in combinations(names, 3)]
    by_rho, by_loss = (
        plan_of(domain, asked(margins, names, strategy="residual", **amounts)) for amounts in (BY_RHO, STATED)
    )
    assert by_loss.preview["rmse"] ** 2 < 0.89 * by_rho.preview["rmse"] ** 2
    # The account is charged the rho of the noise that is drawn.
    assert float(by_rho.reservation.rho) == pytest.approx(0.02436, rel=1e-3)
    assert float(by_loss.reservation.rho) == pytest.approx(0.0278, rel=2e-2)
    profiles = [step.profile(by_loss.neighbours) for step in by_loss.measurements]
    assert Approximate().delta(profiles, by_loss.budget.epsilon) <= by_loss.budget.delta


def test_levels_are_priced_by_their_loss_too() -> None:
    domain = branching()
    plans = [plan_of(domain, asked(LEVELS, ["v0", "v1"], strategy="tree", **amounts)) for amounts in (BY_RHO, STATED)]
    assert plans[1].preview["rmse"] ** 2 < 0.89 * plans[0].preview["rmse"] ** 2
    profiles = [step.profile(plans[1].neighbours) for step in plans[1].measurements]
    assert Approximate().delta(profiles, plans[1].budget.epsilon) <= plans[1].budget.delta


def test_noise_that_is_best_by_either_price_stays() -> None:
    plan = plan_of(world((2, 3)), asked([["v0"]], ["v0"], **STATED))
    assert plan.mechanism == "discrete_laplace" and plan.cost.epsilon == 1
