"""Components of halved sums against every pair of neighbours, for every content whatever.

What a row moves depends on the sums that are there by their remainders alone. So all remainders of all cells of a tiny table stand
for every data set, and a price that holds for all of them holds.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from dalenius.algebra import margins
from dalenius.algebra.amounts import Amounts
from dalenius.algebra.tree import Tree
from dalenius.core.domain import Axis
from dalenius.core.integer_law import Noised
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.measurements.residual import Residual

LIMITS = [(0, 5), (-3, 2), (1, 3)]
CASES = [(1, 1), (1, 2), (2, 1), (2, 2)]


def axis(name: str, size: int) -> Axis:
    return Axis(variable=name, labels=tuple(map(str, range(size))), codes=tuple(range(size)))


ONE, OTHER = axis("a", 2), axis("b", 2)
LEAVES, HALVES = axis("leaf", 3), axis("half", 2)
TREE = Tree.of_groups([[0, 0, 1], [0, 1, 2]])


def flat(amounts: Amounts) -> Residual:
    """One table of four cells, from which every component is made."""
    grid = {(0, ()): Fraction(3), (0, (0,)): Fraction(5), (0, (1,)): Fraction(20), (0, (0, 1)): Fraction(7)}
    return Residual("r", (ONE, OTHER), (), grid, amounts=amounts)


def apart(amounts: Amounts) -> Residual:
    """Two tables: their cells are rounded each by itself."""
    grid = {(0, ()): Fraction(2), (0, (0,)): Fraction(5), (0, (1,)): Fraction(3)}
    return Residual("r", (ONE, OTHER), (), grid, amounts=amounts)


def levels(amounts: Amounts) -> Residual:
    """Leaves without detail, and their groups by the detail: two tables again."""
    grid = {(2, ()): Fraction(3), (1, ()): Fraction(4), (0, ()): Fraction(2), (1, (0,)): Fraction(9)}
    return Residual("t", (OTHER,), (), grid, amounts=amounts, tree=TREE, levels=(HALVES, LEAVES))


def fetched(step: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Which of the cells, one column each, make up every number of every table that the step needs."""
    tables = []
    for query in step.needs:
        assert isinstance(query, TableQuery)
        names = {each.variable for each in query.space.axes}
        first = {"a": np.eye(2), "leaf": np.eye(3), "half": np.array([[1, 1, 0], [0, 0, 1]])}
        rows = next((first[name] for name in names if name in first), np.ones((1, shape[0])))
        tables.append(np.kron(rows, np.eye(2) if "b" in names else np.ones((1, 2))))
    return np.concatenate(tables).astype(np.int64)


def measured(step: Any, sizes: list[int]) -> np.ndarray:
    """What is measured of tables of such sizes, as a matrix, each number in units of its noise."""
    columns = []
    for unit in np.eye(sum(sizes), dtype=np.int64):
        (law,) = step.exact_law(np.split(unit, np.cumsum(sizes)[:-1]))
        assert isinstance(law, Noised)
        columns.append(np.array(law.numbers) / np.sqrt([float(each.sigma_squared) for each in law.laws]))  # type: ignore[union-attr]
    return np.array(columns)


def distances(step: Any, shape: tuple[int, ...], values: list[int], rows: int) -> Iterator[np.ndarray]:
    """Squared distances between all units of so many rows, in the noise of the step, beside every content.

    The first unit has no row that adds anything.
    """
    tables = fetched(step, shape)
    through = measured(step, [need.space.size for need in step.needs])
    added = np.array([unit.ravel() for unit in units(shape, values, rows)]) @ tables.T
    halvings = step.amounts.halvings
    remainders = np.array(list(product(range(2**halvings), repeat=tables.shape[1]))) @ tables.T
    for before in np.unique(remainders % 2**halvings, axis=0):
        at = ((before + added + (1 << halvings) // 2) >> halvings) @ through
        squares = (at**2).sum(axis=1)
        yield squares[:, None] + squares[None, :] - 2 * at @ at.T


def units(shape: tuple[int, ...], values: list[int], rows: int) -> Iterator[np.ndarray]:
    """What the rows of a unit add to all cells."""
    single = [np.zeros(shape, dtype=np.int64)]
    for cell in np.ndindex(shape):
        for value in values:
            single.append(np.zeros(shape, dtype=np.int64))
            single[-1][cell] = value
    for some in combinations_with_replacement(single, rows):
        yield np.sum(some, axis=0)


@pytest.mark.parametrize("build", [flat, apart, levels])
@pytest.mark.parametrize(("low", "high"), LIMITS)
@pytest.mark.parametrize(("halvings", "rows"), CASES)
def test_no_neighbours_are_further_apart_than_is_charged(
    build: Any, low: int, high: int, halvings: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(margins, "_MOST_GROUPED", 1 if build is apart else 10)
    plain = Amounts(function=RowFunction.of(Power("x")), low=low, high=high)
    step = build(plain.halved(halvings))
    shape = (3, 2) if build is levels else (2, 2)
    assert len(step.needs) == (1 if build is flat else 2)
    middle = [] if rows > 1 else range(low + 1, high)
    worst = dict.fromkeys(Relation, 0.0)
    for apart_by in distances(step, shape, sorted({low, *middle, high}), rows):
        worst[Relation.ADD_REMOVE] = max(worst[Relation.ADD_REMOVE], float(apart_by[0].max()))
        worst[Relation.REPLACE] = max(worst[Relation.REPLACE], float(apart_by.max()))
    for relation, found in worst.items():
        neighbours = Neighbours(relation=relation, max_rows=rows)
        charged = 2 * float(step.profile(neighbours).rho)
        assert found <= charged * (1 + 1e-9), relation
        exact = 2 * float(build(plain).profile(neighbours).rho) / 4**halvings
        assert found >= 0.3 * exact
        if rows == 1:
            # The price of sums in finer steps would be too low: what rounding adds is not forgotten.
            assert found > exact * (1 + 1e-9) or max(abs(low), abs(high)) % 2**halvings == 0


def test_several_tables_cost_more_than_one_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """The price of whole numbers of units, which is that of one table, does not hold for two that are rounded apart."""
    monkeypatch.setattr(margins, "_MOST_GROUPED", 1)
    amounts = Amounts(function=RowFunction.of(Power("x")), low=0, high=6).halved(2)
    assert (amounts.low, amounts.high) == (0, 2)
    step = apart(amounts)
    worst = max(float(each.max()) for each in distances(step, (2, 2), [2, 3, 6], 1))
    of_one = Amounts(function=RowFunction.of(Power("x")), low=amounts.low, high=amounts.high)
    swapped = Neighbours(relation=Relation.REPLACE)
    assert worst <= 2 * float(step.profile(swapped).rho)
    assert worst > 2 * float(apart(of_one).profile(swapped).rho)
