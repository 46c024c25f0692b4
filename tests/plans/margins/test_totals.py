"""Lists of totals: margins and levels of a magnitude that add up, priced by what one row can add."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.methods.tiny_prices import largest_price, silent_tables
from verify._recorded import release_of

from dalenius.algebra import joint
from dalenius.algebra.amounts import Amounts
from dalenius.core.neighbours import Relation
from dalenius.errors import TooLarge, Unsupported
from dalenius.inference.contrast import difference, rate, total
from dalenius.inference.quotient import proportion, ratio
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

ZCDP = {"definition": "zero_concentrated", "rho": "1/2"}
LEVELS = [["town", "sex"], ["town.part"], ["sex"], []]


def domain(relation: str = "add-remove", bounds: tuple[int, int] = (0, 40), step: str = "5", max_rows: int = 1) -> Any:
    unit: dict[str, Any] = {"relation": relation, "max_rows": max_rows}
    return load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "unit": unit | ({"id": "who"} if max_rows > 1 else {}),
            "variables": {
                "town": {
                    "categories": ["a", "b", "c"],
                    "missing": "a",
                    "unseen": "a",
                    "hierarchies": {"part": {"x": ["a", "b"], "y": ["c"]}},
                },
                "sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f"},
                "pay": {"bounds": list(bounds), "step": step, "missing": "drop"},
            },
        }
    ).domain()


def asked(margins: Any = LEVELS, **privacy: Any) -> dict[str, Any]:
    table = {"rows": ["town", "sex"], "measure": "total", "of": "pay", "margins": margins}
    return {"table": table, "privacy": ZCDP | privacy}


ROWS = [
    {"town": t, "sex": s, "pay": p} for t, s, p in [("a", "f", 40), ("b", "m", 15), ("c", "m", None), ("c", "f", 99)]
]


@pytest.mark.parametrize(
    ("margins", "strategy"),
    [(LEVELS, "tree"), (LEVELS, "split"), (LEVELS, "interior"), ("all", "residual"), ("all", "split")],
)
def test_without_noise_every_table_holds_the_clamped_totals(margins: Any, strategy: str) -> None:
    declared = domain()
    plan = plan_of(declared, asked(margins, strategy=strategy))
    tables = {t.name: t for t in silent_tables(plan, declared, ROWS)}
    assert {t.measure for t in tables.values()} == {"total"}
    np.testing.assert_allclose(tables["town x sex"].values, [40, 0, 0, 15, 40, 0], atol=1e-9)
    np.testing.assert_allclose(tables["sex"].values, [80, 15], atol=1e-9)
    np.testing.assert_allclose(tables["total"].values, [95], atol=1e-9)


@pytest.mark.parametrize("margins", [LEVELS, "all"])
@pytest.mark.parametrize("objective", ["cells", "tables", "maximum"])
@pytest.mark.parametrize("has_zeros", [False, True], ids=["", "with impossible cells"])
def test_totals_stay_totals_whatever_is_made_small(margins: Any, objective: str, has_zeros: bool) -> None:
    declared = domain()
    if has_zeros:
        declared = replace(declared, structural_zeros=({"town": ("a",), "sex": ("m",)},))
    request = asked(margins)
    plan = plan_of(declared, {**request, "table": request["table"] | {"objective": objective}})
    tables = {t.name: t for t in silent_tables(plan, declared, ROWS)}
    np.testing.assert_allclose(tables["town x sex"].values, [40, 0, 0, 15, 40, 0], atol=1e-6)
    np.testing.assert_allclose(tables["total"].values, [95], atol=1e-6)
    assert {t.measure for t in tables.values()} == {"total"}


@pytest.mark.parametrize(("margins", "strategy"), [(LEVELS, "tree"), (LEVELS, "split"), ("all", "residual")])
def test_errors_are_those_of_counts_times_what_a_row_can_add(margins: Any, strategy: str) -> None:
    declared = domain()
    totals = plan_of(declared, asked(margins, strategy=strategy))
    request = asked(margins, strategy=strategy)
    request["table"] = {"rows": ["town", "sex"], "margins": margins, "objective": "cells"}
    counts = plan_of(declared, request)
    for of_totals, of_counts in zip(totals.preview["margins"], counts.preview["margins"], strict=True):
        assert of_totals["std_error"] == pytest.approx(40 * of_counts["std_error"], rel=0.02)
    # Published variances are in the unit of the totals, also in the law that inference reads.
    largest = [40**2 * v for v in joint.largest_variances(counts.law)]  # type: ignore[arg-type]
    assert joint.largest_variances(totals.law) == pytest.approx(largest, rel=0.05)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("bounds", [(0, 40), (-20, 30)])
@pytest.mark.parametrize(("margins", "strategy"), [(LEVELS, "tree"), ("all", "residual"), (LEVELS, "split")])
def test_no_tiny_neighbours_cost_more_than_is_charged(
    relation: Relation, bounds: tuple[int, int], margins: Any, strategy: str
) -> None:
    """All records with the ends of the bounds and without a value, through the engine and all that is measured."""
    declared = domain(relation.value, bounds)
    plan = plan_of(declared, asked(margins, strategy=strategy))
    price = largest_price(plan, declared, records(bounds))
    assert 0.7 * 0.5 < price <= 0.5 * (1 + 1e-9)


def records(bounds: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"town": t, "sex": s, "pay": p} for t, s, p in product("abc", "fm", (*bounds, None))]


def test_a_price_that_forgets_rows_that_change_their_sign_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Amounts, "span", property(lambda amounts: 0))
    declared = domain("replace", (-20, 30))
    plan = plan_of(declared, asked("all", strategy="residual"))
    assert largest_price(plan, declared, records((-20, 30))) > 0.55


def test_a_list_is_consistent_and_each_table_knows_its_unit() -> None:
    declared = domain(step="5/2")
    columns = {name: [row[name] for row in ROWS] for name in ("town", "sex", "pay")}
    plan = plan_of(declared, asked())
    release = release_of(plan, declared, columns, {"measure": "total", "of": "pay"}, "totals")
    towns = release.find("town", "sex").values.reshape(3, 2)
    np.testing.assert_allclose(towns[:2].sum(), release.find("town.part").values[0], atol=1e-6)
    np.testing.assert_allclose(towns.sum(), release.find().values, atol=1e-6)
    position = [t.name for t in release.tables].index("town x sex")
    covariance = joint.covariance(release, release.tables[position], range(6))
    np.testing.assert_allclose(np.diag(covariance), release.tables[position].variance)


def test_amounts_that_could_leave_64_bits_are_refused_and_planned_in_halves() -> None:
    declared = domain(bounds=(0, 10**10), step="1")
    with pytest.raises(TooLarge, match="wider step"):
        Amounts.of("pay", declared.variable("pay").bounds).check(6)
    narrow, wide = (plan_of(domain(bounds=(0, top), step="1"), asked("all")) for top in (10**6, 10**10))
    assert narrow.strategy == wide.strategy == "residual"
    assert wide.preview["rmse"] == pytest.approx(10**4 * narrow.preview["rmse"], rel=1e-5)


def test_persons_of_several_rows_pay_for_all_of_them() -> None:
    one, three = (plan_of(domain(max_rows=c), asked("all", strategy="residual")) for c in (1, 3))
    assert three.preview["rmse"] == pytest.approx(3 * one.preview["rmse"], rel=1e-3)


def test_sums_of_totals_are_called_totals_and_follow_no_poisson_law() -> None:
    """Crowns are no records: nothing is known of their sampling, and a total may be negative."""
    declared = domain(bounds=(-40, 40))
    columns = {"town": ["a"] * 99, "sex": ["f"] * 99, "pay": [-40] * 99}
    plan = plan_of(declared, asked(strategy="tree"))
    release = release_of(plan, declared, columns, {"measure": "total", "of": "pay"}, "totals")
    found = total(release, {"town.part": "x"})
    assert found.name == "total of town.part x" and found.interval is not None
    assert found.interval.lower < found.value < found.interval.upper < 0
    here, there = {"town.part": "x"}, {"town.part": "y"}
    for wrong in (
        lambda: total(release, here, kind="parameter"),
        lambda: difference(release, here, there, kind="parameter"),
        lambda: ratio(release, here, there, kind="parameter"),
        lambda: proportion(release, here, kind="parameter"),
        lambda: rate(release, here, 10),
    ):
        with pytest.raises(Unsupported, match="kind 'population'"):
            wrong()
