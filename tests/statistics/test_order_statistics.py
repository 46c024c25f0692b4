"""Quantile, extreme, range and interquartile range against exhaustive enumeration, both relations."""

from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np
import pytest

from dalenius.audit import sensitivity as brute
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.order_statistics import prepare, rational_base, smooth_replace, weights
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.interquartile import Interquartile
from dalenius.statistics.quantile import Quantile
from dalenius.statistics.value_range import ValueRange
from dalenius_lab.brute import everywhere, smooth

QUERY = ValuesQuery(value="x")
REPLACE = Neighbours(relation=Relation.REPLACE)
ADD_REMOVE = Neighbours(relation=Relation.ADD_REMOVE)
LOW, HIGH = 0, 4
UNIVERSE = tuple(range(LOW, HIGH + 1))


def all_statistics(low: int = LOW, high: int = HIGH):
    common = {"query": QUERY, "low": low, "high": high}
    yield from (Quantile(**common, q=Fraction(q)) for q in ("1/4", "1/2", "3/4", "1/3", "9/10"))
    yield Quantile(**common, is_midpoint=True)
    for rank in (1, 2, 3):
        yield Extreme(**common, rank=rank)
        yield Extreme(**common, rank=rank, is_largest=False)
    yield ValueRange(**common)
    yield Interquartile(**common)


def identify(statistic) -> str:
    parts = [getattr(statistic, name, "") for name in ("q", "rank", "is_midpoint", "is_largest")]
    return type(statistic).__name__ + "-" + "-".join(map(str, parts))


STATISTICS = list(all_statistics())


@pytest.mark.parametrize("statistic", STATISTICS, ids=identify)
@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=lambda n: str(n.relation))
def test_local_equals_enumeration(statistic, neighbours):
    for n in range(6):
        for data in brute.multisets(UNIVERSE, n):
            expected = brute.local(statistic.value, data, UNIVERSE, neighbours.relation)
            assert statistic.local(data, neighbours) == expected, data


@pytest.mark.parametrize("statistic", STATISTICS, ids=identify)
@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=lambda n: str(n.relation))
def test_global_covers_every_neighbour(statistic, neighbours):
    stated = statistic.sensitivity(neighbours).l1
    found = max(everywhere(statistic.value, UNIVERSE, n, neighbours.relation) for n in range(5))
    assert found <= stated
    if neighbours.is_replace or not isinstance(statistic, Interquartile):
        assert found == stated or getattr(statistic, "is_midpoint", False)


@pytest.mark.parametrize("statistic", STATISTICS, ids=identify)
@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=lambda n: str(n.relation))
def test_bootstrap_covers_data_sets_of_every_size_and_is_mostly_exact(statistic, neighbours):
    """A data set made of the rows at hand may be smaller, down to none at all."""
    exact = 0
    for n in range(1, 5):
        for data in brute.multisets((0, 1, 3), n):
            sizes = range(5)
            expected = max(everywhere(statistic.value, set(data), m, neighbours.relation) for m in sizes)
            stated = statistic.bootstrap(data, neighbours)
            assert stated >= expected
            exact += stated == expected
            is_short = isinstance(statistic, Extreme) and n <= statistic.rank
            if isinstance(statistic, Quantile | ValueRange | Extreme) and not is_short:
                assert stated == expected, data
    assert exact >= 15


@pytest.mark.parametrize("base", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("statistic", [s for s in STATISTICS if isinstance(s, Quantile | Extreme)], ids=identify)
def test_smooth_under_replace_equals_enumeration(statistic, base):
    """Integer weights exceed base**k by less than one part in 2**100, and the floor of one step is public."""
    known: dict = {}
    for n in range(1, 5):
        for data in brute.multisets((0, 1, 2, 4), n):
            expected = smooth(statistic.value, data, UNIVERSE, base, Relation.REPLACE, n, known)
            stated = statistic.smooth(data, base, REPLACE)
            floor = 2 if getattr(statistic, "is_midpoint", False) and n % 2 else 1
            assert 0 <= stated - max(expected, floor) < Fraction(1, 2**100), (data, stated, expected)


@pytest.mark.parametrize("statistic", STATISTICS, ids=identify)
@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=lambda n: str(n.relation))
def test_smooth_bound_is_smooth_and_covers(statistic, neighbours):
    if not neighbours.is_replace and getattr(statistic, "is_midpoint", False):
        with pytest.raises(Unsupported):
            statistic.smooth((1, 2), Fraction(1, 2), neighbours)
        return
    universe, base = (0, 1, 2, 3), Fraction(7, 10)
    small = next(s for s in all_statistics(0, 3) if identify(s) == identify(statistic))
    table = {data: small.smooth(data, base, neighbours) for n in range(6) for data in brute.multisets(universe, n)}
    for data, bound in table.items():
        assert bound >= brute.local(small.value, data, universe, neighbours.relation)
        for other in brute.neighbours_of(data, universe, neighbours.relation):
            if other in table:
                assert bound * base <= table[other], (data, other)


