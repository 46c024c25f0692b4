"""Balances: what they pay, and how limits move."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation
from dalenius.ledger.account import NO_LIMIT, Balance, BalanceKey
from dalenius.ledger.charge import Units

KEY = BalanceKey("people", "master", "total", "")
units = st.builds(Units, st.integers(0, 100), st.integers(0, 3), st.none() | st.integers(0, 50))


@given(st.lists(units, max_size=20), st.integers(0, 500), st.integers(0, 10))
def test_a_balance_pays_until_its_limit_and_never_beyond(charges, rho, delta):
    balance = Balance(key=KEY, limit_rho=rho, limit_delta=delta)
    for charge in charges:
        if balance.covers(charge):
            balance = balance.after(charge)
        else:
            assert balance.spent_rho + charge.rho > rho or balance.spent_delta + charge.delta > delta
    assert balance.spent_rho <= rho
    assert balance.spent_delta <= delta
    assert balance.impure <= balance.charges


@given(st.lists(units, max_size=8), st.randoms())
def test_what_was_spent_does_not_depend_on_the_order(charges, random):
    def total(items):
        balance = Balance(key=KEY)
        for item in items:
            balance = balance.after(item)
        return balance

    shuffled = list(charges)
    random.shuffle(shuffled)
    assert total(charges) == total(shuffled)


def test_a_lower_limit_closes_and_never_undoes():
    balance = Balance(key=KEY, limit_rho=10, limit_delta=0).after(Units(7, 0, 1))
    assert balance.with_limit(3, 0).limit_rho == 7
    assert not balance.with_limit(3, 0).covers(Units(1, 0, 1))
    assert balance.with_limit(20, 0).covers(Units(13, 0, 1))
    assert not Balance(key=KEY).is_limited
    assert Balance(key=KEY).limit_rho == NO_LIMIT


@given(st.fractions(min_value=0, max_value=100), st.fractions(min_value=0, max_value=1))
def test_units_are_rounded_up_by_less_than_one(rho, delta):
    cost = Cost(relation=Relation.ADD_REMOVE, rho=rho, delta=delta)
    rounded = Units.of(cost)
    for exact, whole in ((rho, rounded.rho), (delta, rounded.delta)):
        assert exact <= Fraction(whole, 10**12) < exact + Fraction(1, 10**12)
