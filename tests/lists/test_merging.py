"""Small cells are merged along the declared hierarchy, by released counts alone."""

import pytest

from dalenius.core.domain import Categories, Hierarchy, Variable
from dalenius.errors import ParameterError
from dalenius.lists.merging import merged_axis

CATEGORIES = Categories(labels=("oslo", "bergen", "rome", "milan"))
COUNTRY = Hierarchy.of("country", {"norway": ("oslo", "bergen"), "italy": ("rome", "milan")}, CATEGORIES)
TOWN = Variable(name="town", domain=CATEGORIES, hierarchies=(COUNTRY,))


def test_a_group_with_a_small_member_is_merged():
    axis = merged_axis(TOWN, "country", [50, -2, 40, 30], 10)
    assert axis.labels == ("norway", "rome", "milan")
    assert axis.codes == (0, 0, 1, 2)
    assert axis.is_complete


def test_nothing_or_everything():
    assert merged_axis(TOWN, "country", [10, 10, 10, 10], 10).labels == CATEGORIES.labels
    assert merged_axis(TOWN, "country", [0, 0, 0, 0], 10).labels == ("norway", "italy")


def test_counts_must_match_the_declaration():
    with pytest.raises(ParameterError):
        merged_axis(TOWN, "country", [1, 2], 10)
