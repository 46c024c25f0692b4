"""Controlled rounding: every cell and every margin goes to a neighbouring integer."""

import numpy as np
import pytest

from dalenius.errors import Unsupported
from dalenius.postprocess.rounding import Rounding


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
