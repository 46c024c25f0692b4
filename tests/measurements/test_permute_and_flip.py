"""Permute-and-flip: exact output probabilities on all small tables, and the sampler against them."""

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest
from tests.measurements.derived_laws import first_heads, stated

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.measurements.permute_and_flip import PermuteAndFlip

SPACE = CellSpace((Axis(variable="v", labels=("a", "b", "c"), codes=(0, 1, 2)),))


def measurement(relation: Relation, epsilon: Fraction = Fraction(1), rows: int = 1) -> PermuteAndFlip:
    unit = "row" if rows == 1 else "person"
    neighbours = Neighbours(relation=relation, unit=unit, max_rows=rows)
    return PermuteAndFlip("mode", TableQuery(space=SPACE), epsilon, neighbours)


def neighbours_of(counts: tuple[int, ...], relation: Relation) -> list[tuple[int, ...]]:
    found = []
    for i in range(3):
        added = tuple(c + (j == i) for j, c in enumerate(counts))
        found += [added] if relation is Relation.ADD_REMOVE else []
        for k in range(3):
            if relation is Relation.REPLACE and k != i and counts[k] > 0:
                found.append(tuple(c - (j == k) for j, c in enumerate(added)))
    return found


@pytest.mark.parametrize("relation", list(Relation))
def test_loss_is_at_most_epsilon_and_reaches_it(relation: Relation) -> None:
    select = measurement(relation)
    worst = 0.0
    for counts in product(range(5), repeat=3):
        here = first_heads(float(select.rate), counts)
        for other in neighbours_of(counts, relation):
            there = first_heads(float(select.rate), other)
            worst = max(worst, *(abs(log(p / q)) for p, q in zip(here, there, strict=True)))
    assert worst <= 1 + 1e-12
    assert worst >= 0.95  # a factor of two in the rate, either way, would be seen


@pytest.mark.parametrize("relation", list(Relation))
def test_loss_is_at_most_epsilon_for_a_person_of_two_rows_and_reaches_it(relation: Relation) -> None:
    select = measurement(relation, rows=2)
    worst = 0.0
    for counts in product(range(4), repeat=3):
        here = first_heads(float(select.rate), counts)
        for first in neighbours_of(counts, relation):
            for other in (first, *neighbours_of(first, relation)):
                there = first_heads(float(select.rate), other)
                worst = max(worst, *(abs(log(p / q)) for p, q in zip(here, there, strict=True)))
    assert 0.9 <= worst <= 1 + 1e-12


def test_the_stated_law_is_the_sum_over_all_orders() -> None:
    select = measurement(Relation.REPLACE)
    for counts in product(range(4), repeat=3):
        assert list(stated(select, counts).values()) == pytest.approx(first_heads(float(select.rate), counts))


def test_the_add_remove_rate_is_not_private_under_replace() -> None:
    select = measurement(Relation.ADD_REMOVE)
    assert select.profile(Neighbours(relation=Relation.REPLACE)).epsilon == 2


@pytest.mark.statistical
def test_sampler_fits_the_probabilities() -> None:
    """Chi-square with 2 degrees of freedom at a fixed seed; the 1e-6 point is 27.6."""
    select = measurement(Relation.ADD_REMOVE)
    rng = RecordedRandomness("permute and flip")
    counts = np.array([3, 4, 2], dtype=np.int64)
    draws = 6000
    seen = np.zeros(3)
    for _ in range(draws):
        outcome = select.run((Sealed(counts),), select.draw(rng), rng)
        assert isinstance(outcome, Value)
        seen[outcome.values[0]] += 1
    expected = np.array(first_heads(float(select.rate), (3, 4, 2))) * draws
    assert ((seen - expected) ** 2 / expected).sum() < 27.6
