"""Lists of incomes to three millions in steps of one: their squares are halved, and nothing else changes."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.methods.tiny_prices import largest_price, silent_tables
from verify._recorded import release_of

from dalenius.algebra import amounts
from dalenius.algebra.amounts import MOST_ADDED, Amounts
from dalenius.core.domain import Bounds
from dalenius.core.neighbours import Relation
from dalenius.core.query import TableQuery
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.errors import TooLarge
from dalenius.inference.cells import intervals
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

MEASURES = ("total", "mean", "variance", "standard_deviation", "covariance", "correlation", "ratio")
BUDGETS = {"zero_concentrated": {"rho": "1/2"}, "pure": {"epsilon": 2}}
FLAT, LEVELS = [["town", "sex"], ["town"], []], [["town", "sex"], ["town.part"], []]
HIGHEST = 3_000_000


def domain(relation: str = "add-remove", highest: int = HIGHEST, missing: str = "0") -> Any:
    number = {"bounds": [0, highest], "step": 1, "missing": missing}
    return load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "unit": {"relation": relation},
            "variables": {
                "town": {
                    "categories": ["a", "b", "c"],
                    "missing": "a",
                    "unseen": "a",
                    "hierarchies": {"part": {"x": ["a", "b"], "y": ["c"]}},
                },
                "sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f"},
                "pay": number,
                "tax": number,
            },
        }
    ).domain()


def columns(rows: int = 3000) -> dict[str, list[Any]]:
    """Incomes up to the highest, and taxes that go with them."""
    rng = np.random.default_rng(7)
    pay = np.clip(np.rint(np.exp(rng.normal(13, 1, rows))), 0, HIGHEST).astype(int)
    tax = np.clip(np.rint(pay * rng.uniform(0.1, 0.6, rows)), 0, HIGHEST).astype(int)
    return {
        "town": [str(t) for t in rng.choice(list("abc"), rows)],
        "sex": [str(s) for s in rng.choice(list("fm"), rows)],
        "pay": pay.tolist(),
        "tax": tax.tolist(),
    }


def request(measure: str, margins: Any = FLAT, definition: str = "zero_concentrated", **keys: Any) -> dict[str, Any]:
    other = {"other": "tax"} if measure in ("covariance", "correlation", "ratio") else {}
    error = {"error": "sampling"} if measure == "total" else {}
    table = {"rows": ["town", "sex"], "measure": measure, "of": "pay", "margins": margins, **other, **error, **keys}
    return {"table": table, "privacy": {"definition": definition, **BUDGETS[definition]}}


def truth(measure: str, pay: np.ndarray, tax: np.ndarray) -> float:
    return {
        "total": lambda: float(pay.sum()),
        "mean": lambda: float(pay.mean()),
        "variance": lambda: float(pay.var(ddof=1)),
        "standard_deviation": lambda: float(pay.std(ddof=1)),
        "covariance": lambda: float(np.cov(pay, tax)[0, 1]),
        "correlation": lambda: float(np.corrcoef(pay, tax)[0, 1]),
        "ratio": lambda: float(pay.sum() / tax.sum()),
    }[measure]()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("margins", [FLAT, LEVELS], ids=["flat", "levels"])
@pytest.mark.parametrize("definition", BUDGETS)
@pytest.mark.parametrize("relation", Relation)
def test_every_estimate_has_both_errors(measure: str, margins: Any, definition: str, relation: Relation) -> None:
    plan = plan_of(domain(relation.value), request(measure, margins, definition))
    assert all(margin["std_error_with_sampling"] > margin["std_error"] for margin in plan.preview["margins"])
    assert not any("squares" in warning for warning in plan.warnings)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("margins", [FLAT, LEVELS], ids=["flat", "levels"])
def test_halved_sums_show_the_same_numbers_and_the_same_on_every_engine(measure: str, margins: Any) -> None:
    declared, data = domain(), columns()
    plan = plan_of(declared, request(measure, margins))
    rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    tables = silent_tables(plan, declared, rows)[:3]
    pay, tax = (np.array(data[name], dtype=float) for name in ("pay", "tax"))
    np.testing.assert_allclose(tables[2].values, [truth(measure, pay, tax)], rtol=1e-4)
    sexes, towns = np.array(data["sex"]), np.array(data["town"])
    within = [(towns == town) & (sexes == sex) for town, sex in product("abc", "fm")]
    np.testing.assert_allclose(tables[0].values, [truth(measure, pay[k], tax[k]) for k in within], rtol=5e-3)

    needs = [need for step in plan.measurements for need in step.needs if isinstance(need, TableQuery)]
    assert measure == "total" or any(need.halvings for need in needs)
    other = DuckDBSource(declared, pa.table(data), b"s")
    memory = MemorySource(declared, data, b"s")
    for need in needs:
        np.testing.assert_array_equal(other.table(need).open_below_the_gate(), memory.table(need).open_below_the_gate())


def test_errors_of_a_release_come_back_from_its_document() -> None:
    plan = plan_of(domain(), request("mean", LEVELS))
    release = release_of(plan, domain(), columns(), request("mean", LEVELS)["table"], "wide")
    made, mean = intervals(release), release.tables[2]
    pay = np.array(columns()["pay"], dtype=float)
    assert made.lower[-1] < pay.mean() < made.upper[-1]
    assert mean.sampled is not None
    np.testing.assert_allclose(mean.sampled - mean.variance, pay.var(ddof=1) / len(pay), rtol=0.2)


@pytest.mark.parametrize("strategy", ["interior", "split", "residual", "tree"])
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("widest", [4, 2])
def test_no_tiny_neighbours_cost_more_than_is_charged(
    strategy: str, relation: Relation, widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one halving and with two of a number to 15, and more of its squares; beside rows that leave every remainder."""
    monkeypatch.setattr(amounts, "MOST_ADDED", widest)
    monkeypatch.setattr(amounts, "_FINENESS", 0)
    declared = domain(relation.value, 15, "drop")
    margins = LEVELS if strategy == "tree" else FLAT
    asked = request("mean", margins)
    asked["privacy"]["strategy"] = strategy
    plan = plan_of(declared, asked)
    queries = [need for step in plan.measurements for need in step.needs if isinstance(need, TableQuery)]
    assert {need.halvings for need in queries} >= ({1, 4} if widest == 4 else {2, 5})
    kinds = [{"town": t, "sex": s, "pay": p, "tax": 0} for t in "ac" for s in "fm" for p in (0, 4, 15, None)]
    prices = []
    for first, second in ((0, 0), (1, 2), (2, 3), (5, 9), (8, 11)):
        beside = [{"town": "a", "sex": "f", "pay": first, "tax": 0}, {"town": "c", "sex": "m", "pay": second, "tax": 0}]
        prices.append(largest_price(plan, declared, kinds, beside))
    assert 0.1 < max(prices) <= 0.5 * (1 + 1e-9)


