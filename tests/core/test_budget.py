"""Exact amounts: sums add every amount, limits hold for each of them, relations stay apart, ledger units round towards privacy."""

from fractions import Fraction

import pytest

from dalenius.core.budget import UNIT, Cost, units_down, units_up
from dalenius.core.neighbours import Relation
from dalenius.errors import Unsupported


def cost(rho: str, delta: str = "0", epsilon: str | None = None, relation: str = "add-remove") -> Cost:
    pure = None if epsilon is None else Fraction(epsilon)
    return Cost(relation=Relation(relation), rho=Fraction(rho), delta=Fraction(delta), epsilon=pure)


def test_a_sum_adds_every_amount_and_is_pure_only_if_both_are() -> None:
    assert cost("1/2", "1/100", "1") + cost("1/3", "1/50", "2") == cost("5/6", "3/100", "3")
    assert (cost("1/2", epsilon="1") + cost("1/3")).epsilon is None


@pytest.mark.parametrize(
    ("spent", "fits"),
    [(cost("1", "1/10"), True), (cost("1.01", "1/10"), False), (cost("1", "1/9"), False), (cost("0", relation="replace"), False)],
)  # fmt: skip
def test_a_limit_holds_for_each_amount_and_for_its_own_relation(spent: Cost, fits: bool) -> None:
    assert spent.fits(cost("1", "1/10")) is fits


def test_costs_of_two_relations_are_not_added() -> None:
    with pytest.raises(Unsupported):
        cost("1") + cost("1", relation="replace")


def test_charges_are_rounded_up_and_limits_down() -> None:
    amount = UNIT * Fraction(3, 2)
    assert (units_up(amount), units_down(amount)) == (2, 1)
    assert units_up(UNIT) == units_down(UNIT) == 1


def test_a_cost_survives_its_document() -> None:
    assert Cost.from_dict(cost("1/3", "1/7", "2").to_dict()) == cost("1/3", "1/7", "2")
