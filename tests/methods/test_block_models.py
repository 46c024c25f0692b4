"""Mixtures and logistic regressions in blocks: values of an independent route, rules where there is no estimate, and what one record moves."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement
from math import exp, isnan, log
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import polygamma
from scipy.stats import norm

from dalenius.core.neighbours import Relation
from dalenius.core.plan import TablePlan
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError
from dalenius.measurements import block_totals
from dalenius.measurements.block_totals import BlockTotals
from dalenius.measurements.blocks import blocks as _blocks
from dalenius.measurements.blocks import blocks as parted
from dalenius.measurements.blocks import mixture
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.measurements.blocks.logistic import Design, Predictor
from dalenius.measurements.blocks.models import MODELS, estimate, grouped_jackknife
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

AGE, KIND = Predictor(low=0, high=100, unit=1.0), Predictor(low=0, high=4, unit=0.5)
Rows = tuple[tuple[int, ...], ...]


def drawn_rows(seed: int, n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    age, kind = rng.integers(0, 101, n), rng.integers(0, 5, n)
    odds = np.exp((age - 50) / 20 - 0.4 * (kind - 2))
    return np.column_stack([rng.random(n) < odds / (1 + odds), age, kind]).astype(np.int64)


def maximised(rows: np.ndarray, *, is_penalised: bool) -> np.ndarray:
    """The likelihood in the units of the variables, by a search that needs no slope."""
    x = np.column_stack([np.ones(len(rows)), rows[:, 1], rows[:, 2] / 2])

    def less(beta: np.ndarray) -> float:
        linear = x @ beta
        chance = 1 / (1 + np.exp(-linear))
        value = float(np.sum(rows[:, 0] * linear - np.logaddexp(0, linear)))
        information = (x.T * (chance * (1 - chance))) @ x
        return -value - (float(np.linalg.slogdet(information)[1]) / 2 if is_penalised else 0.0)

    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000}
    first = minimize(less, np.array([-2.0, 0.05, -0.5]), method="Nelder-Mead", options=options)
    return np.asarray(minimize(less, first.x, method="Nelder-Mead", options=options).x)


@pytest.mark.parametrize(("correction", "is_penalised"), [("none", False), ("analytic", True)])
def test_coefficients_are_those_of_the_largest_likelihood(correction: str, is_penalised: bool) -> None:
    rows = drawn_rows(1)
    expected = maximised(rows, is_penalised=is_penalised)
    for place in range(3):
        design = Design(predictors=(AGE, KIND), coefficient=place)
        assert estimate("logistic", correction, rows, design) == pytest.approx(expected[place], abs=1e-5)


def test_one_predictor_of_two_values_has_firths_closed_form() -> None:
    """Half a record more in each of the four cells."""
    rows = np.array([(1, 0)] * 3 + [(0, 0)] * 5 + [(1, 1)] * 7 + [(0, 1)] * 2)
    found = estimate("logistic", "analytic", rows, Design(predictors=(Predictor(low=0, high=1, unit=1.0),)))
    assert found == pytest.approx(log(7.5 / 2.5) - log(3.5 / 5.5), abs=1e-8)


def test_firth_takes_the_first_bias_away() -> None:
    """Blocks of 40 records, slope 1.5: the plain estimate is too steep by more than five standard errors, Firth's by fewer than two."""
    rng, found = np.random.default_rng(5), {"none": list[float](), "analytic": list[float]()}
    design = Design(predictors=(Predictor(low=-20, high=20, unit=0.1),))
    for _ in range(250):
        x = rng.integers(-20, 21, 40)
        y = rng.random(40) < 1 / (1 + np.exp(-0.15 * x))
        for correction, list_of in found.items():
            each = estimate("logistic", correction, np.column_stack([y, x]).astype(np.int64), design)
            list_of.append(min(max(each, -6.0), 6.0))
    off = {name: (np.mean(each) - 1.5) / (np.std(each) / 250**0.5) for name, each in found.items()}
    assert off["none"] > 3 and abs(off["analytic"]) < 2.5