def test_narrow_amounts_stay_as_they_are() -> None:
    pay = Amounts.of("pay", Bounds(lower=Fraction(0), upper=Fraction(MOST_ADDED)))
    assert pay.fitted() == pay
    wide = Amounts.of("pay", Bounds(lower=Fraction(-5), upper=Fraction(MOST_ADDED + 1))).fitted()
    assert (wide.low, wide.high, wide.step, wide.halvings) == (-3, MOST_ADDED // 2 + 1, 2, 1)
    # Components of many cells are scaled by them, so that they need coarser sums.
    assert pay.fitted(2**10).halvings == 3


def test_too_many_coarse_cells_are_refused() -> None:
    pay = Amounts.of("pay", Bounds(lower=Fraction(0), upper=Fraction(HIGHEST)))
    pay.fitted(1000).check_rounding(1000)
    with pytest.raises(TooLarge, match="rounded too much"):
        pay.fitted(100_000).check_rounding(100_000)


def test_a_named_strategy_without_squares_states_the_noise_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amounts, "_FINENESS", 10**9)
    asked = request("mean")
    asked["privacy"]["strategy"] = "residual"
    plan = plan_of(domain(), asked)
    assert "std_error_with_sampling" not in plan.preview["margins"][0]
    assert any("squares of pay are too large" in warning for warning in plan.warnings)


@pytest.mark.parametrize("measure", ["variance", "correlation"])
def test_fourth_powers_that_no_engine_can_hold_are_of_values_on_fewer_points(measure: str) -> None:
    """The same incomes in hundredths: 2^28 steps, whose fourth powers have 112 bits."""
    data = columns()
    fine = {name: [100 * v for v in column] if name in ("pay", "tax") else column for name, column in data.items()}
    shown = []
    for declared, own in ((domain(), data), (domain(highest=100 * HIGHEST), fine)):
        rows = [dict(zip(own, row, strict=True)) for row in zip(*own.values(), strict=True)]
        plan = plan_of(declared, request(measure))
        shown.append([t.sampled - t.variance for t in silent_tables(plan, declared, rows)[:3] if t.sampled is not None])
    assert len(shown[0]) == len(shown[1]) == 3
    for narrow, wide in zip(*shown, strict=True):
        np.testing.assert_allclose(wide / (10**8 if measure == "variance" else 1), narrow, rtol=1e-2)


def test_what_no_engine_can_hold_is_refused_when_it_is_planned() -> None:
    with pytest.raises(TooLarge, match="could add 2"):
        plan_of(domain(highest=2**50), request("variance"))
