"""Log-linear models: equal to Poisson regression without noise, Simpson's paradox with it, profile intervals."""

from math import exp, log

import numpy as np
import pytest
from scipy.optimize import brentq

from dalenius.errors import ParameterError, UnknownName
from dalenius.inference import compare, conditional_independence, from_values, logistic, loglinear, odds_ratio
from dalenius.inference.formula import design, model
from dalenius.inference.noise import Noise

# Admit (admitted, rejected) x Gender (male, female) x Dept A-F: R's UCBAdmissions, public facts.
UCB = np.array(
    [
        [[512, 353, 120, 138, 53, 22], [89, 17, 202, 131, 94, 24]],
        [[313, 207, 205, 279, 138, 351], [19, 8, 391, 244, 299, 317]],
    ]
)
NAMES = ("Admit", "Gender", "Dept")
PAIRS = "(Admit + Gender + Dept)^2"
GENDER = "Admit[2]:Gender[2]"


def seen(law, seed: int | None = None):
    plain = from_values(UCB, law, axes=NAMES)
    if seed is None:
        return plain
    noisy = plain.channel.send(UCB, np.random.default_rng(seed))
    return from_values(noisy, law, axes=NAMES)


@pytest.mark.parametrize("formula", ["Admit + Gender + Dept", "Admit*Dept + Gender*Dept", PAIRS])
def test_without_noise_it_is_the_poisson_regression(formula: str) -> None:
    found = loglinear(seen(Noise.none()), formula)
    matrix, labels = design(model(formula, NAMES), found.observation.axes)
    import statsmodels.api as sm

    glm = sm.GLM(UCB.reshape(-1), matrix, family=sm.families.Poisson()).fit(tol=1e-12)
    assert found.fit.coefficients == pytest.approx(glm.params, abs=1e-6)
    assert found.fitted.reshape(-1) == pytest.approx(glm.fittedvalues, rel=1e-6)
    assert found.deviance == pytest.approx(glm.deviance, abs=1e-6)
    errors = [found.coefficients[label].std_error for label in labels]
    assert errors == pytest.approx(glm.bse, rel=1e-5)
    assert found.degrees_of_freedom == glm.df_resid


def test_small_noise_is_nearly_none(laplace) -> None:
    exact, noisy = (loglinear(seen(law), PAIRS) for law in (Noise.none(), laplace("8")))
    assert noisy.fit.coefficients == pytest.approx(exact.fit.coefficients, abs=2e-3)
    assert noisy.deviance == pytest.approx(exact.deviance, rel=0.01)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_simpsons_paradox_is_resolved_the_same_way_at_epsilon_one(laplace, seed: int) -> None:
    law = laplace("1")
    marginal = from_values(UCB.sum(2), law, axes=("Admit", "Gender"))
    noisy = seen(law, seed)
    raw = odds_ratio(marginal)
    assert raw.value == pytest.approx(1198 * 1278 / (1493 * 557), rel=0.01)
    assert raw.interval is not None and raw.interval.lower > 1.5
    adjusted = loglinear(noisy, PAIRS).odds_ratio(GENDER)
    exact = loglinear(seen(Noise.none()), PAIRS).odds_ratio(GENDER)
    # Men seem favoured over the whole university; within departments the odds lean to women, if at all.
    assert adjusted.value < 1 and exact.value < 1
    assert adjusted.interval is not None and 1 in adjusted.interval
    assert exact.interval is not None and 1 in exact.interval
    tested = compare(noisy, "Admit*Dept + Gender*Dept", PAIRS, replicates=199)
    assert tested.p_value > 0.05
    # Department A alone breaks conditional independence, with and without noise.
    assert conditional_independence(noisy, "Admit", "Gender", "Dept", replicates=199).p_value < 0.02