def test_separated_records_are_finite_by_firth_and_at_an_end_otherwise() -> None:
    rows, design = np.array([(0, 0), (0, 10), (1, 60), (1, 90)]), Design(predictors=(AGE,))
    assert 0 < estimate("logistic", "analytic", rows, design) < 0.2
    common: dict[str, Any] = {"model": "logistic", "count": 2, "lower": Fraction(-1), "upper": Fraction(1, 4)}
    blocks = Blocks(**common, correction="none", design=design)
    assert blocks.points([blocks.estimate(rows)])[0] == blocks.width
    assert blocks.points([blocks.estimate(np.column_stack([1 - rows[:, 0], rows[:, 1]]))])[0] == 0


@pytest.mark.parametrize(
    "rows",
    [np.empty((0, 2), dtype=np.int64), np.array([(1, 5)]), np.array([(1, 5), (0, 5), (1, 5)]), np.array([(0, 0)] * 4)],
)
def test_records_that_tell_no_slope_report_the_middle(rows: np.ndarray) -> None:
    for correction in ("analytic", "none", "jackknife"):
        common: dict[str, Any] = {"model": "logistic", "count": 2, "lower": Fraction(-1), "upper": Fraction(1)}
        blocks = Blocks(**common, correction=correction, design=Design(predictors=(AGE,)))
        assert blocks.points([blocks.estimate(rows)])[0] == blocks.width // 2


def test_all_ones_tell_no_slope_without_a_penalty() -> None:
    rows, design = np.array([(1, 0), (1, 50), (1, 90)]), Design(predictors=(AGE,))
    assert isnan(estimate("logistic", "none", rows, design))
    assert abs(estimate("logistic", "analytic", rows, design)) < 0.1


