"""Sums of one measured table: equal to what dense matrices over its cells say."""

import numpy as np
import pytest

from dalenius.algebra.margins import Workload, all_margins, least_squares
from dalenius.algebra.nested import NestedLaw, View, aggregate
from dalenius.core.law import FloatArray, Joint

SHAPE = (4, 3)
VIEWS: tuple[View, ...] = (((0, 1, 2, 3), (0, 1, 2)), ((1, 0, 1, 1), (0, 1, 0)), ((0, 0, 0, 1), None), (None, None))


def plain(margin: tuple[int, ...]) -> View:
    return tuple(tuple(range(n)) if i in margin else None for i, n in enumerate(SHAPE))


def matrix(view: View) -> FloatArray:
    """The view as a matrix over the cells of the finest table."""
    out = np.ones((1, 1))
    for size, groups in zip(SHAPE, view, strict=True):
        part = np.ones((1, size)) if groups is None else np.equal.outer(np.arange(max(groups) + 1), groups)
        out = np.kron(out, part.astype(float))
    return out


def law_of(zeros: tuple[int, ...] = ()) -> NestedLaw:
    shown = [[None if groups is None else list(groups) for groups in view] for view in VIEWS]
    content = {"shape": list(SHAPE), "shown": shown, "blocks": [{"variance": 2.5}], "structural_zeros": list(zeros)}
    return NestedLaw.of(Joint("nested", content))


def test_dense_least_squares_is_the_arithmetic_of_margins() -> None:
    rng = np.random.default_rng(3)
    margins = all_margins(2)
    variances = {m: 1.0 + len(m) for m in margins}
    values = {m: rng.normal(20, 3, tuple(SHAPE[a] for a in m)) for m in margins}
    maps = {m: matrix(plain(m)) for m in margins}
    inverse = np.linalg.pinv(sum(maps[m].T @ maps[m] / variances[m] for m in margins), hermitian=True)
    right = sum(maps[m].T @ values[m].ravel() / variances[m] for m in margins)
    workload = Workload(SHAPE, margins)
    expected = least_squares(workload, values, variances)
    components = workload.after_least_squares({m: 1 / v for m, v in variances.items()})
    for m in margins:
        assert maps[m] @ inverse @ right == pytest.approx(expected[m].ravel(), abs=1e-9)
        assert np.diag(maps[m] @ inverse @ maps[m].T) == pytest.approx(workload.variance(components, m))


def test_estimates_are_sums_of_the_measured_cells() -> None:
    values = np.arange(12)
    shown = law_of().estimates([values], [], [])
    for view, found in zip(VIEWS, shown, strict=True):
        assert found == pytest.approx(matrix(view) @ values)
        assert aggregate(values.reshape(SHAPE), view).ravel() == pytest.approx(found)


@pytest.mark.parametrize("zeros", [(), (0, 5, 11)])
def test_covariances_are_those_of_dense_matrices(zeros: tuple[int, ...]) -> None:
    law = law_of(zeros)
    spread = 2.5 * np.diag(~np.isin(np.arange(12), zeros)).astype(float)
    maps = [matrix(view) for view in VIEWS]
    for first, left in enumerate(maps):
        assert law.variances[first] == pytest.approx(np.diag(left @ spread @ left.T))
        for second, right in enumerate(maps):
            found = law.covariance(first, range(len(left)), second, range(len(right)))
            assert found == pytest.approx(left @ spread @ right.T)
    again = law.covariance(0, [2, 2, 0], 2, [1])
    assert again == pytest.approx((maps[0] @ spread @ maps[2].T)[np.ix_([2, 2, 0], [1])])
