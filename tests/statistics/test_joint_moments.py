"""Total and squares as one answer: the norms of every replacement, and what they are weighed for."""

from itertools import product

import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.errors import ParameterError
from dalenius.statistics.joint_moments import JointMoments

QUERY = TableQuery(space=CellSpace(()), value="x")
REPLACE = Neighbours(relation=Relation.REPLACE)


@pytest.mark.parametrize("is_pure", [True, False])
@pytest.mark.parametrize("high", range(1, 24))
@pytest.mark.parametrize("low", [-3, 0, 5])
def test_every_replacement_stays_within_both_norms(low: int, high: int, is_pure: bool) -> None:
    made = JointMoments.of(QUERY, low, low + high, is_pure=is_pure)
    norms, l1, l2 = made.sensitivity(REPLACE), 0, 0
    for x, y in product(range(low, low + high + 1), repeat=2):
        moved = (made.first * abs(x - y), made.second * abs((x - made.centre) ** 2 - (y - made.centre) ** 2))
        l1, l2 = max(l1, sum(moved)), max(l2, sum(each**2 for each in moved))
        assert max(moved) <= norms.linf
    assert l1 <= norms.l1 and l2 <= norms.l2_squared
    # The norm that it is weighed for is reached, and is that of the total alone but for the half step of an odd width.
    reached, stated = (l1, norms.l1) if is_pure else (l2, norms.l2_squared)
    assert reached == stated
    alone = made.first * high if is_pure else (made.first * high) ** 2
    if high % 2 == 0:
        assert stated == alone


def test_squares_that_weigh_too_much_are_refused() -> None:
    with pytest.raises(ParameterError):
        JointMoments(query=QUERY, low=0, high=10, first=1, second=1)
    with pytest.raises(ParameterError):
        JointMoments.of(QUERY, 3, 3, is_pure=True)
