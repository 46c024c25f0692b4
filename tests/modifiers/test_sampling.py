"""The error of sampling: on unless it is left out, from products of what rows add, times the rows of a unit."""

from itertools import product

import numpy as np
import pytest
from tests.modifiers.asked import COLUMNS, TABLES, domain, plan, release

from dalenius.algebra.estimate_law import EstimateLaw
from dalenius.modifiers.sampling import SAMPLING

X, Y = (np.array(COLUMNS[name], dtype=float) for name in "xy")


@pytest.mark.parametrize("measure", TABLES)
def test_every_estimator_has_both_errors_or_that_of_the_noise_alone(measure: str) -> None:
    both, noise = plan(measure, error="sampling"), plan(measure, error="noise")
    assert both.preview["std_error_with_sampling"] > both.preview["std_error"]
    assert "std_error_with_sampling" not in noise.preview
    assert noise.preview["std_error"] <= both.preview["std_error"] * 1.001
    assert any("noise alone" in each for each in noise.warnings)
    assert release(measure, error="noise").table.sampled is None


@pytest.mark.parametrize("measure", [measure for measure in TABLES if measure != "total"])
def test_it_is_what_a_plain_question_has(measure: str) -> None:
    assert plan(measure).law == plan(measure, error="sampling").law


def test_it_is_the_textbooks_error() -> None:
    mean, ratio = (release(measure, rho=500).table for measure in ("mean", "ratio"))
    assert mean.sampled - mean.variance == pytest.approx(X.var(ddof=1) / len(X), rel=0.01)
    residuals = X - X.sum() / Y.sum() * Y
    assert ratio.sampled - ratio.variance == pytest.approx(residuals @ residuals / Y.sum() ** 2, rel=0.01)


@pytest.mark.parametrize(("measure", "rows"), product(("mean", "variance", "correlation"), (1, 3)))
def test_units_with_several_rows_multiply_it(measure: str, rows: int) -> None:
    made = plan(measure, domain(max_rows=rows))
    assert EstimateLaw.of(made.law).rows_per_unit == rows  # type: ignore[arg-type]
    assert any(f"may have {rows} rows" in each for each in made.warnings) == (rows > 1)


def test_it_is_made_of_mapped_sums() -> None:
    assert (SAMPLING.place, SAMPLING.owns) == (60, "has_sampling")
