"""Tests on weighted tables: the dispersion that squared weights say, known answers without noise, and who is refused."""

from typing import Any

import numpy as np
import pytest
from verify._recorded import release_of

from dalenius.errors import Unsupported
from dalenius.inference import compare, independence, loglinear
from dalenius.inference.cells import intervals
from dalenius.inference.weighted_table import dispersion, of_weighted
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

POLICY = {"allow": {"acknowledge": ["fixed_weights"]}}
CATEGORIES: dict[str, Any] = {"categories": ["u", "v", "x"], "missing": "u", "unseen": "u"}


def released(
    rho: object = 1000, *, is_listed: bool = True, dependent: bool = False, n: int = 3000, draws: str = "independent"
) -> Any:
    domain = load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "design": {"draws": draws} if draws else None,
            "variables": {
                "a": CATEGORIES,
                "b": CATEGORIES,
                "w": {"weight": True, "bounds": [0, 4], "step": "0.5", "missing": 1},
            },
        }
    ).domain()
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 3, n), rng.integers(0, 3, n)
    if dependent:
        b = np.where(rng.random(n) < 0.2, a, b)
    w = np.where(a == 0, 4.0, rng.integers(1, 5, n) / 2)
    columns = {"a": [CATEGORIES["categories"][k] for k in a], "b": [CATEGORIES["categories"][k] for k in b], "w": w}
    more = {"margins": [["a", "b"], ["a"], []]} if is_listed else {}
    request = {
        "table": {"rows": ["a"], "columns": ["b"], "weight": "w", **more},
        "privacy": {"definition": "zero_concentrated", "rho": rho},
    }
    made = release_of(plan_of(domain, request, POLICY), domain, columns, request, "weighted")
    return made, (a, b, w)


@pytest.mark.parametrize("is_listed", [True, False])
def test_without_noise_cells_and_dispersions_are_those_of_the_records(is_listed: bool) -> None:
    release, (a, b, w) = released(is_listed=is_listed)
    for names in (("a", "b"), ("b", "a"), ("b",)):
        seen = of_weighted(release, names)
        columns = {"a": a, "b": b}
        weights, squares = np.zeros((2, *seen.shape))
        for place in np.ndindex(*seen.shape):
            inside = np.all([columns[name] == k for name, k in zip(names, place, strict=True)], axis=0)
            weights[place], squares[place] = w[inside].sum(), (w[inside] ** 2).sum()
        np.testing.assert_allclose(seen.values, weights, atol=1.5)
        assert seen.dispersion is not None
        np.testing.assert_allclose(seen.dispersion, squares / weights, rtol=0.01)


def test_the_test_knows_the_design() -> None:
    """Against the quadratic form with the design's own covariance, computed row by row."""
    release, (a, b, w) = released()
    cells = 3 * a + b
    weights, squares = np.bincount(cells, w, 9), np.bincount(cells, w**2, 9)
    found = independence(release, "a", "b", replicates=0, method="chi-square")
    plain = weights.reshape(3, 3)
    mean = np.outer(plain.sum(1), plain.sum(0)) / plain.sum()
    for _ in range(200):
        # Weighted least squares of the independent table: its margins solve the same equations.
        spread = (squares / weights * mean.reshape(-1)).reshape(3, 3)
        design = np.array(
            [[i == k for k in range(3)] + [j == k for k in (1, 2)] for i in range(3) for j in range(3)], float
        )
        scaled = mean.reshape(-1)[:, None] * design
        step = np.linalg.solve(
            scaled.T @ (scaled / spread.reshape(-1, 1)), scaled.T @ ((plain - mean) / spread).reshape(-1)
        )
        mean = mean * np.exp(design @ step).reshape(3, 3)
    distance = float(((plain - mean) ** 2 / spread).sum())
    assert found.statistic == pytest.approx(distance, rel=0.02)


def test_dependence_is_found_and_models_are_fitted() -> None:
    release, _ = released(rho=1, dependent=True)
    assert independence(release, "a", "b", replicates=99).p_value <= 0.02
    assert compare(release, "a + b", None, "a", "b", replicates=99).p_value <= 0.02
    fit = loglinear(release, "a + b", "a", "b")
    counted, _ = released(rho=1)
    told = independence(counted, "a", "b", replicates=99)
    assert told.p_value > 0.05 and "weights that were fixed" in told.assumptions[0]
    # The standard error is that of weighted records: larger than that of as many counted ones.
    assert all(one.std_error > 1 / np.sqrt(fit.fitted.sum()) for one in fit.coefficients.values())


@pytest.mark.parametrize("noise", [0.0, 1e2, 1e6, 1e12])
def test_dispersions_stay_in_the_declared_range_and_noise_makes_them_larger(noise: float) -> None:
    weights, squares = np.array([100.0, 400.0, -3.0]), np.array([300.0, 800.0, 10.0])
    found = dispersion(weights, squares, noise * np.eye(3), (1.0, 5.0))
    assert (found >= 1).all() and (found <= 5).all()
    if noise == 0:
        np.testing.assert_allclose(found[:2], [3.0, 2.0])
    if noise == 1e12:
        np.testing.assert_allclose(found, 5.0)


def test_what_knows_nothing_of_weights_still_refuses_them() -> None:
    release, _ = released()
    with pytest.raises(Unsupported):
        intervals(release, "a", "b", kind="parameter")
    with pytest.raises(Unsupported, match="total"):
        independence(release, "a", "b", total=3000)


@pytest.mark.parametrize(("draws", "said"), [("", "says how its records were drawn"), ("clusters", "in clusters")])
def test_without_a_design_of_independent_draws_weighted_tables_are_not_tested(draws: str, said: str) -> None:
    release, _ = released(draws=draws)
    for analysis in (lambda: independence(release, "a", "b"), lambda: loglinear(release, "a + b", "a", "b")):
        with pytest.raises(Unsupported, match=said):
            analysis()
