"""Anchoring: shared margins equal the published ones, by the smallest change."""

import numpy as np
import pytest

from dalenius.errors import Conflict
from dalenius.postprocess.anchor import Anchor


def test_shared_margins_equal_the_published_ones(make) -> None:
    rng = np.random.default_rng(6)
    published = make({("a", "b"): rng.normal(20, 2, (3, 2))})
    later = make(
        {("b", "c"): rng.normal(30, 2, (2, 4)), ("a",): rng.normal(40, 2, 3), ("c",): rng.normal(9, 1, 4)}
    )
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
