"""Tables along a tree with detail inside its nodes: dense least squares, groups of categories, unions of leaves."""

import numpy as np

from dalenius.algebra.margins import Workload, centre
from dalenius.algebra.tree import Tree
from dalenius.algebra.tree_table import TreeLeastSquares, TreeTable, TreeView, indicator

TREE = Tree.of_groups([[0, 0, 1, 1, 1], [0, 1, 2, 3, 4]])
TABLE = TreeTable(
    TREE,
    (2, 3),
    (
        TreeView(2, ((0, 1), (0, 1, 2))),
        TreeView(1, ((0, 1), (0, 0, 1))),
        TreeView(2, (None, None), (0, 1, 0, 1, -1)),
        TreeView(0, (None, (0, 1, 2))),
    ),
)


def precisions(seed: int) -> dict[tuple[int, tuple[int, ...]], float]:
    generator = np.random.default_rng(seed)
    return {(k, a): float(generator.uniform(0.2, 2)) for a in TABLE.finest for k in range(3)}


def leaf_matrix(shown: TreeView) -> np.ndarray:
    """A shown table over the cells of the leaves."""
    leaves = TREE.ancestors(np.arange(5), 2, shown.level)
    nodes = indicator(tuple(leaves.tolist()), 5) if shown.leaves is None else indicator(shown.leaves, 5)
    return np.kron(nodes, np.kron(indicator(shown.detail[0], 2), indicator(shown.detail[1], 3)))


def dense_information(parts: dict[tuple[int, tuple[int, ...]], float]) -> np.ndarray:
    """The information about the leaves in centred components of every level."""
    total = np.zeros((30, 30))
    for (level, a), precision in parts.items():
        nodes = indicator(tuple(TREE.ancestors(np.arange(5), 2, level).tolist()), 5)
        detail = np.eye(1)
        for i, n in enumerate((2, 3)):
            detail = np.kron(detail, np.eye(n) - 1 / n if i in a else np.ones((1, n)))
        measured = np.kron(nodes, detail)
        total += precision * measured.T @ measured
    return total


def test_variances_and_covariances_are_those_of_dense_least_squares() -> None:
    parts = precisions(0)
    covariance = np.linalg.inv(dense_information(parts))
    solved = TreeLeastSquares(TABLE, parts)
    for first in TABLE.shown:
        one = leaf_matrix(first)
        np.testing.assert_allclose(solved.variance(first), np.diag(one @ covariance @ one.T), rtol=1e-9)
        for second in TABLE.shown:
            two = leaf_matrix(second)
            between = solved.covariance(first, range(len(one)), second, range(len(two)))
            np.testing.assert_allclose(between, one @ covariance @ two.T, atol=1e-9)


def test_estimates_are_those_of_dense_least_squares_and_add_up() -> None:
    parts, generator = precisions(1), np.random.default_rng(5)
    workload = Workload((2, 3), ((0, 1),))
    measured, right = {}, np.zeros(30)
    for (level, a), precision in parts.items():
        shape = (TREE.sizes[level], *(workload.shape[i] for i in a))
        measured[level, a] = centre(generator.normal(0, 5, shape), 1)
        full = measured[level, a].reshape(TREE.sizes[level], *(n if i in a else 1 for i, n in enumerate((2, 3))))
        spread = np.broadcast_to(full, (TREE.sizes[level], 2, 3))
        right += precision * spread[TREE.ancestors(np.arange(5), 2, level)].ravel()
    leaves = np.linalg.solve(dense_information(parts), right)
    solved = TreeLeastSquares(TABLE, parts)
    components = solved.components(measured)
    for shown in TABLE.shown:
        np.testing.assert_allclose(solved.estimate(components, shown), leaf_matrix(shown) @ leaves, atol=1e-9)
