"""Whole numbers that add up within tables and across the margins that tables share."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.algebra.whole import controlled, largest_remainder, transported, whole_values
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.release import Table

SIZES = {"a": 3, "b": 4, "c": 2, "d": 5}


def tables(margins: list[str], seed: int = 0) -> list[Table]:
    """Consistent tables of fractions: margins of one random array."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(20, 15, tuple(SIZES.values()))
    names = list(SIZES)
    found = []
    for margin in margins:
        kept = sorted(margin)
        array = whole.sum(axis=tuple(i for i, n in enumerate(names) if n not in kept))
        array = array.transpose([kept.index(n) for n in margin]) if margin else array
        axes = tuple(Axis(variable=n, labels=tuple(f"{n}{i}" for i in range(SIZES[n]))) for n in margin)
        values = np.asarray(array, dtype=float).ravel()
        found.append(Table(name=margin, space=CellSpace(axes), values=values, variance=np.ones(len(values))))
    return found


def sums(table: Table, values: np.ndarray, kept: set[str]) -> np.ndarray:
    """A margin of flat values, axes in alphabetical order."""
    names = [axis.name for axis in table.space.axes]
    array = values.reshape(table.shape).sum(axis=tuple(i for i, n in enumerate(names) if n not in kept))
    left = [n for n in names if n in kept]
    return np.asarray(array.transpose([left.index(n) for n in sorted(left)]) if left else array)


@pytest.mark.parametrize(
    ("margins", "farthest"),
    [
        (["ab"], 1),
        (["", "a", "b", "ba"], 2),
        (["ab", "bc", "cd", "c", ""], 2),
        (["abd", "bcd", "d"], 2),
        # Between three fixed margins the finest table is rounded, and sums of its cells drift a little.
        (["abc", "ab", "ac", "bc", "a", "b", "c", ""], 5),
        (["abcd", "cd", "ab", "bd"], 5),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_rounded_tables_are_whole_near_and_agree_on_every_shared_margin(
    margins: list[str], farthest: float, seed: int
) -> None:
    given_tables = tables(margins, seed)
    rounded = whole_values(given_tables)
    assert rounded is not None
    for table, values in zip(given_tables, rounded, strict=True):
        assert np.array_equal(values, np.rint(values))
        assert np.abs(values - table.values).max() < farthest
    for (t, x), (u, y) in combinations(zip(given_tables, rounded, strict=True), 2):
        shared = {a.name for a in t.space.axes} & {a.name for a in u.space.axes}
        assert np.array_equal(sums(t, x, shared), sums(u, y, shared))


LISTS = [
    ["ab"],
    ["", "a", "b", "ab"],
    ["ab", "ac"],
    ["a", "ab", "b", "bc", "c"],
    ["ab", "bc", "ac"],
    ["abc", "ab", "c"],
]


@pytest.mark.parametrize("margins", LISTS, ids=" ".join)
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_a_declared_zero_stays_zero_in_every_list(margins: list[str], noise: float) -> None:
    """Among a ninth of all patterns of impossible cells of a 2 x 2 x 2 table, without and with negative values."""
    for pattern in range(1, 255, 9):
        possible = np.array([pattern >> i & 1 for i in range(8)], dtype=bool).reshape(2, 2, 2)
        rng = np.random.default_rng(pattern)
        cells = np.where(possible, rng.exponential(0.4, (2, 2, 2)) + noise * rng.normal(size=(2, 2, 2)), 0.0)
        given_tables = []
        for margin in margins:
            dropped = tuple(i for i, name in enumerate("abc") if name not in margin)
            free = possible.any(axis=dropped).astype(float).ravel()
            axes = tuple(Axis(variable=name, labels=("0", "1")) for name in margin)
            values = np.asarray(cells.sum(axis=dropped), dtype=float).ravel()
            given_tables.append(Table(name=margin, space=CellSpace(axes), values=values, variance=free))
        rounded = whole_values(given_tables)
        assert rounded is not None, pattern
        for table, values in zip(given_tables, rounded, strict=True):
            assert np.array_equal(values, np.rint(values))
            assert not values[table.variance == 0].any(), (pattern, table.name)
            assert noise or values.min() >= 0
            assert np.abs(values - table.values).max() < 3
        for (t, x), (u, y) in combinations(zip(given_tables, rounded, strict=True), 2):
            shared = {a.name for a in t.space.axes} & {a.name for a in u.space.axes}
            assert np.array_equal(sums(t, x, shared), sums(u, y, shared))


def test_zeros_that_forbid_the_rounded_margins_stay_and_all_tables_are_rounded_at_once() -> None:
    """Only the cells (0, 1) and (1, 0) of a and b are possible; both margins alone would round to (1, 0)."""
    values = {"ab": [0, 0.5, 0.5, 0], "ac": [0.25] * 4, "bc": [0.25] * 4}
    axes = {name: Axis(variable=name, labels=("0", "1")) for name in "abc"}
    given_tables = [
        Table(
            name=name,
            space=CellSpace(tuple(axes[a] for a in name), frozenset({(0, 0), (1, 1)} if name == "ab" else ())),
            values=np.array(cells, dtype=float),
            variance=np.array(cells, dtype=float),
        )
        for name, cells in values.items()
    ]
    rounded = whole_values(given_tables)
    assert rounded is not None
    ab, ac, bc = (cells.reshape(2, 2) for cells in rounded)
    assert not ab[0, 0] and not ab[1, 1] and ab.sum() == 1
    assert ab.sum(1).tolist() == ac.sum(1).tolist() and ab.sum(0).tolist() == bc.sum(1).tolist()
    assert ac.sum(0).tolist() == bc.sum(0).tolist() and min(ac.min(), bc.min()) == 0


def test_tables_that_contradict_each_other_are_left_alone() -> None:
    first, second = tables(["ab"])[0], tables(["a"], seed=1)[0]
    assert whole_values([first, second]) is None


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30))
def test_largest_remainder_keeps_the_rounded_total(values: list[float]) -> None:
    out = largest_remainder(np.array(values))
    assert np.all(np.abs(out - np.array(values)) < 1 + 1e-6)
    assert out.sum() == np.rint(np.sum(values))


@pytest.mark.parametrize("seed", range(5))
def test_controlled_rounding_moves_cells_rows_columns_and_total_by_less_than_one(seed: int) -> None:
    values = np.random.default_rng(seed).normal(3, 4, (6, 5))
    out = controlled(values)
    for axis in (None, 0, 1):
        assert np.all(np.abs(out.sum(axis=axis) - values.sum(axis=axis)) < 1)
    assert np.all(np.abs(out - values) < 1)


def test_fixed_margins_are_met_even_where_a_cell_must_move_further() -> None:
    values = np.array([[0.5, 0.0], [0.0, 0.5]])
    out = transported(values, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert out.sum(axis=1).tolist() == [1, 0] and out.sum(axis=0).tolist() == [0, 1]
