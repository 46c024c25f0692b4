"""How records were drawn decides which analyses of the process behind them are served, and what they say."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from verify._recorded import release_of

from dalenius.core.estimate import Draws
from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.inference import independence, loglinear, posterior
from dalenius.inference.association import cramers_v
from dalenius.inference.calibration import calibrate
from dalenius.inference.cells import intervals
from dalenius.inference.contrast import difference, total
from dalenius.inference.formula import independent
from dalenius.inference.goodness_of_fit import goodness_of_fit
from dalenius.inference.observation import from_values
from dalenius.inference.observe import observe
from dalenius.inference.questions import binomial
from dalenius.inference.questions.parametric_bootstrap import parametric_bootstrap
from dalenius.inference.quotient import ratio
from dalenius.testing.asking import plan_of
from dalenius.testing.toy import toy_domain

CELL = {"sex": "female"}
PARAMETERS: dict[str, Callable[[Release], Any]] = {
    "intervals": lambda r: intervals(r, kind="parameter"),
    "total": lambda r: total(r, CELL, kind="parameter"),
    "difference": lambda r: difference(r, CELL, {"sex": "male"}, kind="parameter"),
    "ratio": lambda r: ratio(r, CELL, {"sex": "male"}, kind="parameter"),
}
TESTS: dict[str, Callable[[Release], Any]] = {
    "independence": lambda r: independence(r, replicates=99),
    "loglinear": lambda r: loglinear(r, "sex + region"),
}
WITHOUT_ROWS: dict[str, Callable[[Release], Any]] = {
    "goodness of fit": lambda r: goodness_of_fit(r, replicates=99),
    "cramers_v": lambda r: cramers_v(r, replicates=99),
    "binomial": lambda r: binomial.ask(r, {"sex": "female", "region": "north"}, 400),
}


def released(draws: str = "", max_rows: int = 1) -> Release:
    """Counts of two axes that have nothing to do with one another."""
    domain = toy_domain(unit_id="person" if max_rows > 1 else None, max_rows=max_rows)
    domain = replace(domain, draws=Draws(draws), structural_zeros=())
    rng, n = np.random.default_rng(3), 600
    columns = {
        "person": [str(k) for k in range(n)],
        "sex": rng.choice(["female", "male"], n).tolist(),
        "region": rng.choice(["north", "east", "south", "west"], n).tolist(),
        **{name: [None] * n for name in ("status", "age", "income")},
    }
    request = {"table": {"rows": ["sex"], "columns": ["region"]}, "privacy": {"definition": "pure", "epsilon": 2}}
    return release_of(plan_of(domain, request, {}), domain, columns, request, "drawn")


def _said(answer: Any) -> str:
    notes = getattr(answer, "assumptions", None) or getattr(answer, "notes", None) or answer.to_dict()["assumptions"]
    return " ".join(notes)


@pytest.mark.parametrize("name", [*PARAMETERS, *TESTS, *WITHOUT_ROWS])
def test_clusters_are_refused_and_other_draws_are_named(name: str) -> None:
    ask = {**PARAMETERS, **TESTS, **WITHOUT_ROWS}[name]
    with pytest.raises(Unsupported, match="drawn in clusters"):
        ask(released("clusters"))
    assert "if the records were drawn independently" in _said(ask(released()))
    assert "declares that its records were drawn independently" in _said(ask(released("independent")))
    if name in PARAMETERS:
        with pytest.raises(Unsupported, match="census"):
            ask(released("census"))
    else:
        assert "The data are a census" in _said(ask(released("census")))


@pytest.mark.parametrize("name", [*PARAMETERS, *TESTS])
def test_rows_of_a_unit_are_allowed_for(name: str) -> None:
    ask = {**PARAMETERS, **TESTS}[name]
    assert "multiplied by 3" in _said(ask(released(max_rows=3)))


@pytest.mark.parametrize("name", WITHOUT_ROWS)
def test_rows_of_a_unit_are_refused_where_nothing_allows_for_them(name: str) -> None:
    with pytest.raises(Unsupported, match="A unit may have 3 rows"):
        WITHOUT_ROWS[name](released(max_rows=3))
    with pytest.raises(Unsupported, match="A unit may have 3 rows"):
        parametric_bootstrap(released(max_rows=3))


def test_questions_about_the_population_are_answered_whatever_the_design() -> None:
    for draws in Draws:
        for rows in (1, 3):
            release = released(str(draws), rows)
            assert not intervals(release).notes
            assert not total(release, CELL).assumptions
            assert posterior(release, draws=20, burn_in=5).mean.sum() > 500


def test_parameter_intervals_of_units_with_three_rows_are_wider_by_the_root_of_three() -> None:
    one, three = (intervals(released(max_rows=rows), kind="parameter") for rows in (1, 3))
    ratios = (three.upper - three.lower) / (one.upper - one.lower)
    assert np.all((ratios > 1.5) & (ratios < 1.8))


def test_three_equal_rows_keep_the_level_of_a_test_of_independence() -> None:
    """The naive test of such counts rejects a third of the time at 5 %."""
    rng = np.random.default_rng(11)
    law = released().blocks[0].law
    rejected = np.zeros(2)
    runs = 60
    for number in range(runs):
        counts = 3 * rng.poisson(30, (3, 3)) + rng.geometric(0.7, (3, 3)) - rng.geometric(0.7, (3, 3))
        for place, rows in enumerate((1, 3)):
            seen = observe(replace(from_values(counts, law), rows=rows), takes_weights=True)
            level = calibrate(seen, independent(seen.names), replicates=99, seed=number)
            rejected[place] += level.p_value <= 0.05
    assert rejected[0] / runs > 0.2
    assert rejected[1] / runs < 0.14
