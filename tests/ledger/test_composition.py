"""Sums and the optimum: known answers, then properties."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.core import conversions
from dalenius.core.budget import Cost
from dalenius.core.conversions import pure_to_rho, rho_to_delta, rho_to_epsilon
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.errors import ParameterError, Unsupported
from dalenius.ledger.composition import compose, epsilon_at, in_sequence
from dalenius_lab.accounting.composition import optimum

MILLIONTH = Fraction(1, 10**6)
TENTH = Fraction(1, 10)


def pure(epsilon: object, relation: Relation = Relation.ADD_REMOVE) -> Cost:
    amount = Fraction(str(epsilon))
    return Cost(relation=relation, rho=pure_to_rho(amount), epsilon=amount)


amounts = st.fractions(min_value=0, max_value=3, max_denominator=1000)
costs = st.builds(
    lambda rho, delta, epsilon: Cost(
        relation=Relation.ADD_REMOVE, rho=rho, delta=delta, epsilon=None if delta else epsilon
    ),
    amounts,
    st.sampled_from([Fraction(0), MILLIONTH]),
    amounts,
)
pure_costs = st.builds(pure, st.fractions(min_value=0, max_value=2, max_denominator=100))


def test_fifty_releases_at_a_tenth():
    total = in_sequence([pure("0.1")] * 50)
    assert total.epsilon == 5
    assert float(rho_to_epsilon(total.rho, MILLIONTH)) == pytest.approx(3.5407, abs=5e-5)
    exact = epsilon_at(optimum([(TENTH, Fraction(0), 50)]), MILLIONTH)
    assert float(exact) == pytest.approx(3.172903, abs=2e-6)


@given(st.lists(costs, max_size=8), st.randoms())
def test_a_sum_does_not_depend_on_the_order(items, random):
    shuffled = list(items)
    random.shuffle(shuffled)
    assert in_sequence(items) == in_sequence(shuffled)


@given(st.lists(costs, min_size=1, max_size=8))
def test_the_whole_is_at_least_each_part(items):
    whole = in_sequence(items)
    for item in items:
        assert whole.rho >= item.rho
        assert whole.delta >= item.delta
        assert whole.epsilon is None or whole.epsilon >= item.epsilon
        assert item.fits(whole)


def test_relations_are_not_added():
    with pytest.raises(Unsupported):
        in_sequence([pure(1), pure(1, Relation.REPLACE)])


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 4)), min_size=1, max_size=3))
def test_conversions_only_over_report(steps):
    """The optimum is exact for a fixed plan: the sum and the zero-concentrated route are never below it."""
    planned = [(Fraction(percent, 100), Fraction(0), times) for percent, times in steps]
    exact = epsilon_at(optimum(planned), MILLIONTH)
    total = in_sequence([pure(e) for e, _, times in planned for _ in range(times)])
    assert exact <= total.epsilon
    assert exact == 0 or rho_to_delta(total.rho, exact - Fraction(1, 10**8)) > MILLIONTH


@given(
    st.fractions(min_value=Fraction(1, 1000), max_value=4, max_denominator=1000),
    st.fractions(min_value=0, max_value=10, max_denominator=100),
)
def test_delta_of_rho_falls_with_epsilon_and_grows_with_rho(rho, epsilon):
    assert rho_to_delta(rho, epsilon + 1) <= rho_to_delta(rho, epsilon)
    assert rho_to_delta(rho, epsilon) <= rho_to_delta(rho + Fraction(1, 10), epsilon)


def test_failures_above_delta_have_no_epsilon():
    with pytest.raises(ParameterError):
        epsilon_at(optimum([(TENTH, Fraction(1, 100), 1)]), MILLIONTH)
    assert epsilon_at(optimum([]), MILLIONTH) == 0


def is_met(rho: Fraction, delta: Fraction, epsilon: Fraction) -> bool:
    return conversions.rho_to_delta(rho, epsilon) <= delta


@pytest.mark.parametrize("rho", [Fraction(1, 10**4), Fraction(1, 37), Fraction(3)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**12), MILLIONTH, Fraction(1, 100)])
def test_floats_that_lead_the_search_change_nothing(rho: Fraction, delta: Fraction) -> None:
    """The epsilon is the one that enclosures find alone, and delta is met there."""
    epsilon = rho_to_epsilon(rho, delta)
    assert epsilon == conversions._smallest_epsilon(rho, delta, is_met)
    assert rho_to_delta(rho, epsilon) <= delta


def test_an_enclosure_that_does_not_confirm_the_floats_decides_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rho = Fraction(7, 19)
    wanted = conversions._smallest_epsilon(rho, MILLIONTH, is_met)
    monkeypatch.setattr(conversions, "_fits_or_clearly", lambda rho, delta, epsilon: epsilon > 1)
    assert rho_to_epsilon.__wrapped__(rho, MILLIONTH) == wanted


def test_steps_whose_loss_is_not_listed_are_charged_their_sum():
    """A step that states a rho alone has no loss distribution: nothing is gained by composing it with others."""
    pures = [PrivacyProfile(relation=Relation.ADD_REMOVE, epsilon=4 * TENTH) for _ in range(10)]
    assert compose(pures, TENTH**2).rho < in_sequence(p.cost() for p in pures).rho
    assert compose(pures) == in_sequence(p.cost() for p in pures)
    # An event that is too rare to leave anything out changes nothing.
    assert compose(pures, TENTH**3) == in_sequence(p.cost() for p in pures)
    steps = [*pures, PrivacyProfile(relation=Relation.ADD_REMOVE, rho=TENTH)]
    assert compose(steps, TENTH**2) == in_sequence(p.cost() for p in steps)
