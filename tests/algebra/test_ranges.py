"""Workloads of ranges: counted by hand, optimal against the dual bound and an independent solver, integer prices by brute force."""

from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pytest

from dalenius.algebra import range_strategies, ranges
from dalenius.algebra.ranges import Asked, Factor, RangeWorkload
from dalenius.core.law import FloatArray
from dalenius.errors import DocumentError, TooLarge

KINDS: tuple[Any, ...] = ("all", "prefixes", 3, [["1", "4"], ["2", "3"], ["0", "4"]])
LABELS = [str(k) for k in range(7)]


def by_hand(wanted: Any, size: int) -> FloatArray:
    """Indicator rows of every range of a kind."""
    pairs = [(a, b) for a in range(size) for b in range(a, size)]
    if wanted == "prefixes":
        pairs = [(a, b) for a, b in pairs if a == 0]
    elif isinstance(wanted, int):
        pairs = [(a, b) for a, b in pairs if b - a + 1 == wanted]
    elif wanted != "all":
        pairs = [(int(a), int(b)) for a, b in wanted]
    rows = np.zeros((len(pairs), size))
    for row, (a, b) in zip(rows, pairs, strict=True):
        row[a : b + 1] = 1
    return rows


@pytest.mark.parametrize("wanted", KINDS, ids=str)
def test_every_kind_of_range_is_counted_by_hand(wanted: Any) -> None:
    rows = by_hand(wanted, 7)
    asked = Asked.of(wanted, LABELS)
    listed = not isinstance(wanted, str)
    own = np.eye(7) * 0.05 * len(rows) / 7 if listed else 0.0
    np.testing.assert_allclose(asked.gram, rows.T @ rows + own)
    assert asked.count == pytest.approx(len(rows) * (1.05 if listed else 1))


@pytest.mark.parametrize("wanted", [0, 8, [["4", "1"]], [["1", "x"]]], ids=str)
def test_ranges_that_are_none_are_refused(wanted: Any) -> None:
    with pytest.raises(DocumentError):
        Asked.of(wanted, LABELS)


def _loss(workload: RangeWorkload, factors: tuple[Factor, ...], *, is_gaussian: bool) -> float:
    cost = ranges.row_cost(factors, is_gaussian=is_gaussian)
    return workload.mean_square(factors) * (cost if is_gaussian else cost**2)


@pytest.mark.parametrize("wanted", KINDS, ids=str)
def test_the_gaussian_optimum_is_near_its_dual_bound_and_no_descent_beats_it(wanted: Any) -> None:
    from scipy.optimize import minimize

    asked = Asked.of(wanted, LABELS[:5])
    workload = RangeWorkload(((asked,),))
    found = _loss(workload, range_strategies.optimal(workload, is_gaussian=True), is_gaussian=True)

    def loss(flat: FloatArray) -> float:
        root = flat.reshape(5, 5)
        x = root.T @ root
        return float(np.trace(np.linalg.solve(x, asked.gram)) * x.diagonal().max() / asked.count)

    start = np.eye(5) + 0.1 * np.random.default_rng(4).normal(size=(5, 5))
    solved = minimize(loss, start.ravel(), method="L-BFGS-B", options={"maxiter": 60})
    # Whole numbers of twelve bits cost next to nothing.
    assert found <= solved.fun * 1.001
    for kind in (range_strategies.identity(workload), range_strategies.hierarchical(workload, is_gaussian=True)):
        assert found <= _loss(workload, kind, is_gaussian=True) * 1.001


@pytest.mark.parametrize("size", [3, 20, 60])
@pytest.mark.parametrize("is_gaussian", [True, False])
def test_what_is_planned_is_never_worse_than_a_tree(size: int, is_gaussian: bool) -> None:
    asked = Asked.of("all", [str(k) for k in range(size)])
    workload = RangeWorkload(((asked,),))
    errors = [
        _loss(workload, factors, is_gaussian=is_gaussian)
        for factors in (
            range_strategies.optimal(workload, is_gaussian=is_gaussian),
            range_strategies.hierarchical(workload, is_gaussian=is_gaussian),
            range_strategies.identity(workload),
        )
    ]
    assert errors[0] <= 1.001 * min(errors)
    if size == 60:
        # What cells lose by themselves grows with the axis.
        assert errors[2] / errors[0] > (3.5 if is_gaussian else 1.2)


