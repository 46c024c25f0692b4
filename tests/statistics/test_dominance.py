"""The number of dominated cells moves by one row as stated."""

from itertools import product

import pytest

from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.errors import ParameterError
from dalenius.statistics.dominance import Dominance
from dalenius_lab.brute import everywhere

TWO = Dominance(queries=(ValuesQuery(value="x"), ValuesQuery(value="x")), p=50)


def test_known_cells():
    assert TWO.is_dominated([100, 10, 1])
    assert not TWO.is_dominated([100, 30, 30, 25])
    assert TWO.is_dominated([5])
    assert not TWO.is_dominated([])


NK = Dominance(queries=TWO.queries, n=1, k=60)


def test_the_n_k_rule():
    assert NK.is_dominated([70, 20, 10])
    assert not NK.is_dominated([50, 40, 10])
    assert not NK.is_dominated([])
    with pytest.raises(ParameterError):
        Dominance(queries=TWO.queries, k=100)


@pytest.mark.parametrize("statistic", [TWO, NK], ids=["p", "nk"])
def test_sensitivity_by_enumeration(statistic):
    universe = tuple(product((0, 1), (1, 4)))

    def count(rows):
        return statistic.value([[v for c, v in rows if c == cell] for cell in (0, 1)])

    for relation in Relation:
        found = max(everywhere(count, universe, n, relation) for n in range(5))
        assert found == TWO.sensitivity(Neighbours(relation=relation)).l1 == (2 if relation is Relation.REPLACE else 1)
