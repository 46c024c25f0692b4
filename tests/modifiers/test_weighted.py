"""Weights: every sum is one of w times what it was, for every estimator."""

import numpy as np
import pytest
from tests.modifiers.asked import COLUMNS, TABLES, plan, release

from dalenius.algebra.estimate_law import EstimateLaw
from dalenius.errors import ParameterError, Unsupported
from dalenius.modifiers.weighted import WEIGHTED

W, X, Y = (np.array(COLUMNS[name], dtype=float) for name in "wxy")
IN = np.array(COLUMNS["g"]) == "a"


def centred(values: np.ndarray) -> np.ndarray:
    return np.asarray(values - W @ values / W.sum())


TRUTHS = {
    "mean": W @ X / W.sum(),
    "total": W @ X,
    "proportion": W @ IN / W.sum(),
    "ratio": W @ X / (W @ Y),
    "variance": W @ centred(X) ** 2 / W.sum(),
    "standard_deviation": np.sqrt(W @ centred(X) ** 2 / W.sum()),
    "covariance": W @ (centred(X) * centred(Y)) / W.sum(),
    "correlation": W @ (centred(X) * centred(Y)) / np.sqrt((W @ centred(X) ** 2) * (W @ centred(Y) ** 2)),
}


@pytest.mark.parametrize("measure", TABLES)
def test_every_estimator_is_that_of_weighted_rows(measure: str) -> None:
    made = release(measure, weight="w", rho=500)
    assert made.table.values[0] == pytest.approx(TRUTHS[measure], rel=0.02)
    assert made.table.sampled is not None and made.table.sampled[0] > made.table.variance[0]


@pytest.mark.parametrize("measure", TABLES)
def test_weights_that_are_all_one_tell_what_no_weights_tell(measure: str) -> None:
    plain, weighted = release(measure, error="sampling", rho=500), release(measure, weight="one", rho=500)
    assert plain.table.sampled is not None and weighted.table.sampled is not None
    assert weighted.table.values[0] == pytest.approx(plain.table.values[0], rel=0.02)
    errors = [np.sqrt(each.table.sampled - each.table.variance) for each in (plain, weighted)]
    assert errors[1] == pytest.approx(errors[0], rel=0.05)


def test_the_law_says_by_which_step_rows_count() -> None:
    law = plan("mean", weight="w").law
    assert EstimateLaw.of(law).weight == 1  # type: ignore[arg-type]
    assert EstimateLaw.of(plan("mean").law).weight is None  # type: ignore[arg-type]


def test_weights_that_share_a_variable_or_a_share_that_is_none_are_refused() -> None:
    with pytest.raises(Unsupported, match="different variables"):
        plan("mean", weight="w", of="w")
    for part in (0, 1, "1/101"):
        with pytest.raises(ParameterError, match="regularise"):
            plan("mean", weight="w", regularise=part)
    with pytest.raises(Unsupported, match="regularised where a mean"):
        plan("total", weight="w", regularise="1/2")


def test_it_comes_before_what_reads_weights() -> None:
    assert (WEIGHTED.place, WEIGHTED.owns) == (20, "weight")
