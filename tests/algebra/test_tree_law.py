"""The law of a release along a tree: impossible cells by dense constrained least squares, unions of places, round trips."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.algebra.tree import Tree
from dalenius.algebra.tree_law import TreeLaw
from dalenius.algebra.tree_table import TreeLeastSquares, TreeTable, TreeView, indicator
from dalenius.core.law import Joint


def law_of(seed: int, leaves: int, zeros: int) -> tuple[TreeLaw, np.ndarray]:
    """A random tree with detail of two by three, the axis of the tree in the middle; and the dense information of the leaves' cells."""
    generator = np.random.default_rng(seed)
    coarse = np.unique(generator.integers(0, max(1, leaves // 3), leaves), return_inverse=True)[1]
    tree = Tree.of_groups([coarse.tolist(), list(range(leaves))])
    full = ((0, 1), (0, 1, 2))
    shown = (TreeView(2, full), TreeView(1, ((0, 1), None)), TreeView(0, (None, (0, 1, 1))), TreeView(1, full))
    table = TreeTable(tree, (2, 3), shown)
    parts = {(k, a): float(generator.uniform(0.2, 2)) for a in table.finest for k in range(3)}
    cells = np.sort(generator.choice(6 * leaves, zeros, replace=False))
    law = TreeLaw(TreeLeastSquares(table, parts), 1, np.arange(leaves), None, ((0, cells),) if zeros else ())
    information = np.zeros((6 * leaves, 6 * leaves))
    for (level, a), precision in parts.items():
        measured = np.eye(1)
        for i, n in enumerate((2, 3)):
            if i == 1:
                measured = np.kron(measured, level_map(tree, level))
            measured = np.kron(measured, np.eye(n) - 1 / n if i in a else np.ones((1, n)))
        information += precision * measured.T @ measured
    return law, information


def level_map(tree: Tree, level: int) -> np.ndarray:
    nodes = tree.ancestors(np.arange(tree.sizes[-1]), tree.depth, level)
    return indicator(tuple(nodes.tolist()), len(nodes))


def shown_map(law: TreeLaw, view: TreeView) -> np.ndarray:
    """A shown table over the cells of the leaves, in the order of the axes: detail, tree, detail."""
    first, second = (indicator(g, n) for g, n in zip(view.detail, (2, 3), strict=True))
    return np.kron(first, np.kron(level_map(law.table.tree, view.level), second))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), leaves=st.integers(2, 33), share=st.floats(0, 0.4))
def test_impossible_cells_are_known_to_least_squares_at_every_level(seed: int, leaves: int, share: float) -> None:
    law, information = law_of(seed, leaves, int(share * 6 * leaves))
    possible = np.ones(6 * leaves, dtype=bool)
    for _, cells in law.zeros:
        possible[cells] = False
    covariance = np.zeros_like(information)
    covariance[np.ix_(possible, possible)] = np.linalg.inv(information[np.ix_(possible, possible)])
    weights = np.random.default_rng(seed).normal(size=6 * leaves)
    assert law.square(0, weights) == pytest.approx(weights @ covariance @ weights, rel=1e-8, abs=1e-8)
    for k, view in enumerate(law.table.shown):
        dense = shown_map(law, view) @ covariance @ shown_map(law, view).T
        np.testing.assert_allclose(law.variances[k], np.diag(dense), atol=1e-8)
        everything = range(len(dense))
        np.testing.assert_allclose(law.covariance(k, everything, k, everything), dense, atol=1e-8)


def test_a_law_comes_back_from_its_document() -> None:
    law, _ = law_of(4, 9, 5)
    document = json.loads(json.dumps({"shape": [2, 9, 3]} | law.to_parameters()))
    again = TreeLaw.of(Joint("tree", document))
    for one, two in zip(law.variances, again.variances, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_union_of_places_has_the_variance_of_the_sum_of_its_cells() -> None:
    law, information = law_of(7, 12, 0)
    inside = np.zeros((2, 12, 3))
    inside[1, [0, 3, 4, 9], :] = 1
    dense = inside.ravel() @ np.linalg.inv(information) @ inside.ravel()
    assert law.square(0, inside.ravel()) == pytest.approx(dense, rel=1e-9)


@pytest.mark.parametrize("zeros", [0, 4])
def test_sums_of_a_shown_table_have_the_variances_of_their_cells_together(zeros: int) -> None:
    """Groups of labels on every axis, some left out: places that are united, single places, and coarser tables."""
    law, _ = law_of(11, 9, zeros)
    wanted = {
        0: [(0, 1), (0, 0, 1, -1, 1, 1, 0, -1, 0), (0, 1, 0)],
        3: [(0, 0), (-1, *range(law.table.tree.sizes[1] - 1)), (1, 0, -1)],
        2: [(0, 1)],
    }
    for position, groups in wanted.items():
        found = law.grouped_variance(position, groups)
        sizes = [max(g) + 1 for g in groups]
        for flat, cell in enumerate(np.ndindex(*sizes)):
            weights = np.ones(1)
            for at, own in zip(cell, groups, strict=True):
                weights = np.outer(weights, np.asarray(own) == at).ravel()
            assert found[flat] == pytest.approx(law.square(position, weights), rel=1e-9, abs=1e-9)