def test_reference_vectors():
    """Numbers of the algorithm reference and of the corrections to the papers."""
    odd = Quantile(query=QUERY, low=0, high=100)
    values = [1, 2, 3, 4, 7, 8, 20]
    for beta, expected in (("0.5", 21.420495374), ("0.1", 71.118549185)):
        found = odd.smooth(values, rational_base(Fraction(beta)), REPLACE)
        assert float(found) == pytest.approx(expected, abs=1e-9)
    base = rational_base(Fraction(1, 2))
    nine = list(range(1, 10))
    assert float(Quantile(query=QUERY, low=0, high=10).smooth(nine, base, REPLACE)) == pytest.approx(
        2 * exp(-0.5), abs=1e-7
    )
    assert Extreme(query=QUERY, low=0, high=20).smooth(nine, base, REPLACE) == 11


def test_local_of_the_paper_and_of_its_corrections():
    x = [1, 2, 5, 6, 10]
    median = Quantile(query=QUERY, low=0, high=100, is_midpoint=True)
    assert median.local(x, REPLACE) == 2 * max(5 - 2, 6 - 5)
    assert median.local(x, ADD_REMOVE) == max(5 - 2, 6 - 5)
    even = [1, 2, 5, 6, 10, 30]
    assert median.local(even, REPLACE) == max(10 - 5, 6 - 2)
    assert median.local(even, ADD_REMOVE) == 6 - 5
    assert Extreme(query=QUERY, low=0, high=100).local(x, REPLACE) == max(100 - 10, 10 - 6)
    assert Extreme(query=QUERY, low=0, high=100, rank=2).local(x, REPLACE) == max(10 - 6, 6 - 5)
    assert ValueRange(query=QUERY, low=0, high=4).local([1, 3], REPLACE) == 2


def test_the_fast_search_equals_the_dense_one(monkeypatch):
    rng = np.random.default_rng(4)
    for _ in range(40):
        n = int(rng.integers(1, 60))
        data = prepare(np.sort(rng.integers(0, 1000, n) ** 2 // 1000), 0, 1000)
        m, base = int(rng.integers(1, n + 1)), rational_base(Fraction(int(rng.integers(2, 90)), 100))
        dense = smooth_replace(data, m, m, base)
        monkeypatch.setattr("dalenius.exact.order_statistics._DENSE", 0)
        fast = smooth_replace(data, m, m, base)
        monkeypatch.undo()
        assert 0 <= fast - dense <= dense / 2**99


def test_weights_never_fall_faster_than_the_base():
    for base in (Fraction(1, 3), Fraction(99, 100), rational_base(Fraction(1, 1000))):
        w = weights(base, 3000)
        assert all(b >= a * base for a, b in pairwise(w))


def test_base_stays_on_the_safe_side_of_beta():
    import mpmath

    for beta in ("0.00001", "0.1", "1", "7.5", "30"):
        base = rational_base(Fraction(beta))
        assert base < 1
        with mpmath.workdps(60):
            exact = mpmath.log(mpmath.mpf(base.numerator) / base.denominator)
            assert mpmath.mpf(2) ** -66 < exact + mpmath.mpf(beta)
    with pytest.raises(ParameterError):
        rational_base(Fraction(0))


def test_refusals_do_not_need_data():
    persons = Neighbours(unit="person", max_rows=3)
    with pytest.raises(Unsupported):
        Quantile(query=QUERY, low=0, high=9).local([], persons)
    with pytest.raises(Unsupported):
        Quantile(query=QUERY, low=0, high=9, is_complete=False).smooth([], Fraction(1, 2), REPLACE)
    with pytest.raises(ParameterError):
        Quantile(query=QUERY, low=0, high=9, q=Fraction(1))
