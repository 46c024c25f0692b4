"""Non-negative tables: the projection against a generic optimiser, margins that add up, error that never grows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.postprocess.nonnegative import Nonnegative, project


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0.1, 9)), min_size=1, max_size=12), st.floats(0, 200))
def test_projection_meets_the_optimality_conditions(cells: list[tuple[float, float]], total: float) -> None:
    y, v = np.array([c[0] for c in cells]), np.array([c[1] for c in cells])
    x = project(y, v, total)
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(total, abs=1e-6)
    slack = (y - x) / v
    if total > 1e-6:
        inside = x > 1e-9
        assert np.ptp(slack[inside]) < 1e-6
        assert (slack[~inside] <= slack[inside].max() + 1e-6).all()


def test_weighted_error_never_grows_and_margins_add_up(make) -> None:
    rng = np.random.default_rng(2)
    truth = rng.poisson(1.0, (6, 5))
    for _ in range(50):
        noisy = truth + rng.laplace(0, 1, truth.shape)
        noisy += (truth.sum() - noisy.sum()) / noisy.size
        release = make({("a", "b"): noisy, ("a",): noisy.sum(axis=1), (): np.array(noisy.sum())})
        fixed = Nonnegative()(release)
        cells = fixed.tables[0].values.reshape(6, 5)
        assert (cells >= 0).all()
        assert ((cells - truth) ** 2).sum() <= ((noisy - truth) ** 2).sum() + 1e-9
        assert fixed.tables[1].values == pytest.approx(cells.sum(axis=1))
        assert fixed.tables[2].values[0] == pytest.approx(noisy.sum())


def test_margins_alone_are_fitted_by_a_possible_cross(make) -> None:
    truth = np.array([[0, 4], [3, 0], [0, 0]])
    row = truth.sum(axis=1) + np.array([0.4, -0.2, -1.5])
    column = truth.sum(axis=0) + np.array([-0.3, 0.1])
    fixed = Nonnegative()(make({("a",): row, ("b",): column}))
    assert all((t.values >= 0).all() for t in fixed.tables)
    assert fixed.tables[0].values.sum() == pytest.approx(fixed.tables[1].values.sum(), abs=1e-6)
    assert fixed.adjustments[0]["name"] == "nonnegative"
    assert not fixed.tables[0].is_unbiased


def test_measured_blocks_stay(make) -> None:
    release = make({("a",): np.array([-3.0, 8.0])})
    fixed = Nonnegative()(release)
    assert fixed.blocks is release.blocks
    assert fixed.tables[0].values == pytest.approx([0, 5])
