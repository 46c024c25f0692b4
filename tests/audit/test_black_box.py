"""Black-box bootstrap sensitivity: proved by enumeration, bracketed by search, never used unproved."""

from fractions import Fraction
from statistics import mode

import numpy as np
import pytest

from dalenius.audit.black_box import bootstrap_sensitivity, work
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.errors import ParameterError, Unsupported
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.quantile import Quantile
from dalenius.statistics.variance import Variance
from dalenius_lab.brute import everywhere

QUERY = ValuesQuery(value="x")


def test_small_problems_are_proved():
    for data in ((1, 2, 3), (0, 0, 5, 7), (4, 4, 4)):
        for function in (sum, max, Quantile(query=QUERY, low=0, high=9).value):
            found = bootstrap_sensitivity(function, data)
            assert found.is_exact
            assert found.proved == found.noise_bound == everywhere(function, data, len(data), Relation.REPLACE)


def test_the_papers_examples():
    def odd(rows):
        return sum(r % 2 for r in rows)

    assert [bootstrap_sensitivity(odd, d).proved for d in ((1, 2, 3), (2, 4, 6), (1, 3, 5))] == [1, 0, 0]
    assert bootstrap_sensitivity(sum, (1, 2, 3)).proved == 2


def test_closed_forms_agree():
    replace = Neighbours(relation=Relation.REPLACE)
    rng = np.random.default_rng(7)
    for _ in range(40):
        data = tuple(rng.integers(0, 9, int(rng.integers(2, 5))).tolist())
        variance = Variance(value_name="x", low=0, high=9, size=len(data))
        assert bootstrap_sensitivity(variance.value, data).proved == variance.bootstrap(data, replace)
        top = Extreme(query=QUERY, low=0, high=9, rank=2)
        assert bootstrap_sensitivity(top.value, data).proved == top.bootstrap(data, replace)


def test_vectors_and_odd_functions():
    def histogram(rows):
        return [rows.count(v) for v in (1, 2, 3)]

    assert bootstrap_sensitivity(histogram, (1, 2, 3, 3)).proved == 2
    assert bootstrap_sensitivity(mode, (1, 5, 5)).proved == 4


def test_large_problems_give_an_interval():
    data = tuple(range(60))
    only_found = bootstrap_sensitivity(sum, data, restarts=3)
    assert only_found.found == 59
    assert only_found.proved is None
    assert not only_found.is_exact
    with pytest.raises(Unsupported):
        _ = only_found.noise_bound
    bracketed = bootstrap_sensitivity(max, data, restarts=3, upper=100)
    assert (bracketed.found, bracketed.proved) == (59, 100)
    met = bootstrap_sensitivity(max, data, restarts=3, upper=Fraction(59))
    assert met.is_exact
    with pytest.raises(ParameterError):
        bootstrap_sensitivity(sum, data, restarts=3, upper=10)


def test_work():
    assert work(3, 3) == 10 * 9
    with pytest.raises(ParameterError):
        bootstrap_sensitivity(sum, ())
