"""Sample and aggregate: known answers, refusals, and the exact loss over all neighbours and partitions of tiny data."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest
from tests.audit.exact_losses import kernel_delta
from tests.measurements.derived_laws import drawn_law, stated

from dalenius.algebra.windows import window
from dalenius.audit.sensitivity import DataSet
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Relation
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import DaleniusError
from dalenius.measurements import block_totals
from dalenius.measurements.block_totals import BlockTotals
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.measurements.blocks.models import MODELS, estimate
from dalenius.measurements.grid_selection import GridSelection
from dalenius.plans.block_design import Prediction
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of
from dalenius.testing.statistic_kit import small_pairs

Ask = Callable[..., Any]
TABLE: dict[str, Any] = {
    "measure": "sample_and_aggregate",
    "of": "x",
    "model": "exponential",
    "clip": ["1/3", 5],
    "blocks": 2,
}
KINDS = ((0,), (3,))


def domain_of(relation: Relation, rows: int = 1, size: int | None = None) -> Domain:
    unit: dict[str, Any] = {"relation": str(relation)}
    if rows > 1:
        unit |= {"id": "person", "name": "person", "max_rows": rows}
    return DatasetDocument.from_dict(
        {
            "dataset": {"name": "d", "population": "p"} | ({} if size is None else {"size": size}),
            "unit": unit,
            "variables": {"x": {"bounds": [0, 3], "step": 1, "missing": "0"}},
        }
    ).domain()


def planned(relation: Relation, rows: int = 1, **more: Any) -> tuple[TablePlan, Domain]:
    domain = domain_of(relation, rows)
    privacy = {"definition": "pure", "epsilon": 2}
    return plan_of(domain, {"table": TABLE | more, "privacy": privacy}, {}), domain


def values_of(data: DataSet) -> np.ndarray:
    return np.sort(np.array([row[0] for unit in data for row in unit], dtype=np.int64))


def centres(step: BlockTotals, data: DataSet) -> np.ndarray:
    """What is summed, over all partitions, times the rate of the noise: a row for each."""
    values, blocks = values_of(data), step.blocks
    rate = float(Fraction(step.mechanism.parameters["rate"]))
    draws = product(range(blocks.count), repeat=len(values))
    told = [step.totals(blocks.reports(values, np.array(p, dtype=np.int64)).numbers) for p in draws]
    return rate * np.array(told, dtype=np.float64)


def loss(step: BlockTotals, here: DataSet, there: DataSet) -> float:
    """Largest log ratio of two mixtures of two-sided geometric laws: in each answer at one of their centres, or beyond all."""
    first, second = centres(step, here), centres(step, there)
    every = np.concatenate([first, second])
    axes = [{*column, column.min() - 1, column.max() + 1} for column in every.T]

    def odds(at: tuple[float, ...], of: np.ndarray) -> float:
        return float(np.exp(-np.abs(np.array(at) - of).sum(axis=1)).mean())

    return max(abs(log(odds(at, first) / odds(at, second))) for at in product(*axes))


def short_pairs(domain: Domain) -> Iterator[tuple[DataSet, DataSet]]:
    """All neighbours of at most three rows."""
    for pair in small_pairs(KINDS, domain.neighbours):
        if max(len(values_of(data)) for data in pair) <= 3:
            yield pair


def losses(plan: TablePlan, domain: Domain) -> Iterator[float]:
    for here, there in short_pairs(domain):
        yield sum(loss(step, here, there) for step in plan.measurements)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
def test_no_neighbours_lose_more_than_the_budget_over_all_partitions(relation: Relation, rows: int) -> None:
    plan, domain = planned(relation, rows)
    # Sum and squares are one answer.
    assert len(plan.measurements) == 1
    assert 0.5 < max(losses(plan, domain)) <= 2 + 1e-9
    noise, _ = planned(relation, rows, error="noise")
    # A record alone in its block takes it from one end of the range to the other; that it might be elsewhere hides a little.
    assert 1 < max(losses(noise, domain)) <= 2 + 1e-9


@pytest.mark.parametrize("relation", list(Relation))
def test_blocks_that_count_half_are_found(relation: Relation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_totals, "touched", lambda neighbours: Fraction(neighbours.max_rows, 2))
    plan, domain = planned(relation, error="noise")
    assert max(losses(plan, domain)) > 3


def tiny(plan: TablePlan) -> GridSelection:
    """The selection of a plan on a grid small enough to list its answers."""
    step = plan.measurements[0]
    assert isinstance(step, GridSelection) and step.blocks is not None
    return replace(step, high=2, fineness=1, blocks=replace(step.blocks, width=2))


@cache
def law_of(step: GridSelection, values: tuple[int, ...]) -> dict[Hashable, Fraction]:
    """Over all draws of a block for every record, from the integer weights."""
    assert step.blocks is not None
    mixture: dict[Hashable, Fraction] = {}
    for places in product(range(step.blocks.count), repeat=len(values)):
        reports = step.blocks.reports(np.array(values, dtype=np.int64), np.array(places, dtype=np.int64))
        for answer, chance in drawn_law(step, step.blocks.listed(reports)).items():
            mixture[answer] = mixture.get(answer, Fraction(0)) + chance / step.blocks.count ** len(values)
    assert stated(step, values) == pytest.approx({answer: float(p) for answer, p in mixture.items()}, rel=1e-9)
    return mixture


def delta(step: GridSelection, domain: Domain, epsilon: Fraction) -> Fraction:
    worst = Fraction(0)
    for pair in short_pairs(domain):
        laws = [law_of(step, tuple(values_of(data))) for data in pair]
        worst = max(worst, kernel_delta(laws, epsilon, bits=64)[0])
    return worst


@pytest.mark.parametrize("relation", list(Relation))
def test_a_median_of_blocks_loses_no_more_than_the_budget(relation: Relation) -> None:
    plan, domain = planned(relation, aggregate="median")
    step = tiny(plan)
    assert delta(step, domain, Fraction(2)) < Fraction(1, 2**30)
    twice = replace(step, epsilons=(4 * step.epsilons[0],))
    assert delta(twice, domain, Fraction(2)) > Fraction(1, 100)


def test_a_person_with_two_rows_changes_two_blocks() -> None:
    one, two = (planned(Relation.REPLACE, rows, error="noise")[0].measurements[0] for rows in (1, 2))
    rates = [Fraction(step.mechanism.parameters["rate"]) for step in (one, two)]  # type: ignore[attr-defined]
    assert rates[0] == 2 * rates[1]


KNOWN = {
    "exponential": ([1, 2, 3], 2 / 6),
    "gaussian_mean": ([1, 2, 3], 2.0),
    "gaussian_variance": ([1, 2, 3], 1.0),
    "huber": ([1, 2, 3], 2.0),
    "logit": ([0, 1, 1], log(2.5 / 1.5)),
    "median": ([1, 2, 9], 2.0),
    "poisson": ([1, 2, 3], 2.0),
}


@pytest.mark.parametrize("model", KNOWN)
def test_models_have_their_known_estimates(model: str) -> None:
    values, answer = KNOWN[model]
    assert estimate(model, "analytic", np.array(values), 1.0) == pytest.approx(answer)


@pytest.mark.parametrize("model", sorted(name for name in MODELS if not MODELS[name].takes_predictors))
@pytest.mark.parametrize("correction", ["analytic", "central", "jackknife", "none"])
def test_every_block_reports_a_point_of_the_grid(model: str, correction: str) -> None:
    blocks = Blocks(model=model, count=2, lower=Fraction(-3), upper=Fraction(3), correction=correction)
    for values in ([], [0], [5], [0, 0, 0], [1, 1], [-7, 10**9], [0, 1, 1, 4]):
        assert 0 <= blocks.points([blocks.estimate(np.array(values, dtype=np.int64))])[0] <= blocks.width
    assert blocks.points([blocks.estimate(np.array([], dtype=np.int64))])[0] == blocks.width // 2


def test_the_jackknife_takes_the_first_bias_away() -> None:
    values = np.array([1, 2, 3, 7, 8])
    assert estimate("gaussian_variance", "jackknife", values, 1.0) == pytest.approx(np.var(values, ddof=1))


def test_the_shape_of_a_beta_law_comes_back() -> None:
    from scipy.stats import beta

    values = np.rint(1000 * beta.ppf((np.arange(400) + 0.5) / 400, 2, 3)).astype(np.int64)
    assert estimate("beta", "none", values, 0.001) == pytest.approx(2, rel=0.02)
    assert estimate("beta", "analytic", values, 0.001) < estimate("beta", "none", values, 0.001)


def test_a_block_says_the_same_whatever_the_others_hold() -> None:
    blocks = Blocks(model="gamma", count=2, lower=Fraction(0), upper=Fraction(9))
    mine = np.arange(1, 40)
    reports = {
        tuple(
            blocks.reports(
                np.concatenate([mine, np.full(n, 7)]), np.array([0] * len(mine) + [1] * n, dtype=np.int64)
            ).numbers
        )
        for n in (3, 4, 5, 8, 64)
    }
    own = blocks.points([blocks.estimate(mine)])[0]
    assert all(own in report for report in reports)


def test_blocks_are_even_in_the_long_run() -> None:
    blocks = Blocks(model="median", count=3, lower=Fraction(0), upper=Fraction(1))
    counts = np.bincount(blocks.places(30_000, RecordedRandomness("places")), minlength=3)
    assert counts.sum() == 30_000 and np.abs(counts - 10_000).max() < 600


def test_the_answer_is_near_and_has_both_errors(ask: Ask) -> None:
    wanted = {"measure": "sample_and_aggregate", "of": "income", "model": "gaussian_mean", "clip": [0, 100]}
    for aggregate in ("mean", "median", "winsorised"):
        (table,) = ask(**wanted, blocks=20, aggregate=aggregate, amount=90)
        assert abs(table.values[0] - 50) < 12
        # Of 99 evenly spread values the mean has a standard error of about 2.9.
        assert 1 < np.sqrt(table.sampled[0]) < 9 and table.variance[0] < table.sampled[0]
    (table,) = ask(**wanted, blocks=20, error="noise", amount=90)
    assert table.sampled is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "weibull"},
        {"model": None},
        {"clip": [5, 1]},
        {"clip": [1, 1]},
        {"clip": None},
        {"blocks": 1},
        {"blocks": 10**9},
        {"blocks": None},
        {"aggregate": "sum"},
        {"correction": "central"},
        {"correction": "firth"},
        {"predictors": ["age"]},
        {"rows": ["sex"]},
        {"of": "sex"},
        {"aggregate": "median", "error": "noise"},
        {"aggregate": "winsorised", "amount": "0.1"},
    ],
)
def test_what_means_nothing_is_refused(ask: Ask, wrong: dict[str, Any]) -> None:
    table = {"measure": "sample_and_aggregate", "of": "income", "model": "median", "clip": [0, 200]}
    asked = table | {"blocks": 9} | wrong
    with pytest.raises(DaleniusError):
        ask(**{key: value for key, value in asked.items() if value is not None})


def test_the_number_of_blocks_follows_from_the_declared_size() -> None:
    privacy = {"definition": "pure", "epsilon": 1}
    counts = []
    for size in (1_000, 100_000):
        domain = domain_of(Relation.ADD_REMOVE, size=size)
        table = {key: value for key, value in TABLE.items() if key != "blocks"}
        counts.append(plan_of(domain, {"table": table, "privacy": privacy}, {}).preview["records"])
        with pytest.raises(DaleniusError, match="blocks"):
            plan_of(domain, {"table": table | {"where": {"x": {"at_least": 1}}}, "privacy": privacy}, {})
    assert 20 <= counts[0] < counts[1]
    with pytest.raises(DaleniusError, match="too small"):
        plan_of(domain_of(Relation.REPLACE, size=15), {"table": table, "privacy": privacy}, {})


def test_the_predicted_number_is_no_worse_than_a_power_of_the_size() -> None:
    for records in (1_000, 100_000, 1_000_000):
        prediction = Prediction(model="exponential", records=records, lower=0.1, upper=4, spread=1)

        def noise(count: int) -> float:
            return 2 * (3.9 / count) ** 2

        best = prediction.best(noise)
        assert prediction.error(best, noise) <= prediction.error(round(records**0.6), noise) * 1.0001


def test_a_window_stays_inside_the_range_and_is_never_empty() -> None:
    assert window([5, 5], Fraction(0), Fraction(1), 10) == (Fraction(1, 10), Fraction(9, 10))
    assert window([0, 0], Fraction(0), Fraction(1), 100) == (Fraction(0), Fraction(1, 25))
    assert window([9, 1], Fraction(0), Fraction(1), 10) == (Fraction(0), Fraction(1))
