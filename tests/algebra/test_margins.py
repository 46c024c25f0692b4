"""Arithmetic of margins: published vectors, dense least squares, exhaustive covariances."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.algebra.margins import Workload, all_margins, centre, closure, holder, least_squares, maximal, sum_out
from dalenius.algebra.optimal import select
from dalenius.errors import ParameterError

VECTOR = Workload((3, 4, 2), ((0, 1), (1, 2), (0,), (0, 1, 2)))


def marginal_matrix(shape: tuple[int, ...], margin: tuple[int, ...]) -> np.ndarray:
    out = np.ones((1, 1))
    for axis, size in enumerate(shape):
        out = np.kron(out, np.eye(size) if axis in margin else np.ones((1, size)))
    return out


def test_published_vector_of_component_variances() -> None:
    found = select(VECTOR, 1.0)
    expected = {
        (): 11.790412,
        (0,): 4.433793,
        (1,): 4.502538,
        (2,): 11.028920,
        (0, 1): 2.122517,
        (0, 2): 7.352614,
        (1, 2): 2.757230,
        (0, 1, 2): 1.838153,
    }
    assert found == pytest.approx(expected, abs=5e-7)
    cells = [VECTOR.variance(found, m) for m in VECTOR.margins]
    assert cells == pytest.approx([1.703089, 2.407066, 4.265908, 1.191670], abs=5e-7)
    assert VECTOR.loss(found) == pytest.approx(81.091388, abs=5e-7)


@pytest.mark.parametrize(
    ("shape", "margins", "expected"),
    [
        ((10,) * 4, all_margins(4, 2, 2), 2.249),
        ((10,) * 4, all_margins(4, 4, 1), 1.898),
        ((2,) * 6, all_margins(6, 2, 2), 2.084),
        ((2,) * 10, all_margins(10, 2, 2), 3.045),
        ((11, 2, 21, 5, 12, 9, 5), all_margins(7, 3, 1), 4.479),
        ((5, 4), all_margins(2), 1.379),
    ],
)
def test_published_errors(shape: tuple[int, ...], margins: tuple, expected: float) -> None:
    workload = Workload(shape, margins)
    assert workload.rmse(select(workload, 1.0)) == pytest.approx(expected, abs=5e-4)


def test_residual_loss_is_the_dense_optimum_of_its_family() -> None:
    """Cost, variances and covariances of the closed form equal those of dense matrices."""
    found = select(VECTOR, 1.0)
    cells = prod(VECTOR.shape)
    gram = np.zeros((cells, cells))
    for a, variance in found.items():
        projection = np.ones((1, 1))
        for axis, n in enumerate(VECTOR.shape):
            mean = np.full((n, n), 1 / n)
            projection = np.kron(projection, np.eye(n) - mean if axis in a else mean)
        gram += projection * prod(n for i, n in enumerate(VECTOR.shape) if i not in a) / variance
    assert np.diag(gram) == pytest.approx(np.ones(cells))
    inverse = np.linalg.inv(gram)
    for margin in VECTOR.margins:
        shown = marginal_matrix(VECTOR.shape, margin)
        dense = shown @ inverse @ shown.T
        ours = VECTOR.covariance(found, margin, range(len(dense)), margin, range(len(dense)))
        assert ours == pytest.approx(dense, abs=1e-10)
        assert np.diag(dense) == pytest.approx(VECTOR.variance(found, margin))


def test_covariance_across_margins_is_that_of_dense_matrices() -> None:
    variances = {(0, 1): 1.0, (1, 2): 0.5, (0,): 3.0, (0, 1, 2): 2.0}
    components = VECTOR.after_least_squares({m: 1 / v for m, v in variances.items()})
    normal = sum(
        marginal_matrix(VECTOR.shape, m).T @ marginal_matrix(VECTOR.shape, m) / v for m, v in variances.items()
    )
    inverse = np.linalg.inv(normal)
    first, second = (0, 1), (1, 2)
    dense = marginal_matrix(VECTOR.shape, first) @ inverse @ marginal_matrix(VECTOR.shape, second).T
    found = VECTOR.covariance(components, first, range(len(dense)), second, range(dense.shape[1]))
    assert found == pytest.approx(dense, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_least_squares_equals_dense_least_squares(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    every = all_margins(len(shape))
    measured = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    shown = tuple(m for m in closure(measured))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    variances = {m: float(rng.uniform(0.1, 5)) for m in measured}
    arrays = {m: rng.normal(10, 3, tuple(shape[a] for a in m)) for m in measured}
    workload = Workload(shape, shown)
    ours = least_squares(workload, arrays, variances)
    maps = {m: marginal_matrix(shape, m) for m in every}
    normal = sum(maps[m].T @ maps[m] / variances[m] for m in measured)
    right = sum(maps[m].T @ arrays[m].ravel() / variances[m] for m in measured)
    inverse = np.linalg.pinv(normal)
    components = workload.after_least_squares({m: 1 / v for m, v in variances.items()})
    for margin in shown:
        assert ours[margin].ravel() == pytest.approx(maps[margin] @ inverse @ right, abs=1e-9)
        dense = np.diag(maps[margin] @ inverse @ maps[margin].T)
        assert workload.variance(components, margin) == pytest.approx(dense, rel=1e-9)


def test_estimates_add_up_and_least_squares_is_within_1e_10() -> None:
    rng = np.random.default_rng(4)
    shape = (5, 4, 3)
    margins = all_margins(3)
    workload = Workload(shape, margins)
    arrays = {m: rng.normal(50, 4, tuple(shape[a] for a in m)) for m in margins}
    found = least_squares(workload, arrays, {m: 1.0 + len(m) for m in margins})
    for m in margins:
        assert found[m] == pytest.approx(sum_out(found[0, 1, 2], (0, 1, 2), m), abs=1e-10)


def test_components_are_orthogonal_and_give_the_margin_back() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(3, 4))
    parts = {a: centre(sum_out(values, (0, 1), a)) for a in closure([(0, 1)])}
    back = parts[0, 1] + parts[0,][:, None] / 4 + parts[1,][None, :] / 3 + parts[()] / 12
    assert back == pytest.approx(values)


def test_small_helpers() -> None:
    assert maximal([(0,), (0, 1), (), (2,)]) == ((2,), (0, 1))
    assert holder((0,), [(0, 1, 2), (0, 2)]) == (0, 2)
    with pytest.raises(ParameterError):
        Workload((2, 2), ((1, 0),))
    with pytest.raises(ParameterError):
        Workload((2, 2), ((0,), (0,)))
    with pytest.raises(ParameterError):
        Workload((2, 2), ())
