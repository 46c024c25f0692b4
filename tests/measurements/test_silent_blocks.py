"""Blocks without a number: counted in the step with their sum at no cost, released, noted first, and part of every interval."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from dalenius import Curator, table
from dalenius.algebra.estimates import estimated
from dalenius.audit.sensitivity import DataSet
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.core.sealed import Sealed
from dalenius.curator.planner import Planner
from dalenius.errors import Unsupported
from dalenius.measurements import block_totals
from dalenius.measurements.block_totals import SUM, BlockTotals, free_weights
from dalenius.measurements.blocks.blocks import Blocks, Reports
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.notes import in_language
from dalenius.testing.asking import plan_of
from dalenius.testing.statistic_kit import small_pairs

KINDS = ((0,), (3,), (4,))


def domain_of(relation: Relation, rows: int) -> Domain:
    unit: dict[str, Any] = {"relation": str(relation)}
    if rows > 1:
        unit |= {"id": "person", "name": "person", "max_rows": rows}
    return DatasetDocument.from_dict(
        {
            "dataset": {"name": "d", "population": "p"},
            "unit": unit,
            "variables": {"x": {"bounds": [0, 4], "step": 1, "missing": "0"}},
        }
    ).domain()


class Judges:
    """A function of blocks: nothing of an empty one or one with a zero, one end of the range with a four, the other without."""

    def run(self, parts: Sequence[Any], units: Any, seconds: float) -> list[float]:
        return [math.nan if not len(part) or 0 in part else float(4 in part) for part in parts]


def blocks_of(width: int) -> Blocks:
    runner: Any = Judges()
    return Blocks(
        model="function", count=2, lower=Fraction(0), upper=Fraction(1), width=width, function="f", runner=runner
    )


def step_of(width: int, weight: int, mechanism: Any) -> BlockTotals:
    query: Any = None
    return BlockTotals(name="sum", query=query, blocks=blocks_of(width), mechanism=mechanism, weight=weight)


def values_of(data: DataSet) -> list[int]:
    return [row[0] for unit in data for row in unit]


def coupled(relation: Relation, rows: int) -> Iterator[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """All neighbours of at most three rows in all partitions, where rows that both have, and one that replaces another, have one draw."""
    domain = domain_of(relation, rows)
    for here, there in small_pairs(KINDS, domain.neighbours):
        first, second = sorted(values_of(here)), sorted(values_of(there))
        if max(len(first), len(second)) > 3:
            continue
        both = [
            value for value in sorted({*first, *second}) for _ in range(min(first.count(value), second.count(value)))
        ]
        rest = [list(values) for values in (first, second)]
        for value in both:
            rest[0].remove(value)
            rest[1].remove(value)
        for places in product(range(2), repeat=len(both) + max(map(len, rest))):
            yield tuple(  # type: ignore[misc]
                list(zip([*both, *more], places, strict=False)) for more in rest
            )


def moved(step: BlockTotals, here: list[tuple[int, int]], there: list[tuple[int, int]]) -> tuple[int, int]:
    """By how much sum and weighted number differ."""
    answers = []
    for rows in (here, there):
        values, places = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1))
        answers.append(step.exact(step.blocks.reports(values, places)))
    first, second = np.abs(answers[0] - answers[1]).tolist()
    return first, second


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("rows", "width"), [(1, 6), (1, 7), (2, 6), (2, 5)])
def test_sum_and_number_move_as_far_as_stated_and_never_both_in_full(relation: Relation, rows: int, width: int) -> None:
    """All neighbours and partitions of tiny data: the stated norms are attained, and so is every kind of move of one block."""
    step = step_of(width, free_weights(width)[1], DiscreteLaplace(Fraction(1)))
    stated = step.sensitivity(width, SUM, domain_of(relation, rows).neighbours, step.weight)
    moves = {moved(step, *pair) for pair in coupled(relation, rows)}
    assert max(sum(move) for move in moves) <= stated.l1
    assert max(first**2 + second**2 for first, second in moves) <= stated.l2_squared
    assert stated.patterns is not None
    for first, second in moves:
        assert any(first <= max(p) and second <= (p[1] if len(p) > 1 else 0) for p in map(padded, stated.patterns))
    # Two rows that are added move two blocks from end to end only where both hold others already.
    assert (rows * width if relation is Relation.REPLACE else width, 0) in moves
    assert (width - width // 2, step.weight) in moves
    assert not any(move[0] > width - width // 2 and move[1] for move in moves) or rows > 1


def padded(pattern: tuple[int, ...]) -> tuple[int, ...]:
    """Sum first: the weighted number is the smaller of the two at these weights."""
    return (*pattern, 0)[:2]


@pytest.mark.parametrize("rows", [1, 2, 7, 40])
@pytest.mark.parametrize("width", [2, 5, 6, 1 << 16])
def test_the_free_weights_are_the_largest_that_cost_nothing(rows: int, width: int) -> None:
    neighbours = Neighbours(relation=Relation.ADD_REMOVE, max_rows=rows)
    in_l2, in_l1 = free_weights(width)
    alone = BlockTotals.sensitivity(width, SUM, neighbours)
    with_l1, with_l2 = (BlockTotals.sensitivity(width, SUM, neighbours, w) for w in (in_l1, in_l2))
    assert with_l1.l1 == alone.l1 and with_l1.l2_squared == alone.l2_squared
    assert with_l2.l2_squared == alone.l2_squared
    assert BlockTotals.sensitivity(width, SUM, neighbours, in_l1 + 1).l1 > alone.l1
    assert BlockTotals.sensitivity(width, SUM, neighbours, in_l2 + 1).l2_squared > alone.l2_squared
    if width % 2 == 0:
        assert in_l1 == width // 2 and in_l2 == math.isqrt(3 * width**2 // 4)


def loss(step: BlockTotals, pair: tuple[DataSet, DataSet], rate: float) -> float:
    """Largest log ratio over all answers of two mixtures over all partitions; at a centre of each coordinate, or beyond them all."""
    laws = []
    for data in pair:
        values = np.array(values_of(data), dtype=np.int64)
        draws = product(range(2), repeat=len(values))
        laws.append(np.array([step.exact(step.blocks.reports(values, np.array(p, dtype=np.int64))) for p in draws]))
    both = np.concatenate(laws)
    grids = [np.unique([*both[:, k], both[:, k].min() - 1, both[:, k].max() + 1]) for k in (0, 1)]
    at = np.array(list(product(*grids)))
    odds = [np.exp(-rate * np.abs(at[:, None] - law[None]).sum(axis=2)).mean(axis=1) for law in laws]
    return float(np.abs(np.log(odds[0] / odds[1])).max())


def worst_loss(relation: Relation, rows: int, width: int = 6) -> tuple[float, float]:
    """Of noise that the stated sensitivity makes worth epsilon 2, and what the profile says."""
    weight, neighbours = free_weights(width)[1], domain_of(relation, rows).neighbours
    stated = BlockTotals.sensitivity(width, SUM, neighbours, weight)
    rate = 2 / stated.l1
    step = step_of(width, weight, DiscreteLaplace(rate))
    pairs = (pair for pair in small_pairs(KINDS, neighbours) if max(len(values_of(data)) for data in pair) <= 3)
    epsilon = step.profile(neighbours).epsilon
    assert epsilon is not None
    return max(loss(step, pair, float(rate)) for pair in pairs), float(epsilon)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
def test_no_neighbours_lose_more_than_the_budget_over_sum_and_number(relation: Relation, rows: int) -> None:
    worst, stated = worst_loss(relation, rows)
    assert stated == 2 and 1 < worst <= 2 + 1e-9


def _both_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block without a number reports an end of the range: sum and number move in full together."""

    def wrong(self: Reports) -> np.ndarray:
        return np.sort(np.concatenate([self.heard, np.full(self.silent, self.width)]))

    monkeypatch.setattr(Reports, "numbers", property(wrong))


