"""Mirrored totals by hand: they tell total and count, and cost what one of them costs."""

import numpy as np
import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import Aggregate, TableQuery
from dalenius.errors import ParameterError
from dalenius.statistics.mirrored_totals import MirroredTotals

QUERY = TableQuery(space=CellSpace(()), aggregate=Aggregate.TOTAL, value="x", centre=2)


def test_total_and_count_come_back() -> None:
    totals = MirroredTotals(query=QUERY, low=2, high=12)
    # Rows 2, 5 and 12: 13 above the lower bound, 17 below the upper one.
    above, below = totals.combine([np.array([13]), np.array([3])]).tolist()
    assert (above, below) == (13, 17)
    assert (above + below) / 10 == 3


def test_both_cost_what_one_costs() -> None:
    totals = MirroredTotals(query=QUERY, low=2, high=12)
    added, replaced = (totals.sensitivity(Neighbours(relation=relation)) for relation in Relation)
    assert (added.l1, added.l2_squared) == (10, 100)
    assert (replaced.l1, replaced.l2_squared) == (20, 200)


def test_bounds_that_are_one_number_are_refused() -> None:
    with pytest.raises(ParameterError, match="differ"):
        MirroredTotals(query=QUERY, low=2, high=2)
