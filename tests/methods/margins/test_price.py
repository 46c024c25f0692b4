"""Gaussian lists under (epsilon, delta) priced by their loss: less noise for the same promise, certified, with the rho that is charged."""

from itertools import combinations
from typing import Any

import pytest

from dalenius.core.neighbours import Relation
from dalenius.definitions.approximate import Approximate
from dalenius.errors import Unsupported
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_request
from dalenius.testing.asking import plan_of
from dalenius.testing.strategy_kit import branching, world

STATED = {"definition": "approximate", "epsilon": 1, "delta": "1e-6"}
LEVELS = [["v0", "v1"], ["v1.half"], []]


def asked(margins: Any, names: list[str], **privacy: Any) -> dict[str, Any]:
    return {"table": {"rows": names, "margins": margins}, "privacy": STATED | privacy}


@pytest.mark.parametrize("relation", Relation)
def test_a_hundred_and_twenty_margins_take_an_eighth_less_variance(relation: Relation) -> None:
    domain = world(
        (2, 3, 2, 2, 3, 2, 2, 2, 3, 2) if relation is Relation.ADD_REMOVE else (2, 3, 2, 2, 3), relation
    )
    names = list(domain.variables)
    margins = [list(m) for m in combinations(names, 3)]
    by_rho, by_loss = (
        plan_of(domain, asked(margins, names, price=price, strategy="residual")) for price in ("rho", "loss")
    )
    assert by_loss.preview["rmse"] ** 2 < 0.89 * by_rho.preview["rmse"] ** 2
    # The account is charged the rho of the noise that is drawn.
    assert float(by_rho.reservation.rho) == pytest.approx(0.02436, rel=1e-3)
    assert float(by_loss.reservation.rho) == pytest.approx(0.0278, rel=2e-2)
    profiles = [step.profile(by_loss.neighbours) for step in by_loss.measurements]
    assert Approximate().delta(profiles, by_loss.budget.epsilon) <= by_loss.budget.delta


def test_levels_are_priced_by_their_loss_too() -> None:
    domain = branching()
    plans = [
        plan_of(domain, asked(LEVELS, ["v0", "v1"], price=price, strategy="tree"))
        for price in ("rho", "loss")
    ]
    assert plans[1].preview["rmse"] ** 2 < 0.89 * plans[0].preview["rmse"] ** 2
    profiles = [step.profile(plans[1].neighbours) for step in plans[1].measurements]
    assert Approximate().delta(profiles, plans[1].budget.epsilon) <= plans[1].budget.delta


def test_the_key_is_part_of_the_question_and_refused_where_it_says_nothing() -> None:
    domain = world((2, 3))
    old, new = (
        canonical(load_request(asked("all", ["v0", "v1"], price=price)), domain) for price in ("rho", "loss")
    )
    assert "price" not in old.content
    assert new.content["price"] == "loss"
    zcdp = {"definition": "zero_concentrated", "rho": "1/8", "price": "loss"}
    with pytest.raises(Unsupported, match="loss"):
        plan_of(domain, {"table": {"rows": ["v0"], "margins": "all"}, "privacy": zcdp})
    with pytest.raises(Unsupported, match="price"):
        plan_of(domain, {"table": {"rows": ["v0"]}, "privacy": STATED | {"price": "loss"}})