def _counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    right = BlockTotals.exact

    def wrong(self: BlockTotals, reports: Reports) -> np.ndarray:
        return right(self, reports) * np.array([1, 2])

    monkeypatch.setattr(BlockTotals, "exact", wrong)


def _half_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit of two rows is taken for one."""
    monkeypatch.setattr(block_totals, "touched", lambda neighbours: neighbours.max_rows // 2)


PLANTED: tuple[tuple[Callable[[pytest.MonkeyPatch], None], int], ...] = (
    (_both_in_full, 1),
    (_counted_twice, 1),
    (_half_a_unit, 2),
)


@pytest.mark.parametrize(("plant", "rows"), PLANTED, ids=[plant.__name__.strip("_") for plant, _ in PLANTED])
@pytest.mark.parametrize("relation", list(Relation))
def test_a_planted_fault_of_the_number_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], rows: int, relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert worst_loss(relation, rows)[0] > 2.05


def test_who_gave_no_number_stands_at_both_ends_of_a_list_and_replaces_one_entry() -> None:
    for silent in range(5):
        reports = [Reports(heard=np.arange(5 - s), silent=s, width=9) for s in (silent, min(silent + 1, 5))]
        lists = [sorted(each.parted.tolist()) for each in reports]
        assert [len(each) for each in lists] == [5, 5]
        assert sum((np.bincount(lists[0], minlength=10) - np.bincount(lists[1], minlength=10)).clip(0)) <= 2
        # The entry that changes is the last number that was heard, and one at an end.
        kept = reports[1].heard.tolist()
        assert all(lists[0].count(k) >= kept.count(k) for k in kept)
    half = Reports(heard=np.full(5, 4), silent=5, width=9)
    assert half.parted.tolist() == [0, 0, *[4] * 5, 9, 9, 9] and half.numbers.tolist().count(4) == 10


TABLE: dict[str, Any] = {
    "measure": "sample_and_aggregate",
    "of": "x",
    "model": "function",
    "function": "f sha256:0",
    "clip": [0, 100],
    "blocks": 40,
}
DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {"x": {"bounds": [0, 100], "step": 1, "missing": 0}},
}
BUDGETS: dict[str, dict[str, Any]] = {
    "pure": {"definition": "pure", "epsilon": 2},
    "zero_concentrated": {"definition": "zero_concentrated", "rho": "0.1"},
    "approximate": {"definition": "approximate", "epsilon": 1, "delta": "1e-6"},
    "large": {"definition": "pure", "epsilon": 40},
    "probabilistic": {"definition": "probabilistic", "epsilon": 1, "delta": "1e-6"},
}


MODEL = {"model": "gaussian_mean", "function": None}


def planned(
    budget: str, monkeypatch: pytest.MonkeyPatch, privacy: Mapping[str, Any] = MappingProxyType({}), **more: Any
) -> Any:
    """The plan of a function that nobody runs."""
    monkeypatch.setattr(Planner, "check_functions", lambda self, plan: None)
    domain = DatasetDocument.from_dict(DATASET).domain()
    keys = {key: value for key, value in (TABLE | more).items() if value is not None}
    return plan_of(domain, {"table": keys, "privacy": BUDGETS[budget] | dict(privacy)}, {})


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_count_leaves_the_noise_of_the_sum_as_it_is(budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = planned(budget, monkeypatch, error="noise").measurements[0]
    alone = planned(budget, monkeypatch, error="noise", **MODEL).measurements[0]
    assert counted.mechanism == alone.mechanism and not alone.weight
    is_normal = isinstance(counted.mechanism, DiscreteGaussian)
    assert counted.weight == free_weights(counted.blocks.width)[0 if is_normal else 1]
    neighbours = Neighbours(relation=Relation.ADD_REMOVE)
    first, second = (step.profile(neighbours).cost() for step in (counted, alone))
    assert first == second


def test_normal_noise_counts_with_the_larger_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """At rho the count's error is 1.155 / sqrt(2 rho) blocks."""
    step = planned("zero_concentrated", monkeypatch, error="noise").measurements[0]
    error = math.sqrt(step.mechanism.variance) / step.weight
    assert isinstance(step.mechanism, DiscreteGaussian) and error == pytest.approx(1.1547 / math.sqrt(0.2), rel=1e-3)