def two_hills(seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.rint(np.concatenate([rng.normal(200, 50, 120), rng.normal(600, 80, 80)])).astype(np.int64)


def test_a_mixture_is_that_of_the_largest_likelihood() -> None:
    values = two_hills()

    def less(p: np.ndarray) -> float:
        share = 1 / (1 + exp(-p[4]))
        parts = (1 - share) * norm.pdf(values, p[0], exp(p[2])), share * norm.pdf(values, p[1], exp(p[3]))
        return -float(np.log(parts[0] + parts[1]).sum())

    options = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    start = np.array([150.0, 650.0, 4.0, 4.0, 0.0])
    best = minimize(less, start, method="Nelder-Mead", options=options).x
    expected = {
        "mixture_lower_mean": best[0],
        "mixture_upper_mean": best[1],
        "mixture_lower_deviation": exp(best[2]),
        "mixture_upper_deviation": exp(best[3]),
        "mixture_upper_share": 1000 / (1 + exp(-best[4])),
    }
    shuffled = np.random.default_rng(0).permutation(values)
    for model, answer in expected.items():
        unit = 1000.0 if "share" in model else 1.0
        for each in (values, shuffled, 800 - values):
            found = estimate(model, "none", each, 1.0) * unit
            if each is values:
                assert found == pytest.approx(answer, rel=2e-3)
                first = found
            elif each is shuffled:
                assert found == first
        # Counted in tenths, means and deviations are a tenth, and shares what they are.
        assert estimate(model, "none", values, 0.1) * unit == pytest.approx(first * (1 if unit > 1 else 0.1))


def test_the_lower_component_is_the_one_with_the_smaller_mean() -> None:
    values = two_hills()
    here, turned = mixture.fitted(values), mixture.fitted(800 - values)
    assert here is not None and turned is not None
    assert here.means[0] < here.means[1] and turned.means[0] < turned.means[1]
    assert turned.means[0] == pytest.approx(800 - here.means[1], abs=1e-6)
    assert turned.share == pytest.approx(1 - here.share, abs=1e-9)


@pytest.mark.parametrize("values", [[], [3], [1, 2, 3], [5] * 9])
def test_values_that_are_no_mixture_report_the_middle(values: list[int]) -> None:
    blocks = Blocks(model="mixture_lower_mean", count=2, lower=Fraction(0), upper=Fraction(9), correction="none")
    assert blocks.points([blocks.estimate(np.array(values, dtype=np.int64))])[0] == blocks.width // 2


def test_a_component_that_loses_all_its_values_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate is the last with two components, the lower one first, and never not a number."""
    values = two_hills()
    monkeypatch.setattr(mixture, "_belonging", lambda xs, now: [0.0] * len(xs))
    found = mixture.fitted(values)
    assert found is not None and found.means[0] < found.means[1] and found.share == 0.5
    monkeypatch.undo()
    turned = mixture.Mixture(means=found.means[::-1], variances=(4.0, 9.0), share=0.25).ordered()
    assert (turned.means, turned.variances, turned.share) == (found.means, (9.0, 4.0), 0.75)
    assert mixture._belonging([1.0, 2.0], replace(found, share=1.0)) == [1.0, 1.0]


def test_a_jackknife_of_groups_fits_six_times_in_any_order_and_takes_the_first_bias_away() -> None:
    fits = list[int]()

    def spread(values: np.ndarray, unit: float) -> float:
        fits.append(len(values))
        return float(np.var(values)) * unit

    rng = np.random.default_rng(5)
    samples = rng.integers(-50, 51, (1_000, 20))
    variance = (101**2 - 1) / 12
    means = [np.mean([fit(values, 1.0) for values in samples]) for fit in (spread, partial(grouped_jackknife, spread))]
    # A twentieth is missing without it; 1,000 lists tell the variance to 1 %.
    assert means[0] == pytest.approx(0.95 * variance, rel=0.03) and means[1] == pytest.approx(variance, rel=0.03)
    assert fits[-6:] == [16, 16, 16, 16, 16, 20]
    values = two_hills()
    told = {estimate("mixture_upper_mean", "jackknife", each, 1.0) for each in (values, values[::-1].copy())}
    assert len(told) == 1 and told != {estimate("mixture_upper_mean", "none", values, 1.0)}


def test_a_mixture_is_jackknifed_by_name_only() -> None:
    plain, named = (planned("mixture", Relation.REPLACE, **more) for more in ({}, {"correction": "jackknife"}))
    assert [plan.preview["correction"] for plan in (plain, named)] == ["none", "jackknife"]


DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {"y": {"bounds": [0, 1], "step": 1, "missing": 0}, "x": {"bounds": [0, 3], "step": 1, "missing": 0}},
}
CASES: dict[str, tuple[dict[str, Any], Rows, int]] = {
    "logistic": (
        {"of": "y", "model": "logistic", "predictors": ["x"], "clip": ["-1/10", "1/10"], "correction": "none"},
        ((0, 0), (0, 3), (1, 0), (1, 1)),
        4,
    ),
    "mixture": ({"of": "x", "model": "mixture_upper_mean", "clip": [1, 2]}, ((0,), (1,), (3,)), 6),
}


def planned(name: str, relation: Relation, **more: Any) -> TablePlan:
    domain = DatasetDocument.from_dict(DATASET | {"unit": {"relation": str(relation)}}).domain()
    table = {"measure": "sample_and_aggregate", "blocks": 2} | CASES[name][0] | more
    return plan_of(domain, {"table": table, "privacy": {"definition": "pure", "epsilon": 2}}, {})


def pairs(name: str, relation: Relation) -> Iterator[tuple[Rows, Rows]]:
    """Every list of at most so many records of one block, with another that differs in one record."""
    _, kinds, most = CASES[name]
    for size in range(most):
        for others in combinations_with_replacement(kinds, size):
            for record in kinds:
                if relation is Relation.ADD_REMOVE:
                    yield others, (*others, record)
                else:
                    yield from ((((*others, record)), (*others, new)) for new in kinds if new > record)


def loss(plan: TablePlan, here: Rows, there: Rows) -> float:
    """Of a block that holds all records, the others being empty: its own step of every measurement, times the rate of its noise."""
    whole = 0.0
    for step in plan.measurements:
        assert isinstance(step, BlockTotals)
        totals = []
        for rows in (here, there):
            values = np.array(rows, dtype=np.int64).reshape((len(rows), 2) if step.blocks.design else -1)
            totals.append(step.totals(step.blocks.reports(values, np.zeros(len(rows), dtype=np.int64)).numbers))
        whole += float(np.abs(np.subtract(*totals)).sum()) * float(Fraction(step.mechanism.parameters["rate"]))
    return whole


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("name", CASES)
def test_one_record_moves_a_block_by_no_more_than_was_paid_for(
    name: str, relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(name, relation, error="noise")
    widest = max(pairs(name, relation), key=lambda pair: loss(plan, *pair))
    assert 1.9 < loss(plan, *widest) <= 2 + 1e-9
    assert loss(planned(name, relation), *widest) <= 2 + 1e-9
    monkeypatch.setattr(block_totals, "touched", lambda neighbours: Fraction(neighbours.max_rows, 2))
    assert loss(planned(name, relation, error="noise"), *widest) > 3.8


@pytest.mark.parametrize("is_lost", [False, True])
def test_blocks_say_the_same_side_by_side(is_lost: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever works them out, and also where the helpers are lost."""
    rows = drawn_rows(4, 300)
    blocks = Blocks(
        model="logistic", count=5, lower=Fraction(-1), upper=Fraction(1), design=Design(predictors=(AGE, KIND))
    )
    places = np.arange(300) % 5
    alone = blocks.reports(rows, places).numbers
    monkeypatch.setattr(_blocks, "SIDE_BY_SIDE", 5)
    if is_lost:
        monkeypatch.setattr(parted, "help_out", maximised)
    monkeypatch.setattr(Blocks, "estimate", Blocks.estimate if is_lost else None)
    assert blocks.reports(rows, places).numbers.tolist() == alone.tolist() and len(set(alone.tolist())) == 5


def test_firth_is_one_question_by_two_names() -> None:
    plans = [planned("logistic", Relation.REPLACE, correction=name) for name in ("firth", "analytic")]
    steps = [plan.measurements[0] for plan in plans]
    assert steps[0] == replace(steps[1], mechanism=steps[0].mechanism)  # type: ignore[type-var, attr-defined]


@pytest.mark.parametrize(
    "wrong",
    [
        {"predictors": []},
        {"predictors": ["y"]},
        {"predictors": ["x", "x"]},
        {"predictors": ["z"]},
        {"predictors": ["z"]},
        {"predictors": ["x"] * 9},
        {"model": "mixture_upper_mean", "predictors": [], "correction": "analytic"},
    ],
)
def test_a_regression_without_its_variables_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        planned("logistic", Relation.REPLACE, **wrong)


def test_a_coefficient_is_released_with_its_error(tmp_path: Any) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 4, 4_000)
    y = rng.random(4_000) < 1 / (1 + np.exp(-(x - 1.5)))
    request = {
        "table": {
            "measure": "sample_and_aggregate",
            "of": "y",
            "model": "logistic",
            "predictors": ["x"],
            "clip": [-3, 3],
            "blocks": 40,
        },
        "privacy": {"definition": "pure", "epsilon": 8},
    }
    with Curator.open(
        {"x": x.tolist(), "y": y.astype(int).tolist()},
        DATASET,
        ledger=tmp_path / "l.sqlite",
        policy={"budget": {"rho": 100}},
    ) as curator:
        curator.register()
        table = curator.release(request).tables[0]
    assert table.name == "logistic of y: x"
    assert abs(float(table.values[0]) - 1) < 0.6 and table.sampled is not None


