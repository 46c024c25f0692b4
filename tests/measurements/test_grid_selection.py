"""Selections of grid points: exact losses over all neighbours of tiny data, planted errors, drawn answers, every content answered."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import log
from typing import Any

import numpy as np
import pytest
from tests.measurements.derived_laws import drawn_law, quantile_lists, stated

from dalenius.algebra.block_quantiles import BlockRanks
from dalenius.algebra.points import PointTargets, Precision, points_of
from dalenius.algebra.ranks import Targets, WholeList, levels, steps_of
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import RowsQuery, ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.rationals import exp_lower, exp_upper
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact import several_quantiles
from dalenius.exact.quantile_selection import Records, Score
from dalenius.exact.several_quantiles import RankSelection, spread
from dalenius.measurements.grid_selection import GridSelection

Law = dict[tuple[int, ...], Fraction]
HALF, QUARTER, OUTER = (Fraction(1, 2),), (Fraction(1, 4),), (Fraction(1, 4), Fraction(3, 4))
QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def made(targets: Targets, relation: Relation = Relation.ADD_REMOVE, rows: int = 1, **more: Any) -> GridSelection:
    """One list of values from 0 to 2."""
    given: dict[str, Any] = {
        "name": "points",
        "space": CellSpace(()),
        "queries": (ValuesQuery(value="x"),),
        "low": 0,
        "high": 2,
        "epsilons": (Fraction(1),) * len(targets.levels),
        "neighbours": Neighbours(relation=relation, unit="row" if rows == 1 else "person", max_rows=rows),
        "targets": targets,
    }
    return GridSelection(**(given | more))


def lists_of(universe: Sequence[int], most: int) -> list[tuple[int, ...]]:
    return [data for n in range(most + 1) for data in combinations_with_replacement(universe, n)]


def worst(step: GridSelection, law: Callable[[tuple[int, ...]], Law], universe: Sequence[int], most: int) -> float:
    """Largest log ratio of the answers to two neighbours: one unit with up to as many rows as it may have."""
    laws = {data: law(data) for data in lists_of(universe, most)}
    own, largest = lists_of(universe, step.neighbours.max_rows), 0.0
    for rest in laws:
        near = [data for unit in own if (data := tuple(sorted((*rest, *unit)))) in laws]
        pairs = product(near, near) if step.neighbours.is_replace else ((rest, other) for other in near)
        for one, other in pairs:
            here, there = laws[one], laws[other]
            assert here.keys() == there.keys()
            largest = max(largest, *(abs(log(p / there[answer])) for answer, p in here.items()))
    return largest


def loss(step: GridSelection, most: int = 3) -> float:
    return worst(step, lambda data: drawn_law(step, data, step.fineness), range(step.low, step.high + 1), most)


def points(q: tuple[Fraction, ...], relation: Relation, size: int = 3, rows: int = 1, **more: Any) -> GridSelection:
    precision = Precision(count=0.2, sampling=1.0)
    given = {"epsilons": (Fraction(3, 2),) * 2, "sizes": (size,)} | more
    return made(PointTargets(qs=q, precision=precision), relation, rows, **given)


def between(q: tuple[Fraction, ...], relation: Relation, size: int = 3, *, has_ends: bool = True) -> GridSelection:
    targets = BlockRanks(qs=q, has_ends=has_ends)
    return made(targets, relation, epsilons=(Fraction(3),), sizes=(size,), score=Score.DISTANCE)


# One quantile of a list


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("q", ["1/2", "1/4", "9/10"])
@pytest.mark.parametrize("epsilon", ["1/2", "2"])
@pytest.mark.parametrize("score", list(Score))
def test_no_neighbour_changes_the_odds_of_a_quantile_by_more_than_epsilon(
    relation: Relation, q: str, epsilon: str, score: Score
) -> None:
    given = {"epsilons": (Fraction(epsilon),), "high": 5, "score": score}
    step = made(WholeList(qs=(Fraction(q),)), relation, **given)
    laws = {data: drawn_law(step, data) for data in lists_of(range(6), 4)}
    top, reached = exp_upper(Fraction(epsilon)), Fraction(0)
    for data, law in laws.items():
        rest = {data[:i] + data[i + 1 :] for i in range(len(data))}
        is_replace = relation is Relation.REPLACE
        others = {tuple(sorted((*r, y))) for r in rest for y in range(6)} if is_replace else rest
        for other in others:
            for answer, p in law.items():
                ratio = max(p / laws[other][answer], laws[other][answer] / p)
                assert ratio <= top
                reached = max(reached, ratio)
    assert reached > exp_lower(Fraction(epsilon) * Fraction(2, 5))
    profile = step.profile(step.neighbours)
    assert (profile.epsilon, profile.rho) == (Fraction(epsilon), Fraction(epsilon) ** 2 / 8)


@pytest.mark.parametrize("score", list(Score))
def test_bounded_range(score: Score) -> None:
    """The spread of log-ratios over outputs, not only their size, is at most epsilon: the premise of epsilon^2 / 8."""
    step = made(WholeList(qs=HALF), Relation.REPLACE, high=5, score=score)
    for data in combinations_with_replacement(range(6), 3):
        p = drawn_law(step, data)
        for place, y in product(range(3), range(6)):
            other = drawn_law(step, (*data[:place], y, *data[place + 1 :]))
            ratios = [log(p[answer] / other[answer]) for answer in p]
            assert max(ratios) - min(ratios) <= 1 + 1e-9


@pytest.mark.statistical
def test_draws_fit_the_exact_law() -> None:
    """20,000 draws, fixed seed; a chi-square beyond 30 on 5 degrees would be one in 68,000."""
    step, rng, data = (
        made(WholeList(qs=HALF), high=5, score=Score.DISTANCE),
        RecordedRandomness("quantile"),
        [1, 2, 2, 4],
    )
    seen = Counter(run(step, [data], rng)[0] for _ in range(20_000))
    expected = {answer[0]: 20_000 * float(p) for answer, p in drawn_law(step, data).items()}
    assert sum((seen[y] - many) ** 2 / many for y, many in expected.items()) < 30


def run(step: GridSelection, lists: Sequence[Sequence[int]], rng: RecordedRandomness) -> list[int]:
    outcome = step.run(tuple(Sealed(np.array(each, dtype=np.int64)) for each in lists), None, rng)
    assert isinstance(outcome, Value)
    numbers: list[int] = outcome.values.tolist()
    assert step.block(outcome).values.tolist() == numbers
    return numbers


def test_ties_at_the_answer_win() -> None:
    step = made(WholeList(qs=HALF), high=5, epsilons=(Fraction(20),), score=Score.DISTANCE)
    assert drawn_law(step, [0, 3, 3, 3, 3, 5])[3,] > Fraction(99, 100)


@pytest.mark.parametrize("values", [[], [99], [-7, -7, 12], [1] * 50])
def test_every_list_is_answered(values: list[int]) -> None:
    axis = Axis(variable="x", labels=("quantile 1/2",))
    (answer,) = run(made(WholeList(qs=HALF), axis=axis), [values], RecordedRandomness(1))
    assert 0 <= answer <= 2


def test_median_of_a_real_sample_is_close() -> None:
    values = np.random.default_rng(3).normal(50_000, 10_000, 5000).astype(np.int64)
    (answer,) = run(made(WholeList(qs=HALF), high=10**6), [values.tolist()], RecordedRandomness("sample"))
    assert abs(answer - np.median(values)) < 300


@pytest.mark.parametrize("q", [(), (Fraction(0),), (Fraction(1, 2), Fraction(1, 4)), (Fraction(1),)])
def test_what_is_no_quantile_is_refused(q: tuple[Fraction, ...]) -> None:
    with pytest.raises(ParameterError):
        points(q or (), Relation.REPLACE) if q else made(WholeList(qs=q), Relation.REPLACE)


def test_refuses_what_it_cannot_weigh() -> None:
    for epsilon, q in (("0.001", "1234567/2345678"), ("1000", "1/2")):
        with pytest.raises(ParameterError, match="epsilon"):
            made(WholeList(qs=(Fraction(q),)), epsilons=(Fraction(epsilon),))


# Cells


def table(relation: Relation, q: Fraction, rows: int = 1, cells: int = 2, **more: Any) -> GridSelection:
    space = CellSpace((Axis(variable="c", labels=tuple(str(i) for i in range(cells))),))
    queries = tuple(ValuesQuery(value="v") for _ in range(cells))
    return made(WholeList(qs=(q,)), relation, rows, space=space, queries=queries, score=Score.DISTANCE, **more)


ROWS = [(cell, value) for cell in range(2) for value in range(3)]


def lost_by_cells(step: GridSelection, one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> float:
    """Largest log ratio of the pair of answers; cells answer independently."""
    total = 0.0
    for cell in range(2):
        here, there = (drawn_law(step, [v for c, v in data if c == cell]) for data in (one, other))
        total += max(abs(log(p / there[answer])) for answer, p in here.items())
    return total


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
def test_the_whole_table_loses_at_most_epsilon(relation: Relation, q: Fraction, rows: int) -> None:
    step = table(relation, q, rows)
    persons = [p for n in range(rows + 1) for p in combinations_with_replacement(ROWS, n)]
    most = 0.0
    for base in (each for n in range(3) for each in combinations_with_replacement(ROWS, n)):
        whole = [base + person for person in persons]
        if relation is Relation.ADD_REMOVE:
            most = max(most, *(lost_by_cells(step, base, data) for data in whole))
        else:
            few = whole if rows == 1 else whole[::3]
            most = max(most, *(lost_by_cells(step, a, b) for a, b in product(few, few)))
    assert most <= 1 + 1e-9
    if q == Fraction(1, 2) and rows == 1:
        assert most > 0.45, "half of the claim would be seen to be false"


def test_prices_at_other_neighbours_are_in_proportion() -> None:
    replaced = Neighbours(relation=Relation.REPLACE)
    step = table(Relation.ADD_REMOVE, Fraction(1, 2))
    assert [step.profile(n).epsilon for n in (Neighbours(), replaced, Neighbours(max_rows=3, unit="person"))] == [
        1,
        2,
        3,
    ]
    assert table(Relation.REPLACE, Fraction(1, 2)).profile(replaced).epsilon == 1
    # A row that is exchanged in one list moves one score by one record; added, by max(q, 1 - q).
    assert made(WholeList(qs=(Fraction(9, 10),))).profile(replaced).epsilon == Fraction(10, 9)


def test_answers_are_near_the_medians_of_large_cells_and_exist_for_empty_ones() -> None:
    first, second = run(table(Relation.ADD_REMOVE, Fraction(1, 2)), [[1] * 200 + [2] * 20, []], RecordedRandomness(1))
    assert first == 1 and 0 <= second <= 2


def test_structural_zeros_stay_at_zero() -> None:
    step = table(Relation.ADD_REMOVE, Fraction(1, 2), low=1, high=3)
    step = replace(step, space=CellSpace(step.space.axes, frozenset({(1,)})))
    assert run(step, [[2], [2]], RecordedRandomness("zeros"))[1] == 0
    assert [len(part.outcomes) for part in step.exact_law([np.array([2]), np.array([2])])] == [3, 1]  # type: ignore[union-attr]


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(TooLarge):
        table(Relation.ADD_REMOVE, Fraction(1, 2), cells=501)


# Bounds of |x|


def bounds(relation: Relation = Relation.ADD_REMOVE, rows: int = 1) -> GridSelection:
    return table(relation, Fraction(3, 4), rows, high=4, is_absolute=True, role="bounds", epsilons=(Fraction(2),))


def chances(values: list[int]) -> np.ndarray:
    """From the formula alone: exp(-epsilon s(y) / 2 max(q, 1 - q)), s the distance of q n from the ranks of y; 0 counts as 1."""
    sizes, y = np.abs(values), np.arange(5)
    below, upto = (sizes < y[:, None]).sum(1), (sizes <= y[:, None]).sum(1)
    rank = 0.75 * len(values)
    score = np.maximum(0, np.maximum(below - rank, rank - upto))
    weights = np.exp(-2 * score / (2 * 0.75))
    weights[1] += weights[0]
    weights[0] = 0
    return np.asarray(weights / weights.sum())


def test_bounds_are_drawn_by_the_law_of_the_stated_epsilon() -> None:
    lists, rng, draws = [[0, 1, -2], [3, -4, 3, 1]], RecordedRandomness("learned bounds"), 1_500
    drawn = np.array([run(bounds(), lists, rng) for _ in range(draws)])
    parts = bounds().exact_law([np.array(each) for each in lists])
    for cell, values in enumerate(lists):
        law, seen = chances(values), np.bincount(drawn[:, cell], minlength=5) / draws
        assert (np.abs(seen - law) < 4.5 * np.sqrt(law * (1 - law) / draws) + 1e-12).all(), cell
        listed = np.zeros(5)
        listed[parts[cell].outcomes[:, 0]] = np.exp(parts[cell].logs)  # type: ignore[index]
        assert listed == pytest.approx(law, rel=1e-9)


@pytest.mark.parametrize(("relation", "rows", "touched"), [("add-remove", 1, 1), ("add-remove", 3, 3), ("replace", 1, 2), ("replace", 3, 6)])  # fmt: skip
def test_every_selection_that_a_unit_touches_is_booked(relation: str, rows: int, touched: int) -> None:
    profile = bounds().profile(Neighbours(relation=Relation(relation), max_rows=rows))
    assert (profile.epsilon, profile.rho) == (2 * touched, Fraction((2 * touched) ** 2, 8))


# Bounds among candidates


def among(relation: Relation = Relation.ADD_REMOVE, rows: int = 1, tail: str = "2/5", **more: Any) -> GridSelection:
    given = {"high": 5, "candidates": (0, 2, 3), "score": Score.DISTANCE} | more
    return made(WholeList(qs=(Fraction(tail), 1 - Fraction(tail))), relation, rows, **given)


def counts(step: GridSelection, values: tuple[int, ...]) -> np.ndarray:
    return np.histogram(values, step.cuts)[0] if values else np.zeros(len(step.cuts) - 1, dtype=np.int64)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
def test_both_selections_among_candidates_lose_at_most_epsilon(relation: Relation, rows: int) -> None:
    # Many candidates on one side of the records, whose weights all move the same way, make the most of a row.
    step, most = among(relation, rows, high=20, candidates=tuple(range(21))), 0.0
    units = lists_of((0, 1, 20), rows)
    for others in lists_of((0, 1, 20), 2):
        laws = {unit: list(stated(step, counts(step, others + unit)).values()) for unit in units}
        is_replace = relation is Relation.REPLACE
        pairs = [(a, b) for a in units for b in units if (len(a) == len(b) if is_replace else not a)]
        for a, b in pairs:
            assert all((p > 0) == (q > 0) for p, q in zip(laws[a], laws[b], strict=True))
            most = max(most, *(abs(log(p / q)) for p, q in zip(laws[a], laws[b], strict=True) if p and q))
    assert 0.5 < most <= 1 + 1e-9


@pytest.mark.parametrize("relation", list(Relation))
def test_both_selections_among_candidates_lose_at_most_the_stated_rho(relation: Relation) -> None:
    """Tight enough that a rho of half the size would not do: both quantiles lie near the middle, where one row moves both."""
    step, most = among(relation, tail="49/100", high=20, candidates=tuple(range(21))), 0.0
    is_replace = relation is Relation.REPLACE
    for others in lists_of((0, 10, 20), 2):
        units = [(x,) for x in (0, 10, 20)] + ([] if is_replace else [()])
        laws = {unit: list(stated(step, counts(step, others + unit)).values()) for unit in units}
        pairs = [(a, b) for a in laws for b in laws if a != b and (is_replace or len(a) != len(b))]
        for a, b in pairs:
            for order in (1.0001, 1.5, 2.0, 4.0, 16.0, 64.0):
                moved = zip(laws[a], laws[b], strict=True)
                divergence = log(sum(p**order * q ** (1 - order) for p, q in moved if p)) / (order - 1)
                most = max(most, divergence / order)
    rho = float(step.profile(step.neighbours).rho or 0)
    assert 0.8 * rho < most <= rho * (1 + 1e-9)


def test_plenty_of_data_choose_the_candidates_at_both_ends() -> None:
    step = among(candidates=(0, 1, 2, 3, 5), epsilons=(Fraction(4),))
    values = (1,) * 30 + (2,) * 900 + (3,) * 70
    assert run(step, [counts(step, values).tolist()], RecordedRandomness("bounds")) == [2, 3]


def test_values_beyond_all_candidates_count_for_the_nearest() -> None:
    step = among(candidates=(1, 3))
    lists = step._lists(counts(step, (0, 1, 2, 3, 4, 5)), step.selection(0).steps)
    found = []
    for records in lists:
        assert records.before is not None
        found.append(np.bincount(records.values, np.diff(records.before)).tolist())
    assert found == [[3, 3], [2, 4]]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"candidates": (2,)}, ParameterError),
        ({"candidates": (2, 2)}, ParameterError),
        ({"candidates": (3, 1)}, ParameterError),
        ({"candidates": (-1, 3)}, ParameterError),
        ({"candidates": (0, 6)}, ParameterError),
        ({"tail": "1/2"}, ParameterError),
        ({"high": 5000, "candidates": tuple(range(1001))}, TooLarge),
    ],
)
def test_what_cannot_be_chosen_among_is_refused(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        among(**given)


# Several ranks, level by level


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("q", [HALF, QUARTER])
@pytest.mark.parametrize("size", [3, 40])
def test_a_quantile_between_its_ends_loses_no_more_than_epsilon(
    relation: Relation, q: tuple[Fraction, ...], size: int
) -> None:
    assert 0.5 < loss(between(q, relation, size)) <= 3


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("size", [3, 40])
def test_several_quantiles_lose_no_more_than_epsilon_together(relation: Relation, size: int) -> None:
    assert 0.5 < loss(between(QUARTILES, relation, size, has_ends=False)) <= 3


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("q", [HALF, QUARTER])
@pytest.mark.parametrize("size", [3, 40])
def test_points_beside_a_quantile_lose_no_more_than_both_epsilons(
    relation: Relation, q: tuple[Fraction, ...], size: int
) -> None:
    assert 0.4 < loss(points(q, relation, size)) <= 3


@pytest.mark.parametrize("relation", list(Relation))
def test_two_rows_of_a_unit_lose_no_more(relation: Relation) -> None:
    assert 0.4 < loss(points(HALF, relation, rows=2)) <= 3


@pytest.mark.parametrize("relation", list(Relation))
def test_records_that_are_parted_at_random_lose_no_more(relation: Relation) -> None:
    """Every part of a step of every record, listed; a record keeps its part whoever else is there."""
    two_quantiles = between(QUARTILES[:2], relation, has_ends=False)
    with_points = points(OUTER, relation, score=Score.DISTANCE)
    for step, most in ((two_quantiles, 2), (with_points, 1)):
        selection = step.selection(0, 2)

        def law(data: tuple[int, ...], selection: RankSelection = selection) -> Law:
            mixture: Law = {}
            for parts in product(range(2), repeat=len(data)):
                fine = Records.of(np.array([2 * x + part for x, part in zip(data, parts, strict=True)], dtype=np.int64))
                for answer, chance in quantile_lists(selection, [fine] * len(selection.steps)).items():
                    mixture[answer] = mixture.get(answer, Fraction(0)) + chance / 2 ** len(data)
            return mixture

        assert worst(step, law, range(3), most) <= 3


@pytest.mark.parametrize(
    "step",
    [
        between(HALF, Relation.REPLACE),
        between(HALF, Relation.REPLACE, has_ends=False),
        points(HALF, Relation.REPLACE),
        points(QUARTER, Relation.REPLACE),
        made(WholeList(qs=QUARTER), Relation.REPLACE),
        made(WholeList(qs=QUARTER), score=Score.DISTANCE),
    ],
    ids=lambda step: f"{type(step.targets).__name__} {step.score}",
)
def test_the_stated_law_is_that_of_the_integer_weights(step: GridSelection) -> None:
    for data in lists_of(range(3), 3):
        law = {answer: float(p) for answer, p in drawn_law(step, data).items()}
        assert stated(step, data) == pytest.approx(law, rel=1e-9)


def test_a_level_that_is_not_counted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    several, beside = between(QUARTILES, Relation.ADD_REMOVE, has_ends=False), points(HALF, Relation.ADD_REMOVE)
    honest = GridSelection._selection
    monkeypatch.setattr(
        GridSelection, "_selection", lambda *a: replace(honest(*a), epsilons=(Fraction(3),) * len(honest(*a).epsilons))
    )
    assert loss(several) > 3 and loss(beside) > 3


def test_a_change_that_is_stated_too_small_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = several_quantiles.score_moves
    monkeypatch.setattr(several_quantiles, "score_moves", lambda *a: honest(*a) / 4)
    assert loss(between(HALF, Relation.ADD_REMOVE)) > 3 and loss(points(HALF, Relation.ADD_REMOVE)) > 3


# Records that count by weights


def weighted(q: tuple[Fraction, ...], relation: Relation, rows: int = 1, heaviest: int = 41, **more: Any) -> Any:
    """A median of weights up to 41 is written in grains of two, and its largest move is rounded up."""
    query = RowsQuery(variables=("x", "w"), space=CellSpace(()))
    return points(q, relation, 3 * heaviest, rows, **{"queries": (query,), "heaviest": heaviest} | more)


def loss_of_weighted(step: GridSelection, most: int = 3) -> float:
    universe = [(x, w) for x in range(3) for w in (4, step.heaviest)]
    return worst(step, lambda data: drawn_law(step, data), universe, most)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("q", [HALF, (Fraction(9, 10),), OUTER])
@pytest.mark.parametrize("rows", [1, 2])
def test_points_by_weights_lose_no_more_than_both_epsilons(
    relation: Relation, q: tuple[Fraction, ...], rows: int
) -> None:
    score = Score.DEPTH if len(q) == 1 else Score.DISTANCE
    assert 0.4 < loss_of_weighted(weighted(q, relation, rows, score=score), 3 if len(q) == 1 else 2) <= 3


def test_rows_of_a_unit_are_rounded_one_by_one() -> None:
    """Two rows in two parts of a level move one score by 21 grains each, which is more than both together in one part."""
    (step, *_) = weighted(HALF, Relation.ADD_REMOVE, 2).selection(0).steps
    assert several_quantiles.score_moves(step, 2, 41) == 42 == 2 * several_quantiles.row_moves(1, 41) > 41


def test_a_weight_that_counts_more_than_the_heaviest_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = several_quantiles.row_moves
    monkeypatch.setattr(several_quantiles, "row_moves", lambda parts, heaviest: honest(parts, heaviest) // 4)
    assert loss_of_weighted(weighted(HALF, Relation.ADD_REMOVE)) > 3


def test_the_stated_law_of_weights_is_that_of_the_integer_weights() -> None:
    step = weighted(QUARTER, Relation.REPLACE)
    for data in lists_of([(x, w) for x in range(3) for w in (0, 17, 41)], 2):  # type: ignore[arg-type]
        law = {answer: float(p) for answer, p in drawn_law(step, data).items()}
        lines = np.array([(0, *row) for row in data], dtype=np.int64).reshape(-1, 3)  # type: ignore[misc]
        assert stated(step, lines) == pytest.approx(law, rel=1e-9)


def test_whole_weights_are_repeated_records() -> None:
    """Up to the grain: with weights of one step both are the same selection of the same price."""
    query = RowsQuery(variables=("x", "w"), space=CellSpace(()))
    once, plain = points(HALF, Relation.REPLACE, queries=(query,), heaviest=1), points(HALF, Relation.REPLACE)
    assert drawn_law(once, [(0, 1), (2, 1), (2, 0)]) == drawn_law(plain, [0, 2])
    assert once.profile(once.neighbours) == plain.profile(plain.neighbours)


def test_cells_are_read_from_their_own_lines() -> None:
    space = CellSpace((Axis(variable="g", labels=("a", "b", "c"), codes=(0, 1, 2)),), frozenset({(1,)}))
    query = RowsQuery(variables=("x", "w"), space=space)
    given = {"space": space, "queries": (query,), "sizes": (900,) * 3, "epsilons": (Fraction(40),) * 2, "low": 1}
    step = weighted(HALF, Relation.ADD_REMOVE, 1, 30, **given)
    lines = [(0, 2, 10)] * 20 + [(0, 1, 30)] * 10 + [(1, 2, 30)] * 30 + [(2, 1, 10)] * 20 + [(2, 2, 30)] * 10
    outcome = step.run((Sealed(np.array(sorted(lines))),), None, RecordedRandomness("cells"))
    assert isinstance(outcome, Value)
    assert outcome.values.reshape(3, -1)[:, 3].tolist() == [1, 0, 2]


def test_the_profile_is_that_of_all_levels() -> None:
    step = points(OUTER, Relation.REPLACE)
    profile = step.profile(step.neighbours)
    # Two levels of quantiles and three beside them, whose bounded ranges add as squares over eight.
    assert (profile.epsilon, profile.rho) == (3, (2 * Fraction(3, 4) ** 2 + 3 * Fraction(1, 2) ** 2) / 8)
    assert step.profile(Neighbours(relation=Relation.ADD_REMOVE)).epsilon == Fraction(3, 2)


@pytest.mark.parametrize("count", range(1, 31))
def test_no_record_takes_part_in_more_selections_than_there_are_levels(count: int) -> None:
    depth = {-1: 0, count: 0}
    for step in steps_of([100 * (k + 1) for k in range(count)], 100 * (count + 1)):
        depth[step.target] = 1 + max(depth[step.left], depth[step.right])
    assert max(depth.values()) <= levels(count)


def test_ranks_of_many_values_are_close() -> None:
    rng, draws = RecordedRandomness("ranks"), np.random.default_rng(5)
    n, offs = 20_000, []
    steps = steps_of([n * k // 10 for k in range(1, 10)], n)
    selection = RankSelection(low=0, high=10**6, steps=steps, epsilons=(Fraction(1, 4),) * 4, most=1)
    for _ in range(6):
        values = np.sort(np.clip(np.rint(np.exp(draws.normal(10, 0.8, n))), 0, 10**6).astype(np.int64))
        chosen = selection.draw([Records.of(values)] * len(steps), rng)
        assert chosen == sorted(chosen)
        offs.append(np.abs(np.searchsorted(values, chosen) - n * np.arange(1, 10) / 10))
    assert np.mean(offs) <= 6.5


def test_ties_are_parted_by_rank() -> None:
    step = replace(between(OUTER, Relation.ADD_REMOVE, 4000), fineness=256)
    values = np.repeat([0, 1, 2], [900, 2200, 900])
    answers = run(step, [values.tolist()], RecordedRandomness("ties"))
    assert isinstance(step.targets, BlockRanks)
    places = step.targets.ranks(4000, *step.level_epsilons, 1).places  # type: ignore[call-arg,arg-type]
    assert [answers[place[1]] for place in places] == [1, 1]
    fine = spread(values, 256, RecordedRandomness("fine"))
    assert (fine // 256 == values).all() and len(np.unique(fine)) > 700


@pytest.mark.parametrize("values", [[], [1], [2] * 50, [0] * 30 + [2] * 30])
@pytest.mark.parametrize("q", [HALF, OUTER])
def test_every_content_is_answered_in_rising_order(values: list[int], q: tuple[Fraction, ...]) -> None:
    for step, many in (
        (points(q, Relation.REPLACE, 1), len(points_of(len(q)))),
        (between(q, Relation.REPLACE, 1), 3 * len(q)),
    ):
        answers = run(step, [values], RecordedRandomness("any"))
        assert len(answers) == many and answers == sorted(answers)


def test_a_point_below_a_heap_does_not_fall_into_it() -> None:
    """Records at the median are in no part beside it: counted from its edge, points find what lies next to the heap."""
    step = points(HALF, Relation.ADD_REMOVE, 2000, high=2000, epsilons=(Fraction(40),) * 2)
    values = np.concatenate([np.arange(0, 990), np.full(600, 1000), np.arange(1010, 1420)])
    found = run(step, [values.tolist()], RecordedRandomness("heap"))
    assert found[3] == 1000
    assert found[2] < 1000 and found[1] < 990 and found[4] >= 1000
