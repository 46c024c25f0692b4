"""Lists of means: counts, totals and means that agree with each other and along levels."""

from typing import Any

import numpy as np
import pytest
from tests.methods.tiny_prices import largest_price, silent_tables
from verify._recorded import release_of

from dalenius.core.neighbours import Relation
from dalenius.inference.cells import intervals
from dalenius.shown import speech
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

COLUMNS: dict[str, list[Any]] = {
    "town": ["a"] * 30 + ["b"] * 20 + ["c"] * 50,
    "sex": ["f", "m"] * 50,
    "pay": [10, 25, None, 40] * 25,
}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
TABLE: dict[str, Any] = {
    "rows": ["town", "sex"],
    "measure": "mean",
    "of": "pay",
    "margins": [["town", "sex"], ["town.part"], []],
}
ZCDP = {"definition": "zero_concentrated", "rho": "1/2"}


def domain(relation: str = "add-remove") -> Any:
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
                "pay": {"bounds": [0, 40], "step": "1/2", "missing": "drop"},
            },
        }
    ).domain()


def test_without_noise_means_are_totals_over_the_rows_that_have_the_number() -> None:
    declared = domain()
    tables = silent_tables(plan_of(declared, {"table": TABLE, "privacy": ZCDP}), declared, ROWS)
    assert [t.measure for t in tables] == ["mean"] * 3 + ["count"] * 3 + ["total"] * 3
    np.testing.assert_allclose(tables[2].values, [25])
    np.testing.assert_allclose(tables[5].values, [75])
    np.testing.assert_allclose(tables[8].values, [75 * 25])


def test_released_means_agree_with_counts_and_totals_and_along_levels() -> None:
    declared = domain()
    plan = plan_of(declared, {"table": TABLE, "privacy": ZCDP})
    release = release_of(plan, declared, COLUMNS, {"measure": "mean", "of": "pay"}, "means")
    means, counts, totals = release.tables[:3], release.tables[3:6], release.tables[6:]
    for mean, count, total in zip(means, counts, totals, strict=True):
        np.testing.assert_allclose(mean.values * count.values, total.values)
    parts = (means[1].values * counts[1].values).sum() / counts[1].values.sum()
    np.testing.assert_allclose(parts, means[2].values)
    made = intervals(release)
    assert (made.lower >= 0).all()
    assert (made.upper <= 40).all()
    assert (made.lower <= made.values).all()
    assert (made.values <= made.upper).all()
    said = speech.expectation("mean", plan.preview, lambda number: f"{number:.1f}")
    assert said[-1].startswith("Of 1000.0 records in all, expect the estimate")


@pytest.mark.parametrize("relation", Relation)
def test_no_tiny_neighbours_cost_more_than_is_charged(relation: Relation) -> None:
    declared = domain(relation.value)
    plan = plan_of(declared, {"table": TABLE, "privacy": ZCDP})
    rows = [{"town": t, "sex": s, "pay": p} for t in "abc" for s in "fm" for p in (0, 40, None)]
    assert largest_price(plan, declared, rows) <= 0.5 * (1 + 1e-9)


@pytest.mark.parametrize("error", [None, "sampling", "noise"])
def test_a_list_has_the_error_of_sampling_unless_it_asks_for_the_noise_alone(error: str | None) -> None:
    table = TABLE if error is None else TABLE | {"error": error}
    plan = plan_of(domain(), {"table": table, "privacy": ZCDP})
    release = release_of(plan, domain(), COLUMNS, table, "error")
    has_sampling = error != "noise"
    assert all((t.sampled is not None) == has_sampling for t in release.tables if t.measure == "mean")
    assert ("std_error_with_sampling" in plan.preview["margins"][0]) == has_sampling


def test_the_error_of_sampling_of_a_list_is_that_of_the_textbook_at_every_level() -> None:
    plan = plan_of(domain(), {"table": TABLE, "privacy": ZCDP | {"rho": 400}})
    columns = {name: column * 100 for name, column in COLUMNS.items()}
    release = release_of(plan, domain(), columns, TABLE, "sampling")
    whole = release.tables[2]
    pay = np.array([value for value in columns["pay"] if value is not None], dtype=float)
    assert whole.sampled is not None
    np.testing.assert_allclose(whole.sampled - whole.variance, pay.var(ddof=1) / len(pay), rtol=0.02)
