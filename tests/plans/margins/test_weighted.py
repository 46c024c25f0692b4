"""Lists of weighted counts, totals and means: they add up, cost what they say, and have the error of the design where it is known."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.methods.tiny_prices import largest_price, silent_tables
from verify._recorded import release_of

from dalenius.errors import Unsupported
from dalenius.inference.cells import intervals
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

ZCDP = {"definition": "zero_concentrated", "rho": "1/2"}
LEVELS = [["town", "sex"], ["town.part"], ["sex"], []]
POLICY = {"allow": {"acknowledge": ["fixed_weights"]}}
MEASURES: dict[str, dict[str, Any]] = {
    "count": {},
    "total": {"measure": "total", "of": "pay", "error": "noise"},
    "mean": {"measure": "mean", "of": "pay", "error": "noise"},
}


def domain(relation: str = "add-remove", weights: tuple[str, str] = ("1", "3")) -> Any:
    return load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "unit": {"relation": relation},
            "design": {"draws": "independent"},
            "variables": {
                "town": {
                    "categories": ["a", "b", "c"],
                    "missing": "a",
                    "unseen": "a",
                    "hierarchies": {"part": {"x": ["a", "b"], "y": ["c"]}},
                },
                "sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f"},
                "pay": {"bounds": [-10, 30], "step": 5, "missing": "drop"},
                "w": {"weight": True, "bounds": list(weights), "step": "0.5", "missing": "drop"},
            },
        }
    ).domain()


def released_from(measure: str, rows: list[dict[str, Any]], relation: str = "add-remove", seed: str = "w") -> Any:
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return release_of(planned(measure, relation), domain(relation), columns, asked(measure), seed)


@cache
def planned(measure: str, relation: str) -> Any:
    return plan_of(domain(relation), asked(measure), POLICY)


def asked(measure: str, margins: Any = LEVELS, **privacy: Any) -> dict[str, Any]:
    table = {"rows": ["town", "sex"], "weight": "w", "margins": margins, **MEASURES[measure]}
    return {"table": table, "privacy": ZCDP | privacy}


ROWS = [
    {"town": t, "sex": s, "pay": p, "w": w}
    for t, s, p, w in [
        ("a", "f", 30, 3),
        ("a", "f", -10, 3),
        ("b", "m", 15, 2.5),
        ("c", "m", None, 3),
        ("c", "f", 99, 1),
        ("c", "m", 30, 3),
        ("b", "f", 10, None),
    ]
]


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("margins", "strategy"),
    [(LEVELS, "tree"), (LEVELS, "split"), (LEVELS, "interior"), ("all", "residual"), ("all", "split")],
)
def test_tiny_neighbours_cost_no_more_than_rho_and_nearly_as_much(
    relation: str, measure: str, margins: Any, strategy: str
) -> None:
    here = domain(relation)
    plan = plan_of(here, asked(measure, margins, strategy=strategy), POLICY)
    price = largest_price(plan, here, ROWS)
    assert price <= 0.5 + 1e-9
    # Noise that were half as wide would cost four times as much, and twice the reach of a row twice as much: both would be seen.
    assert price > 0.26


@pytest.mark.parametrize(("measure", "margins"), list(product(MEASURES, (LEVELS, "all"))))
def test_without_noise_they_are_the_plain_sums(measure: str, margins: Any) -> None:
    here, many = domain(), 200
    tables = silent_tables(plan_of(here, asked(measure, margins), POLICY), here, ROWS * many)
    kept = [row for row in ROWS * many if row["w"] is not None and (measure == "count" or row["pay"] is not None)]
    for table in tables:
        names = [axis.name for axis in table.space.axes]
        for labels, value in zip(table.space.labels() or [()], table.values, strict=True):
            inside = [row for row in kept if _is_in(row, dict(zip(names, labels, strict=True)))]
            weights = np.array([row["w"] for row in inside])
            pay = np.clip([row["pay"] or 0 for row in inside], -10, 30)
            if table.measure == "mean":
                # Sums of weights that are not clear of their noise have no mean.
                exact = float(weights @ pay / weights.sum()) if inside else np.nan
            else:
                exact = float(
                    {"weighted count": weights, "squared weights": weights**2, "total": weights * pay}[
                        table.measure
                    ].sum()
                )
            np.testing.assert_allclose(value, exact, atol=1e-9)


def _is_in(row: Any, cell: dict[str, str]) -> bool:
    part = "y" if row["town"] == "c" else "x"
    return all((part if name == "town.part" else row[name]) == label for name, label in cell.items())


@pytest.mark.parametrize("measure", ["count", "total"])
def test_margins_and_levels_add_up(measure: str) -> None:
    released = released_from(measure, ROWS * 50)
    by_axes = {
        tuple(axis.name for axis in table.space.axes): table
        for table in released.tables
        if table.measure != "squared weights"
    }
    full = by_axes["town", "sex"].values.reshape(3, 2)
    np.testing.assert_allclose(by_axes[("sex",)].values, full.sum(axis=0))
    np.testing.assert_allclose(by_axes[("town.part",)].values, [full[:2].sum(), full[2].sum()])
    np.testing.assert_allclose(by_axes[()].values, full.sum())


def test_the_error_of_the_design_is_given_where_the_squares_are_known_and_nowhere_else() -> None:
    released = released_from("count", ROWS[:3] * 1000)
    inner = next(table for table in released.tables if len(table.space.axes) == 2)
    assert inner.sampled is not None
    sampled = inner.sampled.reshape(3, 2)
    # 2,000 rows of weight 3 in one cell and 1,000 of weight 2.5 in another; nobody in the others.
    np.testing.assert_allclose(sampled[0, 0], 2000 * 9, rtol=0.02)
    np.testing.assert_allclose(sampled[1, 1], 1000 * 6.25, rtol=0.02)
    assert np.isnan(sampled[[0, 1, 2, 2], [1, 0, 0, 1]]).all()
    lower, upper = released.interval(0.95, with_sampling=True)
    assert not np.isnan(released.interval(0.95)[0]).any() and np.isnan(lower).sum() == np.isnan(upper).sum()


def test_intervals_of_weighted_means_hold_the_exact_ones() -> None:
    here, held, count = domain("replace"), 0, 0
    truth = silent_tables(plan_of(here, asked("mean"), POLICY), here, ROWS * 200)[0].values
    for seed in range(15):
        told = intervals(released_from("mean", ROWS * 200, "replace", str(seed)))
        is_known = ~np.isnan(truth)
        held += int(((told.lower <= truth + 1e-9) & (truth <= told.upper + 1e-9))[is_known].sum())
        count += int(is_known.sum())
    assert held / count >= 0.95


def test_lists_of_weighted_totals_and_means_have_the_error_of_the_design_at_every_level() -> None:
    rows = [row for row in ROWS if row["w"] is not None and row["pay"] is not None]
    columns = {name: [row[name] for row in rows * 2000] for name in rows[0]}
    weights, pay = np.array([row["w"] for row in rows]), np.clip([row["pay"] for row in rows], -10, 30)
    mean = weights @ pay / weights.sum()
    expected = {
        "total": 2000 * (weights**2 @ pay**2),
        "mean": (weights**2 @ (pay - mean) ** 2) / weights.sum() ** 2 / 2000,
    }
    for measure, variance in expected.items():
        request = asked(measure, rho=50)
        request["table"]["error"] = "sampling"
        plan = plan_of(domain(), request, POLICY)
        released = release_of(plan, domain(), columns, request, "design")
        whole = next(table for table in released.tables if table.measure == measure and not table.space.axes)
        assert whole.sampled is not None
        np.testing.assert_allclose(whole.sampled - whole.variance, variance, rtol=0.1)
        lower, upper = released.interval(0.95, with_sampling=True)
        assert (upper - lower)[~np.isnan(upper)].min() > 0


def test_weights_that_are_not_declared_fixed_are_refused() -> None:
    with pytest.raises(Unsupported):
        plan_of(domain(), asked("count"), {})
