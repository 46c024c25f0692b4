"""Top-down views along a hierarchy: not negative, whole, additive at every level, and no worse than cutting at zero."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verify import _spines as spines

from dalenius.algebra.tree_whole import TopDown, nearest, whole
from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.postprocess.nonnegative import Nonnegative
from dalenius.postprocess.rounding import Rounding


@pytest.fixture(scope="module")
def release() -> Release:
    """A recorded release of 60 blocks in which one cell of sex by age is impossible."""
    declared = spines.domain(60)
    return spines.made_release(replace(declared, structural_zeros=({"sex": ("sex 1",), "age": ("age 3",)},)))


def sums(release: Release) -> list[np.ndarray]:
    """What the other five tables should be, from the finest one."""
    cells = release.tables[-1].values.reshape(2, 60, 4)
    parents = {h.level: np.array(h.parent) for h in spines.domain(60).variable("block").hierarchies}
    county, tract = (np.zeros((2, max(parents[level]) + 1, 4)) for level in ("county", "tract"))
    np.add.at(county.swapaxes(0, 1), parents["county"], cells.swapaxes(0, 1))
    np.add.at(tract.swapaxes(0, 1), parents["tract"], cells.swapaxes(0, 1))
    return [cells.sum(), cells.sum(axis=1), county.sum(axis=2), tract, cells.sum(axis=(0, 2)), cells]


def test_whole_numbers_that_are_not_negative_add_up_at_every_level(release: Release) -> None:
    shown = Rounding()(Nonnegative()(release))
    for table, exact in zip(shown.tables, sums(shown), strict=True):
        assert (table.values == np.ravel(exact)).all()
        assert (table.values == np.rint(table.values)).all()
        assert table.values.min() >= 0
        assert not table.is_unbiased
    assert (shown.tables[-1].values.reshape(2, 60, 4)[1, :, 3] == 0).all()
    assert [note["name"] for note in shown.adjustments] == ["nonnegative", "rounding"]
    assert shown.blocks == release.blocks


def test_rounding_alone_keeps_negative_counts_and_stays_near(release: Release) -> None:
    shown = Rounding()(release)
    assert shown.tables[-1].values.min() < 0
    assert np.abs(shown.tables[-1].values - release.tables[-1].values).max() < 3
    assert shown.tables[0].values[0] == np.rint(release.tables[0].values[0])


def test_the_error_is_smaller_than_that_of_cutting_at_zero(release: Release) -> None:
    """Nine records in one cell, everything else empty: cutting adds half of all noise to every sum."""
    shown = Nonnegative()(release)
    for table, raw in zip(shown.tables, release.tables, strict=True):
        truth = np.zeros(len(table.values))
        truth[0] = 9
        cut = np.maximum(raw.values, 0)
        assert np.abs(table.values - truth).sum() <= np.abs(cut - truth).sum() + 1e-9
    assert shown.tables[0].values[0] == pytest.approx(max(release.tables[0].values[0], 0))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 40))
def test_divided_sums_are_kept_and_the_nearest_point_is_found(seed: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(4), generator.integers(0, 4, count)])
    values = generator.normal(1, 3, len(groups))
    is_free = generator.random(len(groups)) < 0.8
    is_free[:4] = True
    targets = np.maximum(generator.normal(5, 5, 4), 0)
    near = nearest(values, is_free, groups, targets)
    assert near.min() >= 0
    assert (near[~is_free] == 0).all()
    np.testing.assert_allclose(np.bincount(groups, near, 4), targets, atol=1e-9)
    # At the nearest point all cells above zero have moved by the same amount, and none at zero should have moved less.
    for group in range(4):
        own = is_free & (groups == group)
        moved = (values - near)[own]
        inside = near[own] > 1e-12
        if inside.any():
            assert np.ptp(moved[inside]) < 1e-9
            assert (moved[~inside] <= moved[inside].mean() + 1e-9).all()
    rounded = whole(near, is_free, groups, np.rint(targets))
    assert rounded.min() >= 0
    assert (np.bincount(groups, rounded, 4) == np.rint(targets)).all()


def test_a_release_without_its_finest_table_is_refused(release: Release) -> None:
    short = spines.made_release(spines.domain(30), margins=[[], ["block.tract", "sex"], ["block"]])
    with pytest.raises(Unsupported, match="finest"):
        TopDown(short).values(nearest)
