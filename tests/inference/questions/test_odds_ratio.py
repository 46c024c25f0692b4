"""Without noise the estimate is the cross-product ratio."""

import pytest
from tests.inference.questions.conftest import TABLE

from dalenius.errors import ParameterError


def test_the_cross_product_ratio(ask, counts) -> None:
    (a, b), (c, d) = TABLE.sum(1)
    assert ask("odds_ratio", counts, axes=("A", "C")).value == pytest.approx(a * d / (b * c), rel=1e-6)


def test_one_axis_is_no_table(ask, counts) -> None:
    with pytest.raises(ParameterError, match="Name the two axes"):
        ask("odds_ratio", counts, axes=("A",))
