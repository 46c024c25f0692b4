"""Mean, variance and ratio against exhaustive enumeration."""

from fractions import Fraction
from itertools import product

import pytest

from dalenius.audit import sensitivity as brute
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.errors import Unsupported
from dalenius.statistics.mean import Mean
from dalenius.statistics.ratio import Ratio
from dalenius.statistics.variance import Variance
from dalenius_lab.brute import everywhere

REPLACE = Neighbours(relation=Relation.REPLACE)
ADD_REMOVE = Neighbours(relation=Relation.ADD_REMOVE)
LOW, HIGH = -1, 3
UNIVERSE = tuple(range(LOW, HIGH + 1))


def non_empty_local(function, data, universe, relation):
    here = function(data)
    others = (d for d in brute.neighbours_of(data, universe, relation) if d)
    return max((abs(function(d) - here) for d in others), default=Fraction(0))


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=lambda n: str(n.relation))
def test_mean(neighbours):
    worst = Fraction(0)
    for n in range(1, 5):
        statistic = Mean(value_name="x", low=LOW, high=HIGH, size=n)
        at_size = Fraction(0)
        for data in brute.multisets(UNIVERSE, n):
            local = non_empty_local(statistic.value, data, UNIVERSE, neighbours.relation)
            assert statistic.local(data, neighbours) == local
            at_size = max(at_size, local)
            rows = sorted(set(data))
            bootstrap = max(
                non_empty_local(statistic.value, d, rows, neighbours.relation) for d in brute.multisets(rows, n)
            )
            assert statistic.bootstrap(data, neighbours) == bootstrap
        worst = max(worst, at_size)
        if neighbours.is_replace:
            assert statistic.worst(neighbours) == at_size
            assert statistic.sensitivity(neighbours).l1 == at_size * n
    if not neighbours.is_replace:
        assert Mean(value_name="x", low=LOW, high=HIGH, size=1).worst(neighbours) == worst == 2


def test_mean_of_a_private_size():
    with pytest.raises(Unsupported):
        Mean(value_name="x", low=0, high=10, size=5).sensitivity(ADD_REMOVE)


@pytest.mark.parametrize("is_sample", [False, True])
def test_variance_under_replace(is_sample):
    """The domain is an interval: the largest decrease is at the mean of the others, which a fine grid contains."""
    scale = 12
    fine = tuple(range(4 * scale + 1))
    for n in range(2, 5):
        statistic = Variance(value_name="x", low=0, high=4 * scale, size=n, is_sample=is_sample)
        found = Fraction(0)
        for data in brute.multisets(tuple(range(0, 4 * scale + 1, scale)), n):
            local = brute.local(statistic.value, data, fine, Relation.REPLACE)
            assert statistic.local(data, REPLACE) == local
            found = max(found, local)
            bootstrap = everywhere(statistic.value, set(data), n, Relation.REPLACE)
            assert statistic.bootstrap(data, REPLACE) == bootstrap
        assert statistic.worst(REPLACE) == found
        assert statistic.sensitivity(REPLACE).l1 == found * n * (n - 1 if is_sample else n)


def test_the_decrease_is_not_forgotten():
    statistic = Variance(value_name="x", low=0, high=10, size=4)
    assert statistic.local((0, 0, 10, 10), REPLACE) == Fraction(25, 3)


def test_variance_under_add_remove():
    found = Fraction(0)
    statistic = Variance(value_name="x", low=0, high=4, size=3)
    for n in range(1, 5):
        for data in brute.multisets(range(5), n):
            found = max(found, non_empty_local(statistic.value, data, range(5), Relation.ADD_REMOVE))
    assert found <= statistic.worst(ADD_REMOVE) == 4
    assert found == 4


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=lambda n: str(n.relation))
def test_ratio(neighbours):
    statistic = Ratio(numerator="x", denominator="y", low=-1, high=2, least=1, most=3)
    universe = tuple(product(range(-1, 3), range(1, 4)))
    for n in range(1, 4):
        for data in list(brute.multisets(universe, n))[::3]:
            assert statistic.local(data, neighbours) == brute.local(
                statistic.value, data, universe, neighbours.relation
            )
    with pytest.raises(Unsupported):
        statistic.sensitivity(neighbours)
