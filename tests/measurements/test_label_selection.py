"""Labels found in data: exact (epsilon, delta) over all neighbours of tiny data through requests, and a threshold one too low is found."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import exp
from typing import Any

import numpy as np
import pytest
from tests.audit.exact_losses import kernel_delta
from tests.audit.measured_sensitivity import Move

from dalenius.core.neighbours import Relation
from dalenius.core.query import Labels
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import LabelledValue
from dalenius.core.sealed import Sealed
from dalenius.engines.memory import MemorySource
from dalenius.measurements.label_selection import LabelSelection
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of
from dalenius.testing.measurement_kit import check

Unit = tuple[str, ...]
TEXTS = ("x", "y", "z")
# Whose rows hold which texts; "a" is declared, and nobody may have three texts counted.
UNITS: tuple[Unit, ...] = (("a",), *(c for size in (1, 2, 3) for c in combinations(TEXTS, size)))
EPSILON, DELTA = Fraction(4), Fraction(1, 10)
# Probabilities are enumerated to 80 bits.
ROUNDING = Fraction(1, 2**70)


class OneTooLow(LabelSelection):
    """A text whose number with noise reaches the limit is listed."""

    @property
    def threshold(self) -> int:
        return self.screen.limit - 1


def document(relation: Relation) -> dict[str, Any]:
    return {
        "dataset": {"name": "d", "population": "p"},
        "unit": {"relation": str(relation), "id": "person", "max_rows": 3},
        "variables": {"job": {"categories": ["a", "other"], "unseen": "other", "unlisted": True}},
    }


def step_of(relation: Relation, most: int) -> LabelSelection:
    request = {
        "table": {"measure": "labels", "rows": ["job"], "most": most},
        "privacy": {"definition": "approximate", "epsilon": str(EPSILON), "delta": str(DELTA)},
    }
    domain = DatasetDocument.from_dict(document(relation)).domain()
    (step,) = plan_of(domain, request, {}).measurements
    assert isinstance(step, LabelSelection)
    return step


def pairs(relation: Relation) -> Iterator[tuple[tuple[Unit, ...], tuple[Unit, ...]]]:
    """All neighbours of at most three persons."""
    for count in range(3):
        for others in combinations_with_replacement(UNITS, count):
            if relation is Relation.ADD_REMOVE:
                yield from ((others, (*others, unit)) for unit in UNITS)
            else:
                yield from (((*others, a), (*others, b)) for a, b in combinations(UNITS, 2))


def contents(step: LabelSelection, relation: Relation) -> dict[tuple[Unit, ...], Labels]:
    """What the engine hands to the step, for every data set."""
    domain = DatasetDocument.from_dict(document(relation)).domain()
    exact = {}
    for data in {data for pair in pairs(relation) for data in pair}:
        rows = [(str(person), text) for person, unit in enumerate(data) for text in unit]
        columns = {"person": [person for person, _ in rows], "job": [text for _, text in rows]}
        exact[data] = MemorySource(domain, columns, b"secret").labels(step.query).open_below_the_gate()
    return exact


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("most", [1, 2])
def test_lists_and_numbers_of_all_neighbours_are_within_what_is_charged(relation: Relation, most: int) -> None:
    step = step_of(relation, most)
    profile = step.profile(step.neighbours)
    assert profile.epsilon == EPSILON and profile.delta <= DELTA
    exact = contents(step, relation)
    assert all(sum(n for _, n in labels) <= most * len(data) for data, labels in exact.items())
    lists = {data: step.listed_chances(labels) for data, labels in exact.items()}
    worst = max(kernel_delta([lists[p], lists[q]], EPSILON / 2)[0] for p, q in pairs(relation))
    # The delta of the list is charged, and no more than is needed: one unit comes with `most` new texts.
    assert profile.delta / 2 < worst <= profile.delta + ROUNDING
    declared = step.numbers_sensitivity(step.neighbours)
    for listed in ((), ("x",), ("x", "y"), TEXTS):
        for first, second in pairs(relation):
            move = Move.of(*(_numbers(dict(exact[data]), listed) for data in (first, second)))
            assert move.l1 <= declared.l1 and move.l2_squared <= declared.l2_squared
            assert move.linf <= declared.linf and move.l0 <= declared.l0


def _numbers(numbers: dict[str, int], listed: tuple[str, ...]) -> Any:
    cells = [numbers.get(text, 0) for text in listed]
    return np.array([*cells, sum(numbers.values()) - sum(cells)])


@pytest.mark.parametrize("relation", list(Relation))
def test_a_threshold_one_too_low_is_found_by_enumeration(relation: Relation) -> None:
    step = step_of(relation, 1)
    low = OneTooLow(
        name=step.name,
        query=step.query,
        rest=step.rest,
        screen=step.screen,
        noise=step.noise,
        neighbours=step.neighbours,
    )
    lists = {data: low.listed_chances(labels) for data, labels in contents(step, relation).items()}
    worst = max(kernel_delta([lists[p], lists[q]], EPSILON / 2)[0] for p, q in pairs(relation))
    assert worst > step.profile(step.neighbours).delta


def test_a_threshold_one_too_low_is_found_by_the_kit() -> None:
    with pytest.raises(AssertionError, match="delta"):
        check(OneTooLow)


def test_the_limit_is_the_shortest_that_delta_allows() -> None:
    """Against the closed form: P(noise = limit) = q^m (1 - q) / (1 + q - 2 q^(m + 1)) at q = exp(-epsilon / 2)."""
    step = step_of(Relation.ADD_REMOVE, 1)
    q = exp(-float(EPSILON) / 2)

    def mass(m: int) -> float:
        return q**m * (1 - q) / (1 + q - 2 * q ** (m + 1))

    assert mass(step.threshold) <= float(DELTA) < mass(step.threshold - 1)
    assert float(step.profile(step.neighbours).delta) == pytest.approx(mass(step.threshold))
    assert step.sure == 2 * step.threshold + 1


def test_texts_come_in_the_order_of_their_code_points_and_the_rest_is_last() -> None:
    step = step_of(Relation.ADD_REMOVE, 1)
    labels = (("Z", 90), ("a b", 80), ("x", 1), ("é", 70))
    outcome = step.run((Sealed(labels),), None, RecordedRandomness("noise"))
    assert isinstance(outcome, LabelledValue)
    block = step.block(outcome)
    assert block is not None and block.space.axes[0].labels == ("Z", "a b", "é", "other")
    assert len(block.values) == 4 and block.parameters["threshold"] == step.threshold


def test_texts_that_are_surely_listed_and_texts_that_nobody_has() -> None:
    step = step_of(Relation.ADD_REMOVE, 1)
    chances = step.listed_chances((("x", step.sure), ("y", step.sure - 1)))
    assert sum(p for listed, p in chances.items() if "x" in listed) == 1
    assert sum(p for listed, p in chances.items() if "y" in listed) < 1
    assert step.listed_chances(()) == {(): 1}


def test_texts_of_one_unit_are_listed_as_often_as_delta_says() -> None:
    """Of 4,000 texts that one unit has each, by what is run and not by what is enumerated; five standard deviations."""
    step = step_of(Relation.ADD_REMOVE, 1)
    texts: Labels = tuple((f"t{k:04}", 1) for k in range(4000))
    outcome = step.run((Sealed(texts),), None, RecordedRandomness("one unit"))
    assert isinstance(outcome, LabelledValue)
    chance = float(step.listed_chances((("t", 1),))[("t",)])
    assert 0 < chance <= float(DELTA)
    assert abs(len(outcome.labels) - 4000 * chance) < 5 * (4000 * chance) ** 0.5


def test_delta_is_shared_by_all_texts_that_can_move_however_many_have_them() -> None:
    """Under replace one text loses a unit and another gains one: at every pair of numbers up to where listing is sure."""
    step = step_of(Relation.REPLACE, 1)
    delta, rare = step.profile(step.neighbours).delta, {}
    for falls in range(1, step.sure + 2):
        for rises in range(step.sure + 1):
            here, there = ((("x", falls - k), ("y", rises + 1 - k)) for k in (0, 1))
            (before, x), (y, after) = (here[0], there[0]), (there[1], here[1])
            laws = [step.listed_chances(labels) for labels in ((before, y), (x, after))]
            rare[falls, rises] = kernel_delta(laws, EPSILON / 2)[0]
    assert max(rare.values()) <= delta + ROUNDING
    # Both at once: a text that nobody else has is listed, and one that was listed for sure is not.
    assert rare[step.sure, 0] == max(rare.values()) > delta * Fraction(99, 100)
