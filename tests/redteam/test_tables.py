"""Attacks on tables and sensitivities that failed: brute force over tiny problems against what is claimed.

Run time: about two seconds. Nothing here is random.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest
from tests.redteam.conftest import Open, ask

from dalenius.algebra.moves import exact_cost, moves
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.exact.order_statistics import rational_base
from dalenius.lists.tables import answer_from_list
from dalenius.mechanisms.custom_utility import CustomUtility
from dalenius.mechanisms.max_entropy import MaxEntropy
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal
from dalenius.spec import load
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.interquartile import Interquartile
from dalenius.statistics.quantile import Quantile
from dalenius.statistics.value_range import ValueRange

SHAPE = (2, 3)
GRID = {(): Fraction(3), (0,): Fraction(5), (1,): Fraction(7), (0, 1): Fraction(11)}
RECORDS = tuple(product(range(2), range(3)))
VALUES = ValuesQuery(value="n")


def _component(rows: tuple[tuple[int, ...], ...], margin: tuple[int, ...]) -> Any:
    array = np.zeros([SHAPE[i] for i in margin])
    for row in rows:
        array[tuple(row[i] for i in margin)] += 1
    for axis in range(array.ndim):
        array = array - array.mean(axis=axis, keepdims=True)
    return array * array.size


def _distance(first: Any, second: Any, grid: dict[tuple[int, ...], Fraction]) -> float:
    return sum(float(((_component(first, a) - _component(second, a)) ** 2).sum()) / float(v) for a, v in grid.items())


@pytest.mark.parametrize("most", [1, 2])
def test_residual_noise_is_priced_at_the_worst_pair_of_units(most: int) -> None:
    """Units of up to two rows, added, replaced, and replaced with a public size: never more than the price."""
    units = [u for k in range(most + 1) for u in combinations_with_replacement(RECORDS, k)]
    known = {a: v for a, v in GRID.items() if a}
    full = [u for u in units if len(u) == most]

    def price(grid: dict[tuple[int, ...], Fraction], is_replace: bool, is_public: bool) -> float:
        ways = moves(0, (0, 1), is_replace=is_replace, is_size_public=is_public)
        return float(exact_cost(SHAPE, {(0, a): v for a, v in grid.items()}, ways)) * most**2

    assert max(_distance(u, (), GRID) for u in units) == pytest.approx(price(GRID, False, False))
    assert max(_distance(u, w, GRID) for u in units for w in units) == pytest.approx(price(GRID, True, False))
    assert max(_distance(u, w, known) for u in full for w in full) <= price(known, True, True) * (1 + 1e-12)


def _hockey_stick(law: Any, move: tuple[int, ...], epsilon: float) -> float:
    """The divergence of independent cells, from the distribution of the summed loss."""
    x = np.arange(law.support[0], law.support[1] + 1)
    mass = dict(zip(x.tolist(), np.exp(law.log_pmf(x)).tolist(), strict=True))
    losses = {0.0: 1.0}
    for step in move:
        fresh: dict[float, float] = {}
        for (so_far, weight), (y, p) in product(losses.items(), mass.items()):
            q = mass.get(y - step, 0.0)
            loss = so_far + (log(p / q) if q else inf)
            fresh[loss] = fresh.get(loss, 0.0) + weight * p
        losses = fresh
    return sum(w * (1 - exp(epsilon - loss)) for loss, w in losses.items() if loss > epsilon)


@pytest.mark.parametrize(
    "law",
    [
        TruncatedNormal(Fraction(1, 5), 3),
        MaxEntropy(Fraction(2), 3),
        TruncatedLaplace(Fraction(1, 2), 4),
        CustomUtility.of(Fraction(1, 3), [3, 1, 0, 2, 5]),
        CustomUtility.of(Fraction(1, 2), [4, 0, 3, 0, 3, 0, 4]),
    ],
    ids=lambda law: law.name,
)
@pytest.mark.parametrize("extreme", [(1, 1), (2,), (2, 1), (6,)], ids=str)
def test_finite_noise_keeps_its_curve_at_every_smaller_move(law: Any, extreme: tuple[int, ...]) -> None:
    """All moves that a pattern dominates, in every direction, at several epsilon."""
    profile = law.profile(Sensitivity.of_patterns((extreme,)), Relation.REPLACE)
    moves = list(product(*(range(-s, s + 1) for s in extreme)))
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1), profile.epsilon):
        worst = max(_hockey_stick(law, move, float(epsilon)) for move in moves)
        assert worst <= float(profile.delta_at(epsilon)) + 1e-9


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(
    "statistic",
    [
        Quantile(query=VALUES, low=0, high=7, q=Fraction(1, 10)),
        Quantile(query=VALUES, low=0, high=7, q=Fraction(9, 10)),
        Extreme(query=VALUES, low=0, high=7, rank=2),
        Extreme(query=VALUES, low=0, high=7, is_largest=False),
        ValueRange(query=VALUES, low=0, high=7),
        Interquartile(query=VALUES, low=0, high=7),
    ],
    ids=lambda s: type(s).__name__,
)
def test_smooth_sensitivities_are_smooth_from_the_empty_list_on(statistic: Any, relation: Relation) -> None:
    """Between all neighbours of up to four values: above the change of the answer, and smooth."""
    base, neighbours, points = rational_base(Fraction(1, 3)), Neighbours(relation=relation), (0, 1, 3, 7)
    lists = [d for n in range(5) for d in combinations_with_replacement(points, n)]
    arrays = {d: np.array(d, dtype=np.int64) for d in lists}
    smooth = {d: statistic.smooth(a, base, neighbours) for d, a in arrays.items()}
    for d in lists:
        for i in range(len(d)):
            rest = d[:i] + d[i + 1 :]
            others = [tuple(sorted((*rest, v))) for v in points] if neighbours.is_replace else [rest]
            for e in others:
                change = abs(statistic.value(arrays[d]) - statistic.value(arrays[e]))
                assert change <= min(smooth[d], smooth[e])
                assert smooth[d] * base <= smooth[e] and smooth[e] * base <= smooth[d]


def test_a_stored_list_is_not_served_for_another_condition(open_curator: Open) -> None:
    """The condition must be the stored one, in steps; a wider or narrower one is not a sum of the list."""
    curator = open_curator(policy={"budget": {"rho": 100}})
    stored = curator.release(ask("1", table={"where": {"n": {"at_least": 0, "at_most": 5}}}))
    for most, is_served in ((5, True), (4, False), (6, False)):
        request = load.load_request(ask("1", table={"where": {"n": {"at_least": 0, "at_most": most}}}))
        space, filters = request.space(curator.domain), request.filters(curator.domain)
        found = answer_from_list(stored, space, filters, curator.domain)
        assert (found is not None) is is_served
