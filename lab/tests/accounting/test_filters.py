"""Filters admit exactly what fits, in any order, and never give back."""

from fractions import Fraction
from math import exp, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.core.budget import Cost
from dalenius.core.conversions import pure_to_rho, rho_to_epsilon
from dalenius.core.neighbours import Relation
from dalenius.errors import BudgetExhausted, ParameterError, Unsupported
from dalenius_lab.accounting.composition import PartitionPart, for_group
from dalenius_lab.accounting.filters import ApproximateFilter, PureFilter, ZeroConcentratedFilter

MILLIONTH = Fraction(1, 10**6)


def cost(rho: Fraction, delta: Fraction = Fraction(0), epsilon: Fraction | None = None) -> Cost:
    return Cost(relation=Relation.ADD_REMOVE, rho=rho, delta=delta, epsilon=epsilon)


def test_pure_filter_admits_up_to_the_sum():
    filter_ = PureFilter(epsilon=Fraction(1))
    for _ in range(10):
        filter_ = filter_.spend(cost(Fraction(0), epsilon=Fraction(1, 10)))
    with pytest.raises(BudgetExhausted):
        filter_.spend(cost(Fraction(0), epsilon=Fraction(1, 10**9)))
    assert not filter_.admits(cost(Fraction(0)))
    assert filter_.guarantee() == (1, 0)


def test_zero_concentrated_filter_counts_failures_too():
    filter_ = ZeroConcentratedFilter(rho=Fraction(1, 2), delta=MILLIONTH).spend(cost(Fraction(1, 4), MILLIONTH))
    assert not filter_.admits(cost(Fraction(0), Fraction(1, 10**12)))
    assert filter_.admits(cost(Fraction(1, 4)))
    epsilon, delta = filter_.guarantee(2 * MILLIONTH)
    assert (epsilon, delta) == (rho_to_epsilon(Fraction(1, 2), MILLIONTH), 2 * MILLIONTH)
    with pytest.raises(ParameterError):
        filter_.guarantee(MILLIONTH)


def test_approximate_filter_follows_its_formula():
    filter_ = ApproximateFilter(epsilon=Fraction(4), delta=MILLIONTH, slack=MILLIONTH)
    count = 0
    while filter_.admits(Fraction(1, 10)):
        filter_, count = filter_.spend(Fraction(1, 10)), count + 1
    squares = count / 100
    assert sqrt(2 * log(10**6) * squares) + squares / 2 <= 4
    squares = (count + 1) / 100
    assert sqrt(2 * log(10**6) * squares) + squares / 2 > 4
    assert not ApproximateFilter(epsilon=Fraction(4), delta=2 * MILLIONTH, slack=MILLIONTH).admits(
        Fraction(1, 10), 2 * MILLIONTH
    )


@given(st.lists(st.fractions(min_value=0, max_value=1, max_denominator=50), max_size=12), st.randoms())
def test_what_a_filter_admits_does_not_depend_on_the_order(amounts, random):
    def run(items):
        filter_ = ZeroConcentratedFilter(rho=sum(items, Fraction(0)))
        for item in items:
            filter_ = filter_.spend(cost(item))
        return filter_

    shuffled = list(amounts)
    random.shuffle(shuffled)
    assert run(amounts) == run(shuffled)
    assert not run(amounts).admits(cost(Fraction(1, 10**12)))


def test_an_adaptive_analyst_cannot_beat_the_filter():
    """Exact enumeration of an adaptive attack: the next epsilon depends on the answer so far.

    Each step is randomised response. After a lucky answer the analyst asks louder, after an unlucky one more quietly,
    and stops when the filter refuses. The exact delta(epsilon) of the whole tree is within the filter's guarantee.
    """
    limit = Fraction(1, 10)
    choices = {1: Fraction(1, 4), -1: Fraction(1, 8)}
    leaves: list[tuple[float, float]] = []

    def walk(filter_: ZeroConcentratedFilter, last: int, log_p: float, log_q: float, depth: int) -> None:
        epsilon = choices[last]
        price = cost(pure_to_rho(epsilon))
        if depth == 12 or not filter_.admits(price):
            leaves.append((log_p, log_q))
            return
        after = filter_.spend(price)
        up, down = -log(1 + exp(-epsilon)), -log(1 + exp(epsilon))
        walk(after, 1, log_p + up, log_q + down, depth + 1)
        walk(after, -1, log_p + down, log_q + up, depth + 1)

    walk(ZeroConcentratedFilter(rho=limit), 1, 0.0, 0.0, 0)
    assert len(leaves) > 4
    for delta in (Fraction(1, 100), Fraction(1, 10**4), MILLIONTH):
        epsilon = float(rho_to_epsilon(limit, delta))
        exact = sum(max(0.0, exp(p) - exp(epsilon + q)) for p, q in leaves)
        assert exact <= float(delta)


def test_filters_and_groups_refuse_what_they_cannot_hold() -> None:
    cost = Cost(relation=Relation.ADD_REMOVE, rho=Fraction(1))
    with pytest.raises(BudgetExhausted):
        ZeroConcentratedFilter(rho=Fraction(1, 2)).spend(cost)
    with pytest.raises(ParameterError, match="slack"):
        ApproximateFilter(epsilon=Fraction(1), delta=MILLIONTH, slack=Fraction(1))
    limit = ApproximateFilter(epsilon=Fraction(1), delta=MILLIONTH, slack=MILLIONTH)
    with pytest.raises(Unsupported, match="negative"):
        limit.admits(Fraction(-1))
    with pytest.raises(BudgetExhausted):
        limit.spend(Fraction(2))
    assert limit.guarantee() == (1, MILLIONTH)
    with pytest.raises(ParameterError, match="at least one"):
        for_group(cost, 0)
    with pytest.raises(Unsupported, match="under replace"):
        PartitionPart(add_remove=cost, replace=cost)
