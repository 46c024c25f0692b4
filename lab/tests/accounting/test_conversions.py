"""Conversions that only the laboratory's accounting needs, against closed forms."""

from fractions import Fraction

import pytest

from dalenius.core.budget import Cost
from dalenius.core.conversions import discrete_laplace_to_rho
from dalenius.core.neighbours import Relation
from dalenius.errors import Unsupported
from dalenius_lab.accounting import conversions as c

F = Fraction


def test_laplace_is_the_limit_of_many_steps():
    assert float(c.laplace_to_rho(F(1))) == pytest.approx(0.367879, abs=6e-7)
    fine = discrete_laplace_to_rho(F(1, 10**6), 10**6)
    assert 0 < fine - c.laplace_to_rho(F(1)) < F(1, 10**6)


def test_replace_is_two_steps_and_relations_stay_apart():
    cost = Cost(relation=Relation.ADD_REMOVE, rho=F(1, 8), epsilon=F(1, 2))
    moved = c.to_replace(cost)
    assert (moved.relation, moved.rho, moved.epsilon) == (Relation.REPLACE, F(1, 2), F(1))
    assert c.to_replace(moved) == moved
    with pytest.raises(Unsupported):
        c.to_replace(Cost(relation=Relation.ADD_REMOVE, rho=F(1), delta=F(1, 10**6)))
    with pytest.raises(Unsupported):
        _ = cost + moved
