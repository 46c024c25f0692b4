"""Dense least squares along hierarchies: equal to the residual arithmetic where there is no hierarchy."""

import numpy as np
import pytest

from dalenius.algebra.margins import Workload, all_margins, least_squares
from dalenius.algebra.nested import DenseLeastSquares, Measured, View, aggregate, matrix
from dalenius.errors import TooLarge

SHAPE = (4, 3)


def plain(margin: tuple[int, ...]) -> View:
    return tuple(tuple(range(n)) if i in margin else None for i, n in enumerate(SHAPE))


def test_without_levels_it_is_the_arithmetic_of_margins() -> None:
    rng = np.random.default_rng(3)
    margins = all_margins(2)
    variances = {m: 1.0 + len(m) for m in margins}
    values = {m: rng.normal(20, 3, tuple(SHAPE[a] for a in m)) for m in margins}
    solver = DenseLeastSquares(SHAPE, [Measured(plain(m), variances[m]) for m in margins])
    workload = Workload(SHAPE, margins)
    expected = least_squares(workload, values, variances)
    components = workload.after_least_squares({m: 1 / v for m, v in variances.items()})
    for m in margins:
        assert solver.estimate(list(values.values()), plain(m)) == pytest.approx(expected[m].ravel(), abs=1e-9)
        assert np.diag(solver.covariance(plain(m))) == pytest.approx(workload.variance(components, m))


def test_groups_of_unequal_size_are_unbiased_with_the_stated_covariance() -> None:
    """Statistical: 4,000 draws, 5 standard errors; fixed seed."""
    groups: View = ((0, 0, 0, 1), None)
    views = [plain((0, 1)), groups]
    solver = DenseLeastSquares(SHAPE, [Measured(views[0], 4.0), Measured(views[1], 1.0)])
    truth = np.arange(12.0).reshape(SHAPE)
    exact = [aggregate(truth, v).ravel() for v in views]
    rng = np.random.default_rng(4)
    draws = np.array(
        [
            solver.estimate([exact[0] + rng.normal(0, 2, 12), exact[1] + rng.normal(0, 1, 2)], groups)
            for _ in range(4000)
        ]
    )
    stated = solver.covariance(groups)
    assert draws.mean(axis=0) == pytest.approx(exact[1], abs=5 * float((stated.max() / 4000) ** 0.5))
    assert np.var(draws, axis=0) == pytest.approx(np.diag(stated), rel=0.12)
    assert (np.diag(stated) < [9 * 4.0, 1.0]).all()


def test_matrices_and_sums_agree() -> None:
    view: View = ((1, 0, 1, 1), (0, 1, 0))
    values = np.arange(12.0).reshape(SHAPE)
    assert aggregate(values, view).shape == (2, 2)
    assert matrix(SHAPE, view) @ values.ravel() == pytest.approx(aggregate(values, view).ravel())
    with pytest.raises(TooLarge):
        DenseLeastSquares((100, 100), [Measured((tuple(range(100)), None), 1.0)])