def test_the_optimum_of_prefixes_is_the_known_one() -> None:
    """Least mean squared error of prefix sums under Gaussian noise, against the dual bound worked out by hand."""
    size = 16
    asked = Asked.of("prefixes", [str(k) for k in range(size)])
    workload = RangeWorkload(((asked,),))
    found = _loss(workload, range_strategies.optimal(workload, is_gaussian=True), is_gaussian=True)
    v = np.ones(size)
    for _ in range(200):
        half = np.sqrt(v)
        spectrum, basis = np.linalg.eigh(half[:, None] * asked.gram * half)
        v = ((basis * np.sqrt(spectrum)) @ basis.T).diagonal()
    half = np.sqrt(v)
    bound = np.sqrt(np.linalg.eigvalsh(half[:, None] * asked.gram * half)).sum() ** 2 / v.sum() / size
    assert bound <= found <= bound * 1.0005


def test_prices_are_those_of_brute_force() -> None:
    generator = np.random.default_rng(8)
    for _ in range(40):
        shape = generator.integers(1, 4, generator.integers(1, 3))
        factors = tuple(
            Factor(int(n), rows=tuple(map(tuple, generator.integers(-3, 4, (n + 1, n)).tolist()))) for n in shape
        )
        whole = np.ones((1, 1), dtype=np.int64)
        for factor in factors:
            whole = np.kron(whole, factor.matrix)
        columns = whole.T
        # A row that takes another's place may be left out of the table.
        pairs = list(product(columns, [*columns, np.zeros_like(columns[0])]))
        assert ranges.row_cost(factors, is_gaussian=True) == max(int(u @ u) for u in columns)
        assert ranges.row_cost(factors, is_gaussian=False) == max(int(np.abs(u).sum()) for u in columns)
        assert ranges.swap_cost(factors, is_gaussian=True) >= max(int((u - v) @ (u - v)) for u, v in pairs)
        assert ranges.swap_cost(factors, is_gaussian=False) >= max(int(np.abs(u - v).sum()) for u, v in pairs)


def test_boxes_weigh_each_axis_by_the_others() -> None:
    """Few boxes of two axes: better than cells, than trees, and than all rectangles would be."""
    axes = [[str(k) for k in range(12)], [str(k) for k in range(10)]]
    boxes = [(["0", "8"], ["2", "3"]), (["3", "11"], ["0", "9"]), (["5", "5"], ["1", "8"])]
    terms = tuple(tuple(Asked.of([pair], labels) for pair, labels in zip(box, axes, strict=True)) for box in boxes)
    workload = RangeWorkload(terms)
    rectangles = RangeWorkload((tuple(Asked.of("all", labels) for labels in axes),))
    own = _loss(workload, range_strategies.optimal(workload, is_gaussian=True), is_gaussian=True)
    others = [
        range_strategies.identity(workload),
        range_strategies.hierarchical(workload, is_gaussian=True),
        range_strategies.optimal(rectangles, is_gaussian=True),
    ]
    assert all(own < _loss(workload, other, is_gaussian=True) for other in others)


def test_axes_that_are_too_long_are_refused() -> None:
    asked = Asked(np.ones((range_strategies.MOST_LABELS + 1,) * 2), 1.0)
    with pytest.raises(TooLarge):
        range_strategies.hierarchical(RangeWorkload(((asked,),)), is_gaussian=True)


def test_a_factor_reads_back_as_it_was_written() -> None:
    factors = (
        Factor(3),
        Factor(3, intervals=((0, 3, 2), (0, 1, 1), (1, 2, 1), (2, 3, 1))),
        Factor(2, rows=((1, 2), (0, 3))),
    )
    for factor in factors:
        again = Factor.from_dict(factor.to_dict())
        np.testing.assert_array_equal(again.matrix, factor.matrix)
        np.testing.assert_allclose(factor.solution @ factor.matrix, np.eye(factor.size), atol=1e-12)
    assert sqrt(float(factors[1].covariance[0, 0])) < 1