def test_a_median_of_a_function_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unsupported, match="winsorised"):
        planned("pure", monkeypatch, aggregate="median")


def answers(chance: float, truth: float, seed: int, count: int = 40) -> list[float]:
    """What blocks would say: some of them nothing, without regard to what they hold."""
    rng = np.random.default_rng(seed)
    thetas = rng.normal(truth, 3, count)
    return [math.nan if rng.random() < chance else float(theta) for theta in thetas]


class Says:
    """Blocks whose answers are known."""

    def __init__(self, thetas: list[float]) -> None:
        self.thetas = thetas

    def run(self, parts: Any, units: Any, seconds: float) -> list[float]:
        return self.thetas


def released(plan: Any, thetas: list[float], seed: str) -> Any:
    """One release through the steps of a plan, with blocks whose answers are known."""
    rng, blocks, steps = RecordedRandomness(seed), [], plan.steps()
    step = next(steps)
    while True:
        given = replace(step, blocks=replace(step.blocks, runner=Says(thetas)))
        outcome = given.run((Sealed(np.arange(40)),), given.draw(rng), rng)
        blocks.append(given.block(outcome))
        try:
            step = steps.send(outcome)
        except StopIteration:
            return estimated(plan.law, blocks, 1), plan.noted(tuple(blocks)), plan.assemble(tuple(blocks))


