"""Least squares up and down a tree: dense least squares on every small tree, closed forms, a general convex solver."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from dalenius.algebra.tree import Tree, TwoPass
from dalenius.algebra.tree_shares import divide
from dalenius.errors import ParameterError

Matrix = NDArray[np.float64]


@st.composite
def trees(draw: st.DrawFn, most: int = 200) -> Tree:
    """Unbalanced trees of one to four levels below the root, in no order."""
    leaves = draw(st.integers(1, most))
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    groups = [np.arange(leaves)]
    for _ in range(draw(st.integers(0, 3))):
        finer = int(groups[0].max()) + 1
        coarser = int(generator.integers(1, finer + 1))
        parent = np.concatenate([np.arange(coarser), generator.integers(0, coarser, finer - coarser)])
        generator.shuffle(parent)
        groups.insert(0, parent[groups[0]])
    return Tree.of_groups([g.tolist() for g in groups])


def maps(tree: Tree) -> list[Matrix]:
    """Each level as a matrix over the leaves."""
    leaves = np.arange(tree.sizes[-1])
    found = []
    for level, size in enumerate(tree.sizes):
        matrix = np.zeros((size, len(leaves)))
        matrix[tree.ancestors(leaves, tree.depth, level), leaves] = 1
        found.append(matrix)
    return found


def dense(tree: Tree, precisions: Matrix) -> Matrix:
    """Covariance of the leaves."""
    return np.linalg.inv(sum(t * b.T @ b for t, b in zip(precisions, maps(tree), strict=True)))


@settings(max_examples=60, deadline=None)
@given(tree=trees(), seed=st.integers(0, 10_000))
def test_estimates_variances_and_covariances_are_those_of_dense_least_squares(tree: Tree, seed: int) -> None:
    generator = np.random.default_rng(seed)
    precisions = generator.uniform(0.1, 2, tree.depth + 1) * (generator.random(tree.depth + 1) < 0.7)
    precisions[-1] = generator.uniform(0.1, 2)
    covariance, levels = dense(tree, precisions), maps(tree)
    measured = [generator.normal(0, 10, (n, 2)) for n in tree.sizes]
    right = sum(t * b.T @ y for t, b, y in zip(precisions, levels, measured, strict=True))
    solved = TwoPass(tree, precisions.tolist())
    estimates = solved.estimate(measured)
    for level, b in enumerate(levels):
        np.testing.assert_allclose(estimates[level], b @ covariance @ right, atol=1e-9, rtol=1e-9)
        np.testing.assert_allclose(solved.variance[level], np.diag(b @ covariance @ b.T), rtol=1e-9)
        for other, c in enumerate(levels):
            nodes, others = np.arange(tree.sizes[level]), np.arange(tree.sizes[other])
            between = solved.covariance(level, nodes, other, others)
            np.testing.assert_allclose(between, b @ covariance @ c.T, atol=1e-9, rtol=1e-9)
        weights = generator.normal(size=(tree.sizes[level], 3))
        moments = weights.T @ b @ covariance @ b.T @ weights
        np.testing.assert_allclose(solved.moments(level, weights, weights), moments, atol=1e-9, rtol=1e-9)
        np.testing.assert_allclose(solved.squares(level, weights), np.diag(moments), atol=1e-9, rtol=1e-9)


def test_a_known_total_is_kept_and_its_parts_add_up_to_it() -> None:
    tree = Tree.of_groups([[0, 0, 1, 1, 1], [0, 1, 2, 3, 4]])
    solved = TwoPass(tree, [np.inf, 0.0, 1.0])
    estimates = solved.estimate([np.array([100.0]), None, np.arange(5.0)])
    assert estimates[0][0] == pytest.approx(100)
    assert estimates[2].sum() == pytest.approx(100)
    assert solved.variance[0][0] == 0
    np.testing.assert_allclose(solved.variance[2], 1 - 1 / 5)


def test_slopes_are_the_derivatives_of_the_loss() -> None:
    tree = Tree.of_groups([[0, 0, 1, 1, 1, 2], [0, 1, 2, 2, 3, 4], [0, 1, 2, 3, 4, 5]])
    generator = np.random.default_rng(3)
    gains = [generator.random(n) for n in tree.sizes]
    at = np.array([0.3, 0.0, 0.5, 0.7])

    def loss(precisions: Matrix) -> float:
        return float(
            sum((g * v).sum() for g, v in zip(gains, TwoPass(tree, precisions.tolist()).variance, strict=True))
        )

    for level, slope in enumerate(TwoPass(tree, at.tolist()).slopes(gains)):
        step = np.zeros(4)
        step[level] = 1e-6
        assert slope == pytest.approx((loss(at + step) - loss(at)) / 1e-6, rel=1e-4)


@pytest.mark.filterwarnings("error")
def test_slopes_of_a_level_that_is_hardly_measured_are_their_limit() -> None:
    """The squares of its variances are beyond all numbers: a slope that is no number would end the search for a plan."""
    tree = Tree.of_groups([[0, 0, 1], [0, 1, 2]])
    gains = [np.zeros(1), np.full(2, 2.0), np.zeros(3)]
    near, far = (TwoPass(tree, (0.0, 0.7, rest)).slopes(gains) for rest in (1e-9, 1e-190))
    assert far == pytest.approx(near, rel=1e-6)
    assert TwoPass(tree, (0.0, 0.7, 0.3))._scaled_slopes(gains) == pytest.approx(
        TwoPass(tree, (0.0, 0.7, 0.3))._plain_slopes(gains), rel=1e-12
    )


@pytest.mark.parametrize("branches", [(3, 4), (2, 5, 3), (10, 1, 4)])
def test_shares_of_a_balanced_tree_are_the_closed_form(branches: tuple[int, ...]) -> None:
    """Invariant part k of the leaves gets weight sqrt(W_k): the optimum over all Gaussian mechanisms."""
    sizes = np.cumprod((1, *branches))
    leaves = np.arange(sizes[-1])
    tree = Tree.of_groups([(leaves * n // sizes[-1]).tolist() for n in sizes[1:]])
    gains = np.array([0.5, 2.0, 1.0, 3.0][: len(sizes)])
    below = sizes[-1] / sizes
    parts = np.sqrt(np.cumsum((gains * below)[::-1])[::-1])
    ranks = np.diff(sizes, prepend=0)
    least = float((ranks * parts).sum()) ** 2 / sizes[-1]
    found = divide(tree, [np.full(n, g) for n, g in zip(sizes, gains, strict=True)], [1.0] * len(sizes))
    assert found.loss == pytest.approx(least, rel=1e-9)
    exact = (parts - np.append(parts[1:], 0)) / below
    np.testing.assert_allclose(found.shares, exact / exact.sum(), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_shares_of_an_unbalanced_tree_are_those_of_a_general_convex_solver(seed: int) -> None:
    generator = np.random.default_rng(seed)
    leaves = 120
    coarse = np.sort(generator.integers(0, 4, leaves))
    middle = np.unique(coarse * 100 + generator.integers(0, 6, leaves) ** 2, return_inverse=True)[1]
    groups = [np.unique(coarse, return_inverse=True)[1].tolist(), middle.tolist(), list(range(leaves))]
    tree = Tree.of_groups(groups)
    gains = [np.full(n, 1 / n) for n in tree.sizes]
    prices = generator.uniform(0.5, 2, 4).tolist()

    def loss(shares: Matrix) -> float:
        solved = TwoPass(tree, (shares / prices).tolist())
        return float(sum((g * v).sum() for g, v in zip(gains, solved.variance, strict=True)))

    general: Any = minimize(
        loss,
        np.full(4, 0.25),
        bounds=[(1e-9, 1)] * 4,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    found = divide(tree, gains, prices)
    assert found.loss <= general.fun * (1 + 1e-8)
    np.testing.assert_allclose(found.shares, general.x, atol=0.01 * float(general.x.max()), rtol=0.01)


def test_a_level_that_is_not_nested_is_refused() -> None:
    with pytest.raises(ParameterError):
        Tree.of_groups([[0, 0, 1, 1], [0, 1, 0, 1]])
    with pytest.raises(ParameterError):
        TwoPass(Tree.of_groups([[0, 1]]), [1.0, 0.0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("precisions", "leaves"),
    [
        ([0.0, np.inf, 1.0], 2 / 3),
        ([np.inf, np.inf, 1.0], 2 / 3),
        ([np.inf, 0.0, 1.0], 2 / 3),
        ([1.0, 1.0, np.inf], 0.0),
    ],
)
def test_a_level_of_one_node_that_is_known_has_no_variance_and_no_warning(
    precisions: list[float], leaves: float
) -> None:
    solved = TwoPass(Tree.of_groups([[0, 0, 0], [0, 1, 2]]), precisions)
    assert [v.tolist() for v in solved.variance] == [[0.0], [0.0], pytest.approx([leaves] * 3)]
    every = np.arange(3)
    between = leaves * 1.5 * (np.eye(3) - 1 / 3)
    assert solved.covariance(2, every, 2, every) == pytest.approx(between)
    assert solved.moments(2, np.eye(3), np.eye(3)) == pytest.approx(between)
    assert solved.squares(2, np.eye(3)) == pytest.approx([leaves] * 3)
    assert solved.slopes([np.zeros(1), np.zeros(1), np.ones(3)]) == pytest.approx([0.0, 0.0, -3 * leaves])
    if leaves:
        top = [np.array([7.0]) if t == np.inf else None for t in precisions[:2]]
        assert solved.estimate([*top, np.array([1.0, 2.0, 1.0])])[2] == pytest.approx([2.0, 3.0, 2.0])
