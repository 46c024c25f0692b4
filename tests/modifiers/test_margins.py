"""Margins: sums add up, and the number of each shown cell is made of its own sums, for every estimator."""

import numpy as np
import pytest
from tests.modifiers.asked import COLUMNS, plan, release

from dalenius.modifiers.margins import MARGINS

LIST = {"rows": ["g", "h"], "margins": [["g", "h"], ["h"], []]}
X, Y = (np.array(COLUMNS[name], dtype=float) for name in "xy")
TRUTHS = {
    "mean": X.mean(),
    "total": X.sum(),
    "ratio": X.sum() / Y.sum(),
    "variance": X.var(ddof=1),
    "standard_deviation": X.std(ddof=1),
    "covariance": np.cov(X, Y)[0, 1],
    "correlation": np.corrcoef(X, Y)[0, 1],
}


@pytest.mark.parametrize("measure", TRUTHS)
def test_every_estimator_has_numbers_of_every_margin(measure: str) -> None:
    made = release(measure, **LIST, rho=500)
    shown = [table for table in made.tables if table.measure == measure]
    assert [len(table.space.axes) for table in shown] == [2, 1, 0]
    assert shown[-1].values[0] == pytest.approx(TRUTHS[measure], rel=0.02)


@pytest.mark.parametrize("measure", [measure for measure in TRUTHS if measure != "total"])
def test_both_errors_are_stated_for_every_margin(measure: str) -> None:
    made = plan(measure, **LIST)
    for margin in made.preview["margins"]:
        assert margin["std_error_with_sampling"] > margin["std_error"] > 0
    assert "std_error_with_sampling" not in plan(measure, **LIST, error="noise").preview["margins"][0]


def test_the_mean_of_all_is_that_of_its_parts_weighted_by_released_counts() -> None:
    tables = release("mean", **LIST).tables
    means, counts = tables[:3], tables[3:6]
    np.testing.assert_allclose(
        (means[1].values * counts[1].values).sum() / counts[1].values.sum(), means[2].values[0], rtol=1e-9
    )


def test_it_comes_after_products() -> None:
    assert (MARGINS.place, MARGINS.owns) == (70, "finish")