@pytest.mark.parametrize("aggregate", ["mean", "winsorised"])
@pytest.mark.parametrize("chance", [0.0, 0.05, 0.5])
def test_intervals_hold_what_all_blocks_would_have_said(
    aggregate: str, chance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 %, so that too narrow ones show in few runs; without the widening half of them would miss at one block in twenty."""
    plan = planned("pure" if aggregate == "mean" else "large", monkeypatch, aggregate=aggregate)
    hits, runs = 0, 60
    for seed in range(runs):
        made, _, _ = released(plan, answers(chance, 12.0, seed), f"{aggregate} {chance} {seed}")
        lower, upper = made.ends(0.8, True)
        hits += bool(lower[0] <= 12.0 <= upper[0])
    assert hits >= 0.65 * runs


def test_blocks_without_a_number_widen_the_interval_and_are_the_first_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """A truth of 1 in a range from 0 to 100, where a fifth of the blocks said nothing."""
    plan = planned("large", monkeypatch)
    made, notes, tables = released(plan, [1.0] * 32 + [math.nan] * 8, "a fifth")
    lower, upper = made.ends(0.95, False)
    assert 9 < made.values[0] < 13 and lower[0] <= 1 <= upper[0] and math.sqrt(made.variance[0]) > 9
    assert notes[0].startswith("8 of 40 blocks gave no number (measured, ± 1, 95 %).")
    assert in_language(notes[0], "de") is not None
    assert tables[1].name == "blocks without a number" and abs(tables[1].values[0] - 8) < 1
    assert tables[1].space == CellSpace(())
    whole, notes, _ = released(plan, [1.0] * 40, "none")
    lower, upper = whole.ends(0.95, False)
    assert lower[0] <= 1 <= upper[0] and upper[0] - lower[0] < 2 and notes[0].startswith("0 of 40")


def test_a_winsorised_mean_does_not_close_in_on_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three quarters of the blocks said nothing: quartiles that took them for the middle would cut all others away."""
    plan = planned("large", monkeypatch, aggregate="winsorised")
    made, notes, _ = released(plan, [1.0] * 10 + [math.nan] * 30, "most")
    lower, upper = made.ends(0.95, True)
    assert lower[0] <= 1 and upper[0] >= 50 and notes[0].startswith("30 of 40")
    assert in_language(notes[0], "de") is not None


def test_a_release_says_first_how_many_blocks_gave_no_number(tmp_path: Path) -> None:
    def says_nothing_of_large_values(values):  # type: ignore[no-untyped-def]
        if max(values) > 90:
            raise ValueError
        return sum(values) / len(values)

    rows = {"x": [k % 90 for k in range(300)] + [99] * 2}
    with Curator.open(
        rows, DATASET, ledger=tmp_path / "l.sqlite", policy={"budget": {"rho": 100}}, rng=RecordedRandomness("silent")
    ) as curator:
        curator.register()
        request = table(
            measure="sample_and_aggregate",
            of="x",
            model="function",
            function=curator.function(says_nothing_of_large_values),
            clip=[0, 100],
            blocks=8,
            seconds="0.1",
            epsilon=10,
            error="noise",
        )
        release = curator.release(request)
        again = curator.release(request)
    assert isinstance(release, Release)
    assert release.provenance.warnings[0].startswith(("2 of 8", "1 of 8", "3 of 8"))
    assert again.provenance.warnings == release.provenance.warnings
    assert [each.name for each in release.tables][1] == "blocks without a number"
    lower, upper = release.interval(0.95)
    assert float(lower) <= 45 <= float(upper) and float(upper) - float(lower) > 20


def test_noise_of_bounded_support_counts_for_nothing_too(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"mechanism": "truncated_laplace"}
    counted = planned("approximate", monkeypatch, named, error="noise").measurements[0]
    alone = planned("approximate", monkeypatch, named, error="noise", **MODEL).measurements[0]
    assert counted.weight in free_weights(counted.blocks.width) and counted.mechanism == alone.mechanism
