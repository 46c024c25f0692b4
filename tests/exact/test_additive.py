"""The worst of all moves that norms allow: exhaustive over small norms, for costs and laws of every shape."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import reduce
from itertools import product

import pytest

from dalenius.core.conversions import pure_to_rho
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.exact import additive, finite_noise, loss
from dalenius.exact.approximate_concentrated import rho_of
from dalenius.exact.loss import LossDistribution
from dalenius.mechanisms.custom_utility import CustomUtility
from dalenius.mechanisms.max_entropy import MaxEntropy
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal

NORMS = [(l0, l1, linf) for l0 in (1, 2, 3, 4) for l1 in (1, 2, 3, 5, 7) for linf in (1, 2, 3, 4)]
COSTS: dict[str, Callable[[int], Fraction]] = {
    "convex": lambda s: Fraction(s * s),
    "concave": lambda s: Fraction(2 * 2000 * s - s * s),
    "linear": lambda s: Fraction(s, 3),
    "neither": lambda s: pure_to_rho(Fraction(s)) + min(s, 2),
}
LAWS = [
    TruncatedNormal(rate=Fraction(1, 7), limit=5),
    MaxEntropy(cap=Fraction(2), limit=5),
    TruncatedLaplace(rate=Fraction(3, 2), limit=6),
    CustomUtility.of(Fraction(1, 2), [4, 1, 3, 1, 0, 1, 3, 1, 4]),
    CustomUtility.of(Fraction(1, 2), [4, 2, 3, 1, 0, 1, 1, 1, 5]),
]


def norms(l0: int, l1: int, linf: int) -> Sensitivity:
    return Sensitivity.norms(l0=l0, l1=l1, l2_squared=l1 * l1, linf=linf)


def moves_within(l0: int, l1: int, linf: int) -> Iterator[tuple[int, ...]]:
    """Every way in which l0 cells can move within the norms, cells alike."""
    for move in product(range(linf + 1), repeat=l0):
        if sum(move) <= l1 and tuple(sorted(move)) == move:
            yield move


@pytest.mark.parametrize("shape", COSTS)
def test_the_worst_sum_is_the_largest_over_all_moves(shape: str) -> None:
    for l0, l1, linf in NORMS:
        largest = max(sum(map(COSTS[shape], m), Fraction(0)) for m in moves_within(l0, l1, linf))
        assert additive.worst_sum(norms(l0, l1, linf), COSTS[shape]) == largest
        if shape in ("concave", "linear"):
            assert additive.worst_sum(norms(l0, l1, linf), COSTS[shape], is_concave=True) == largest


def test_the_concentrated_move_is_right_for_convex_costs_only() -> None:
    assert additive.moves(norms(3, 3, 3)) == ((3,),)
    (move,) = additive.moves(norms(3, 3, 3))
    spread = additive.worst_sum(norms(3, 3, 3), COSTS["concave"])
    assert spread == 3 * COSTS["concave"](1) > sum(map(COSTS["concave"], move))


def test_where_moves_are_too_many_the_bound_covers_every_one() -> None:
    wide = norms(8, 4000, 1000)
    assert not additive.is_searched(wide)
    for cost in COSTS.values():
        for move in ((1000,) * 4, (500,) * 8, (1,) * 8, (999, 999, 999, 1)):
            assert additive.worst_sum(wide, cost) >= sum(map(cost, move), Fraction(0))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.name} {law.limit}")
@pytest.mark.parametrize("room", [(1, 3, 3), (2, 3, 2), (3, 3, 3), (3, 4, 2), (2, 12, 12)])
def test_no_move_within_the_norms_loses_more_than_is_stated(law, room) -> None:
    """Largest finite loss, mass of impossible outputs, and rho, for every move and every choice of signs."""
    profile = law.profile(norms(*room), Relation.ADD_REMOVE)
    rho, rho_delta = profile.zero_concentrated()
    for move in moves_within(*room):
        moved = [s for s in move if s]
        assert sum((largest(law, s) for s in moved), Fraction(0)) <= profile.epsilon
        kept = Fraction(1)
        for s in moved:
            kept *= 1 - finite_noise.impossible(law, s)
        assert 1 - kept <= profile.delta + Fraction(1, 10**39)
        for signs in product((1, -1), repeat=len(moved)):
            parts = [loss.of_shift(law, s * sign) for s, sign in zip(moved, signs, strict=True)]
            if parts and rho_delta < 1:
                whole = reduce(LossDistribution.beside, parts)
                assert rho_of(whole, rho_delta)[0] <= rho * Fraction(1001, 1000)


def largest(law, size: int) -> Fraction:
    if size > 2 * law.limit:
        return Fraction(0)
    return finite_noise.largest_finite_loss(law, size)


def test_thirteen_rows_of_a_person_are_priced_for_thirteen_cells() -> None:
    """The spread of thirteen rows over thirteen cells loses more than one cell that takes them all."""
    from dalenius.core.domain import Axis, CellSpace
    from dalenius.statistics.count import Count

    axis = Axis(variable="x", labels=tuple(map(str, range(20))), codes=tuple(range(20)))
    count = Count(TableQuery(space=CellSpace((axis,))))
    sensitivity = count.sensitivity(Neighbours(max_rows=13, unit="person"))
    assert sensitivity.patterns is None
    law = TruncatedNormal.of_variance(700, 150)
    spread, single = 13 * law.largest_loss(1), law.largest_loss(13)
    assert law.profile(sensitivity, Relation.ADD_REMOVE).epsilon == spread > single
