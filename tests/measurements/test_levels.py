"""Levels with residual components: the price of every pair of tiny records by brute force, and what leaves the gate."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dalenius.algebra.margins import sum_out
from dalenius.algebra.moves import exact_cost, grid_variances, moves
from dalenius.algebra.tree import Tree
from dalenius.core.domain import Axis
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.measurements.residual import Residual

TREE = Tree.of_groups([[0, 0, 1], [0, 1, 2]])
SHAPE = (2, 3)
GRID = {
    (0, ()): Fraction(3),
    (2, ()): Fraction(2),
    (1, (0,)): Fraction(5, 2),
    (0, (1,)): Fraction(7),
    (2, (0, 1)): Fraction(40),
}
ADD, SWAP = Neighbours(), Neighbours(relation=Relation.REPLACE)


def axis(name: str, size: int) -> Axis:
    return Axis(variable=name, labels=tuple(map(str, range(size))), codes=tuple(range(size)))


def step(is_size_public: bool = False) -> Residual:
    levels = (Axis(variable="leaf", labels=("0", "1"), codes=(0, 0, 1), level="coarse"), axis("leaf", 3))
    detail = (axis("x", 2), axis("y", 3))
    return Residual("parts", detail, (), GRID, is_size_public, tree=TREE, levels=levels)


def shifts(record: tuple[int, int, int]) -> list[np.ndarray]:
    """The integer vectors by which one record moves the parts."""
    leaf, x, y = record
    found = []
    for level, a in GRID:
        detail: np.ndarray = np.ones(1)
        for i, (at, n) in enumerate(zip((x, y), SHAPE, strict=True)):
            if i in a:
                detail = np.outer(detail, n * np.eye(n)[at] - 1).ravel()
        nodes = np.zeros(TREE.sizes[level])
        nodes[TREE.ancestors(np.array([leaf]), 2, level)[0]] = 1
        found.append(np.outer(nodes, detail).ravel())
    return found


def price(first: list[np.ndarray], second: list[np.ndarray]) -> float:
    return sum(float(((a - b) ** 2).sum() / float(v)) for a, b, v in zip(first, second, GRID.values(), strict=True))


@pytest.mark.parametrize("is_replace", [False, True])
def test_the_price_is_that_of_the_worst_pair_of_records(is_replace: bool) -> None:
    everyone = [shifts(record) for record in product(range(3), range(2), range(3))]
    nobody = [np.zeros_like(part) for part in everyone[0]]
    if is_replace:
        worst = max(price(a, b) for a, b in product(everyone, everyone))
    else:
        worst = max(price(a, nobody) for a in everyone)
    rho = step(is_size_public=True).profile(SWAP if is_replace else ADD).rho
    assert float(rho or 0) == pytest.approx(worst / 2, rel=1e-9)


def test_three_rows_of_a_person_cost_nine_times_as_much() -> None:
    persons = Neighbours(unit="person", max_rows=3)
    assert step().profile(persons).rho == 9 * (step().profile(ADD).rho or 0)


def test_the_budget_is_kept_in_integers_and_nearly_used_up() -> None:
    ways = moves(2, (0, 1), is_replace=True, is_size_public=False)
    grid = grid_variances(SHAPE, dict.fromkeys(GRID, Fraction("2.7")), Fraction(1), ways)
    spent = exact_cost(SHAPE, grid, ways)
    assert Fraction(999_999, 1_000_000) < spent <= 1


def test_tables_are_few_and_parts_without_noise_are_exact_up_to_the_reference_cell() -> None:
    measured, counts = step(), np.random.default_rng(0).integers(0, 50, (3, 2, 3))
    assert [[a.name for a in q.space.axes] for q in measured.needs] == [["leaf", "x", "y"]]
    rng = RecordedRandomness("none")
    silence = [np.zeros_like(noise) for noise in measured.draw(rng)]
    outcome = measured.run((Sealed(counts.ravel()),), silence, rng)
    assert isinstance(outcome, Value)
    start = 0
    for level, a in GRID:
        exact = TREE.summed(sum_out(counts, (-1, 0, 1), (-1, *a)), 2, level)
        cells = int(np.prod(exact.shape[1:], dtype=np.int64))
        part = outcome.values[start : start + exact.size].reshape(exact.shape)
        start += exact.size
        for i in range(1, exact.ndim):
            exact = exact - np.take(exact, [0], axis=i)
        assert (part == cells * exact).all()
    assert start == len(outcome.values)


def test_the_uncentred_array_is_not_in_the_output() -> None:
    """Noise that is constant along a detail axis of a node leaves the output unchanged."""
    measured, rng = step(), RecordedRandomness("same")
    drawn = measured.draw(rng)
    moved = [noise.copy() for noise in drawn]
    place = list(GRID).index((2, (0, 1)))
    moved[place] = (moved[place].reshape(3, 2, 3) + np.arange(9).reshape(3, 1, 3)).ravel()
    empty = (Sealed(np.zeros(18, dtype=np.int64)),)
    first, second = (measured.run(empty, noise, rng) for noise in (drawn, moved))
    assert isinstance(first, Value)
    assert isinstance(second, Value)
    assert (first.values == second.values).all()