def test_profile_interval_against_a_direct_search() -> None:
    table = np.array([[12, 5], [7, 9]])
    found = odds_ratio(from_values(table, Noise.none()))

    def fitted(ratio: float) -> np.ndarray:
        # The 2 x 2 table with these margins and this odds ratio.
        rows, columns, n = table.sum(1), table.sum(0), table.sum()

        def gap(a: float) -> float:
            return a * (n - rows[0] - columns[0] + a) - ratio * (rows[0] - a) * (columns[0] - a)

        low = max(0.0, rows[0] + columns[0] - n) + 1e-9
        a = brentq(gap, low, min(rows[0], columns[0]) - 1e-9)
        return np.array([[a, rows[0] - a], [columns[0] - a, n - rows[0] - columns[0] + a]])

    def excess(psi: float) -> float:
        return 2 * np.sum(table * np.log(table / fitted(exp(psi)))) - 3.841458821

    centre = log(12 * 9 / 35)
    assert found.value == pytest.approx(12 * 9 / 35, rel=1e-6)
    assert found.interval is not None
    assert found.interval.lower == pytest.approx(exp(brentq(excess, centre - 6, centre)), rel=2e-3)
    assert found.interval.upper == pytest.approx(exp(brentq(excess, centre, centre + 6)), rel=2e-3)


def test_infinite_ends_are_allowed(laplace) -> None:
    found = odds_ratio(from_values([[30, 0], [12, 25]], laplace("0.5")))
    assert found.interval is not None and found.interval.upper == float("inf")
    assert found.interval.lower > 1


def test_logistic_is_the_binomial_regression_without_noise() -> None:
    found = logistic(seen(Noise.none()), "Admit", "Gender + Dept")
    rows, successes = [], []
    for gender in range(2):
        for dept in range(6):
            rows.append([1.0, gender, *(float(dept == k) for k in range(1, 6))])
            successes.append([UCB[1, gender, dept], UCB[0, gender, dept]])
    import statsmodels.api as sm

    glm = sm.GLM(np.array(successes), np.array(rows), family=sm.families.Binomial()).fit(tol=1e-12)
    assert found.coefficients[GENDER].value == pytest.approx(glm.params[1], abs=1e-6)
    assert found.coefficients[GENDER].std_error == pytest.approx(glm.bse[1], rel=1e-4)
    assert found.coefficients["Admit[2]:Dept[6]"].value == pytest.approx(glm.params[6], abs=1e-6)
    assert all("Admit[" in label for label in found.shown)
    assert "Dept[2] " not in str(found).replace("Admit[2]:Dept[2] ", "")


def test_a_thousand_cells_converge(laplace) -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(0, 0.3, s) for s in ((10, 10, 1), (10, 1, 10), (1, 10, 10))]
    mean = 20 * np.exp(sum(parts))
    law = laplace("1")
    noisy = from_values(rng.poisson(mean), law)
    noisy = from_values(noisy.channel.send(noisy.values, rng), law)
    found = loglinear(noisy, "(A+B+C)^2")
    score = noisy.moments(found.fitted).residual
    assert found.fit.is_converged
    for over in range(3):
        assert np.abs(score.sum(over)).max() < 1e-3
    assert np.corrcoef(np.log(found.fitted).reshape(-1), np.log(mean).reshape(-1))[0, 1] > 0.95


def test_standard_errors_grow_with_noise(laplace) -> None:
    quiet, loud = (loglinear(seen(law), PAIRS).coefficients[GENDER].std_error for law in (Noise.none(), laplace("0.1")))
    assert loud > 1.2 * quiet


def test_refusals(laplace) -> None:
    found = loglinear(seen(laplace("1")), PAIRS)
    with pytest.raises(UnknownName):
        found.coefficient("Admit[9]")
    with pytest.raises(ParameterError):
        found.coefficient(GENDER, interval="wald")
    with pytest.raises(ParameterError, match="nested"):
        compare(found.observation, "Admit*Dept", "Gender*Dept")
    with pytest.raises(ParameterError, match="own predictors"):
        logistic(found.observation, "Admit", "Admit + Dept")
    with pytest.raises(UnknownName):
        logistic(found.observation, "Admission", "Dept")
    assert found.to_dict()["notation"] == "[Admit Gender][Admit Dept][Gender Dept]"
    assert found.p_value is None and "not safe" in str(found)
