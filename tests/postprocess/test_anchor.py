"""Anchoring: shared margins equal the published ones, by the smallest change."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.tabulation import bounds
from dalenius.errors import Conflict, Unsupported
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.postprocess.anchor import Anchor

ONE = DiscreteLaplace(Fraction(1))


def test_shared_margins_equal_the_published_ones(make) -> None:
    rng = np.random.default_rng(6)
    published = make({("a", "b"): rng.normal(20, 2, (3, 2))})
    later = make({("b", "c"): rng.normal(30, 2, (2, 4)), ("a",): rng.normal(40, 2, 3), ("c",): rng.normal(9, 1, 4)})
    fixed = Anchor(published)(later)
    first = published.tables[0].values.reshape(3, 2)
    assert fixed.tables[0].values.reshape(2, 4).sum(axis=1) == pytest.approx(first.sum(axis=0))
    assert fixed.tables[1].values == pytest.approx(first.sum(axis=1))
    assert fixed.tables[2].values.sum() == pytest.approx(first.sum())
    assert fixed.adjustments[-1]["published"] == "abc"
    moved = fixed.tables[0].values.reshape(2, 4) - later.tables[0].values.reshape(2, 4)
    assert np.ptp(moved, axis=1) == pytest.approx([0, 0], abs=1e-9)


def test_a_second_anchoring_changes_nothing(make) -> None:
    published = make({("a",): np.array([3.0, 4.0])})
    once = Anchor(published)(make({("a", "b"): np.ones((2, 2))}))
    twice = Anchor(published)(once)
    assert twice.tables[0].values == pytest.approx(once.tables[0].values)


def test_other_populations_and_other_rows_are_refused(make) -> None:
    table = {("a",): np.array([3.0, 4.0])}
    with pytest.raises(Conflict):
        Anchor(make(table, population="firms"))(make(table))
    with pytest.raises(Conflict):
        Anchor(make(table, where={"sex": "f"}))(make(table))


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("dataset", {"dataset": "other"}),
        ("version", {"version": "2"}),
        ("measure", {"request": {"measure": "total", "of": "income"}}),
        ("weight", {"request": {"weight": "w"}}),
    ],
)
def test_other_data_and_other_measures_are_refused(make, name: str, changed: dict) -> None:
    table = {("a",): np.array([3.0, 4.0])}
    with pytest.raises(Conflict) as caught:
        Anchor(make(table, **changed))(make(table))
    assert caught.value.detail["name"] == name


def test_the_measure_of_the_tables_is_compared_too(make) -> None:
    table = {("a",): np.array([3.0, 4.0])}
    with pytest.raises(Conflict):
        Anchor(make(table, measure="total"))(make(table))
    with pytest.raises(Unsupported):
        Anchor(make(table, measure="mean"))(make(table, measure="mean"))


def test_the_same_labels_must_hold_the_same_values(make) -> None:
    """Young and old at 40 or at 65: one label, two facts."""
    table = {("a",): np.array([3.0, 4.0])}
    young = {"axes": [{"variable": "a", "cells": [["a0", "x", "y"], ["a1", "z"]]}]}
    old = {"axes": [{"variable": "a", "cells": [["a0", "x"], ["a1", "y", "z"]]}]}
    with pytest.raises(Conflict) as caught:
        Anchor(make(table, request=young))(make(table, request=old))
    assert caught.value.detail["variable"] == "a"
    assert Anchor(make(table, request=young))(make(table, request=young)).adjustments


def _nearest(values: np.ndarray, zeros: set, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Least squares by the normal equations, cell by cell."""
    shape = values.shape
    free = [i for i in range(values.size) if np.unravel_index(i, shape) not in zeros]
    matrix = np.zeros((sum(shape), len(free)))
    for k, i in enumerate(free):
        r, c = np.unravel_index(i, shape)
        matrix[r, k] = matrix[shape[0] + c, k] = 1
    y = values.ravel()[free]
    out = np.zeros(values.size)
    out[free] = y + np.linalg.pinv(matrix) @ (np.concatenate([rows, columns]) - matrix @ y)
    return out.reshape(shape)


def test_structural_zeros_stay_zero_at_the_least_change(make) -> None:
    rng, zeros = np.random.default_rng(4), {(0, 1), (2, 3), (4, 0), (4, 1)}
    truth = rng.integers(5, 60, (5, 4)).astype(float)
    truth[tuple(zip(*zeros, strict=True))] = 0
    published = make({("a",): truth.sum(axis=1) + 2, ("b",): truth.sum(axis=0) + 2.5})
    later = make({("a", "b"): truth + rng.normal(0, 3, truth.shape)}, zeros={("a", "b"): zeros})
    fixed = Anchor(published)(later)
    moved = fixed.table.values.reshape(5, 4)
    assert all(moved[cell] == 0 for cell in zeros)
    assert moved.sum(axis=1) == pytest.approx(published.tables[0].values)
    assert moved.sum(axis=0) == pytest.approx(published.tables[1].values)
    exact = _nearest(later.table.values.reshape(5, 4), zeros, moved.sum(axis=1), moved.sum(axis=0))
    assert moved == pytest.approx(exact, abs=1e-6)


def test_tables_with_structural_zeros_still_add_up(make) -> None:
    cells = np.array([[4.0, 0, 3], [2, 5, 0]])
    later = make({("a", "b"): cells, ("a",): cells.sum(axis=1), (): cells.sum()}, zeros={("a", "b"): {(0, 1), (1, 2)}})
    fixed = Anchor(make({("b",): np.array([8.0, 6, 1])}))(later)
    moved = fixed.tables[0].values.reshape(2, 3)
    assert moved[0, 1] == moved[1, 2] == 0
    assert moved.sum(axis=0) == pytest.approx([8, 6, 1])
    assert fixed.tables[1].values == pytest.approx(moved.sum(axis=1))
    assert fixed.tables[2].values == pytest.approx([15])


def test_published_margins_that_structural_zeros_forbid_are_refused(make) -> None:
    cells = np.array([[4.0, 0], [0, 5]])
    later = make({("a", "b"): cells}, zeros={("a", "b"): {(0, 1), (1, 0)}})
    with pytest.raises(Unsupported, match="impossible cells"):
        Anchor(make({("a",): np.array([5.0, 4]), ("b",): np.array([4.0, 5])}))(later)
    empty = make({("a", "b"): cells}, zeros={("a", "b"): {(0, 0), (0, 1)}})
    with pytest.raises(Unsupported, match="impossible cells"):
        Anchor(make({("a",): np.array([5.0, 4])}))(empty)


def test_intervals_are_those_of_the_measured_values(make) -> None:
    later = make({("a", "b"): np.array([[9.0, 7], [8, 6]])}, variance=ONE.variance)
    fixed = Anchor(make({("a",): np.array([30.0, 30])}, variance=50.0))(later)
    assert not fixed.table.is_unbiased
    assert fixed.table.variance.tolist() == later.table.variance.tolist()
    for mine, measured in zip(bounds(fixed, fixed.table), bounds(later, later.table), strict=True):
        assert mine.tolist() == measured.tolist()
    assert fixed.adjustments[-1]["variables_of_one_release"] == ["b"]
