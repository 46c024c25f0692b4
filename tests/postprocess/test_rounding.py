"""Controlled rounding: every cell and every margin goes to a neighbouring integer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.errors import Unsupported
from dalenius.postprocess.rounding import Rounding, controlled, largest_remainder


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=15))
def test_largest_remainder_keeps_the_rounded_total(values: list[float]) -> None:
    array = np.array(values)
    out = largest_remainder(array)
    assert (np.abs(out - array) < 1 + 1e-6).all()
    assert out.sum() == pytest.approx(np.rint(array.sum()), abs=1.01)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_two_way_rounding_controls_rows_columns_and_total(rows: int, columns: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(3, 4, (rows, columns)).round(3)
    out = controlled(values)
    assert (out == np.rint(out)).all()
    assert (np.abs(out - values) < 1 + 1e-6).all()
    for axis in (0, 1):
        assert (np.abs(out.sum(axis=axis) - values.sum(axis=axis)) < 1 + 1e-6).all()
    assert abs(out.sum() - values.sum()) <= 0.5 + 1e-6


def test_margins_are_sums_of_rounded_cells(make) -> None:
    values = np.random.default_rng(3).normal(5, 2, (3, 4, 2))
    release = make({("a", "b", "c"): values, ("b",): values.sum(axis=(0, 2)), (): np.array(values.sum())})
    fixed = Rounding()(release)
    cells = fixed.tables[0].values.reshape(3, 4, 2)
    assert (cells == np.rint(cells)).all()
    assert fixed.tables[1].values == pytest.approx(cells.sum(axis=(0, 2)))
    assert fixed.tables[2].values[0] == pytest.approx(np.rint(values.sum()))
    assert fixed.blocks is release.blocks


def test_without_a_common_table_it_is_refused(make) -> None:
    with pytest.raises(Unsupported):
        Rounding()(make({("a",): np.array([1.2, 2.0]), ("b",): np.array([1.0, 2.3])}))
