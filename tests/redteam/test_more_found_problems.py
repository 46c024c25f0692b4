"""Further problems that were found by attack, each with the test that showed it."""

from fractions import Fraction

import numpy as np
import pytest
from tests.redteam.conftest import Open, ask

from dalenius.algebra.tabulation import bounds
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery, ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import Unsupported
from dalenius.inference import combine, independence
from dalenius.measurements.keyed_list import KeyedList
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.postprocess.nonnegative import Nonnegative
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.quantile import Quantile
from dalenius.testing.toy import toy_domain


def test_another_grouping_under_the_same_labels_has_other_keyed_noise() -> None:
    """The same noise under two groupings would give their difference away exactly."""

    def noise(codes: tuple[int, ...]) -> list[int]:
        space = CellSpace((Axis(variable="age", labels=("young", "old"), codes=codes),))
        made = KeyedList(
            "l", TableQuery(space=space), DiscreteLaplace(Fraction(1, 1000)), toy_domain(), "f", "f", bytes(32)
        )
        return made.draw(RecordedRandomness(1)).tolist()

    assert noise((0, 0, 1)) == noise((0, 0, 1))
    assert noise((0, 0, 1)) != noise((0, 1, 1))


def test_one_release_given_twice_is_refused(open_curator: Open) -> None:
    """Counted as two measurements it would break the level of every test."""
    release = open_curator().release(ask())
    with pytest.raises(Unsupported, match="twice"):
        combine([release, release])
    with pytest.raises(Unsupported, match="twice"):
        independence([release, release.with_()])


def test_intervals_of_adjusted_values_are_those_of_the_measured_ones(open_curator: Open) -> None:
    """An interval around a moved value would not cover what it claims to."""
    release = open_curator().release(ask())
    adjusted = Nonnegative()(release)
    for one, other in zip(bounds(release, release.table), bounds(adjusted, adjusted.table), strict=True):
        assert np.array_equal(one, other)


def test_rows_outside_a_filter_can_empty_an_order_statistic() -> None:
    """Within the data, a list may become empty and the answer jump to a declared bound."""
    values, query = np.array([100, 101], dtype=np.int64), ValuesQuery(value="n")
    for made in (Quantile, Extreme):
        filtered = made(query=query, low=0, high=200, is_complete=False)
        assert filtered.bootstrap(values, Neighbours()) >= 101
