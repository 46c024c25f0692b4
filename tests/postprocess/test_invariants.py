"""Public totals: respected exactly, and named in the guarantee."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.tabulation import bounds
from dalenius.errors import Conflict, ParameterError, UnknownName, Unsupported
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.postprocess.invariants import Invariants

ONE = DiscreteLaplace(Fraction(1))


def test_totals_hold_and_the_guarantee_names_them(make) -> None:
    release = make({("a", "b"): np.arange(6.0).reshape(3, 2), ("b",): np.array([5.0, 9.0])})
    fixed = Invariants({("a",): [2, 4, 9], (): [15]})(release)
    assert fixed.tables[0].values.reshape(3, 2).sum(axis=1) == pytest.approx([2, 4, 9])
    assert fixed.tables[1].values.sum() == pytest.approx(15)
    assert "a; total" in fixed.provenance.guarantee
    assert fixed.blocks is release.blocks


def test_unknown_axes_and_wrong_lengths_are_refused(make) -> None:
    release = make({("a",): np.array([1.0, 2.0])})
    with pytest.raises(UnknownName):
        Invariants({("z",): [1]})(release)
    with pytest.raises(ParameterError):
        Invariants({("a",): [1, 2, 3]})(release)
    with pytest.raises(ParameterError):
        Invariants({("a",): [1, float("nan")]})(release)


def test_totals_of_other_data_are_refused(make) -> None:
    release = make({("a",): np.array([1.0, 2.0])})
    totals = {("a",): [1, 3]}
    labels = {"a": ["a0", "a1"]}
    assert Invariants(totals, dataset="d", version="1", labels=labels)(release).table.values.sum() == 4
    for stated in ({"dataset": "e"}, {"version": "2"}, {"measure": "total"}, {"labels": {"a": ["a1", "a0"]}}):
        with pytest.raises(Conflict):
            Invariants(totals, **stated)(release)


def test_totals_that_disagree_are_refused(make) -> None:
    release = make({("a", "b"): np.ones((2, 2))})
    with pytest.raises(ParameterError, match="disagree"):
        Invariants({("a",): [2, 3], ("b",): [2, 2]})(release)


def test_structural_zeros_stay_zero_or_the_totals_are_refused(make) -> None:
    cells = np.array([[4.0, 0, 3], [2, 5, 0]])
    release = make({("a", "b"): cells, ("b",): cells.sum(axis=0)}, zeros={("a", "b"): {(0, 1), (1, 2)}})
    fixed = Invariants({("b",): [8, 6, 1], ("a",): [6, 9]})(release)
    moved = fixed.tables[0].values.reshape(2, 3)
    assert moved[0, 1] == moved[1, 2] == 0
    assert moved.sum(axis=0) == pytest.approx([8, 6, 1]) and moved.sum(axis=1) == pytest.approx([6, 9])
    assert fixed.tables[1].values == pytest.approx([8, 6, 1])
    diagonal = make({("a", "b"): np.diag([4.0, 5.0])}, zeros={("a", "b"): {(0, 1), (1, 0)}})
    with pytest.raises(Unsupported, match="impossible cells"):
        Invariants({("a",): [5, 4], ("b",): [4, 5]})(diagonal)


def test_intervals_are_those_of_the_measured_values(make) -> None:
    release = make({("a",): np.array([9.0, 7.0])}, variance=ONE.variance)
    fixed = Invariants({(): [40]})(release)
    assert not fixed.table.is_unbiased
    for mine, measured in zip(bounds(fixed, fixed.table), bounds(release, release.table), strict=True):
        assert mine.tolist() == measured.tolist()