def test_blocks_of_numbers_too_large_for_exact_sums_are_fitted_one_by_one() -> None:
    blocks = Blocks(model="gaussian_mean", count=2, lower=Fraction(0), upper=Fraction(1 << 40))
    values, places = np.array([1, 2, 3, 1 << 39], dtype=np.int64), np.array([0, 0, 1, 1])
    assert blocks._sums(values[:3], places[:3]) is not None and blocks._sums(values, places) is None
    assert blocks._estimates(values, places) == [1.5, (3 + 2.0**39) / 2]


def test_blocks_without_a_function_are_given_none() -> None:
    blocks = Blocks(model="median", count=2, lower=Fraction(0), upper=Fraction(9))
    assert blocks.with_functions({}, lambda _: None) is blocks


@pytest.mark.parametrize(("model", "theta"), [("gamma", 2.0), ("logit", 1.0)])
def test_the_variance_of_an_estimate_is_that_of_its_information(model: str, theta: float) -> None:
    """One over Fisher's information of one record: of a gamma law's shape with an unknown scale, of a logit."""
    expected = {"gamma": theta / (theta * float(polygamma(1, theta)) - 1), "logit": (1 + exp(theta)) ** 2 / exp(theta)}
    assert MODELS[model].variance(theta, 1.0) == pytest.approx(expected[model], rel=1e-5)
