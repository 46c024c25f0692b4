"""Bounds chosen among candidates: the loss over all neighbours of tiny data, exactly, and what is chosen of plenty of data."""

from fractions import Fraction
from itertools import combinations_with_replacement
from math import log

import numpy as np
import pytest
from tests.measurements.derived_laws import stated

from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, TooLarge
from dalenius.measurements.candidate_bounds import CandidateBounds


def step(relation: Relation = Relation.ADD_REMOVE, rows: int = 1, **more: object) -> CandidateBounds:
    given: dict[str, object] = {
        "name": "bounds",
        "variable": "x",
        "where": (),
        "low": 0,
        "high": 5,
        "candidates": (0, 2, 3),
        "epsilon": Fraction(1),
        "neighbours": Neighbours(relation=relation, max_rows=rows, unit="person"),
        "tail": Fraction(2, 5),
    }
    return CandidateBounds(**(given | more))  # type: ignore[arg-type]


def counts(made: CandidateBounds, values: tuple[int, ...]) -> np.ndarray:
    return np.histogram(values, made.cuts)[0] if values else np.zeros(len(made.cuts) - 1, dtype=np.int64)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
def test_both_selections_lose_at_most_epsilon(relation: Relation, rows: int) -> None:
    # Many candidates on one side of the records, whose weights all move the same way, make the most of a row.
    made, worst = step(relation, rows, high=20, candidates=tuple(range(21)), tail=Fraction(2, 5)), 0.0
    units = [u for n in range(rows + 1) for u in combinations_with_replacement((0, 1, 20), n)]
    for others in (o for n in range(3) for o in combinations_with_replacement((0, 1, 20), n)):
        laws = {unit: list(stated(made, counts(made, others + unit)).values()) for unit in units}
        pairs = [(a, b) for a in units for b in units if relation is Relation.REPLACE or not a]
        if relation is Relation.REPLACE:
            pairs = [(a, b) for a, b in pairs if len(a) == len(b)]
        for a, b in pairs:
            worst = max(worst, *(abs(log(p / q)) for p, q in zip(laws[a], laws[b], strict=True) if p and q))
            assert all((p > 0) == (q > 0) for p, q in zip(laws[a], laws[b], strict=True))
    assert worst <= 1 + 1e-9 and worst > 0.5


@pytest.mark.parametrize("relation", list(Relation))
def test_both_selections_lose_at_most_the_stated_rho(relation: Relation) -> None:
    """Tight enough that a rho of half the size would not do: both quantiles lie near the middle, where one row moves both."""
    made, worst = step(relation, high=20, candidates=tuple(range(21)), tail=Fraction(49, 100)), 0.0
    is_replace = relation is Relation.REPLACE
    for others in (o for n in range(3) for o in combinations_with_replacement((0, 10, 20), n)):
        units = [(x,) for x in (0, 10, 20)] + ([] if is_replace else [()])
        laws = {unit: list(stated(made, counts(made, others + unit)).values()) for unit in units}
        pairs = [(a, b) for a in laws for b in laws if a != b and (is_replace or len(a) != len(b))]
        for a, b in pairs:
            for order in (1.0001, 1.5, 2.0, 4.0, 16.0, 64.0):
                moved = zip(laws[a], laws[b], strict=True)
                divergence = log(sum(p**order * q ** (1 - order) for p, q in moved if p)) / (order - 1)
                worst = max(worst, divergence / order)
    rho = float(made.profile(made.neighbours).rho or 0)
    assert 0.8 * rho < worst <= rho * (1 + 1e-9)


def test_plenty_of_data_choose_the_candidates_at_both_ends() -> None:
    made = step(candidates=(0, 1, 2, 3, 5), epsilon=Fraction(4))
    values = (1,) * 30 + (2,) * 900 + (3,) * 70
    answer = made.run((Sealed(counts(made, values)),), None, RecordedRandomness("bounds"))
    assert isinstance(answer, Value) and answer.values.tolist() == [2, 3]


def test_values_beyond_all_candidates_count_for_the_nearest() -> None:
    made = step(candidates=(1, 3))
    assert made.counted(counts(made, (0, 1, 2, 3, 4, 5))) == ([3, 3], [2, 4])


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"candidates": (2,)}, ParameterError),
        ({"candidates": (2, 2)}, ParameterError),
        ({"candidates": (3, 1)}, ParameterError),
        ({"candidates": (-1, 3)}, ParameterError),
        ({"candidates": (0, 6)}, ParameterError),
        ({"tail": Fraction(1, 2)}, ParameterError),
        ({"high": 5000, "candidates": tuple(range(1001))}, TooLarge),
    ],
)
def test_what_cannot_be_chosen_among_is_refused(given: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        step(**given)  # type: ignore[arg-type]
