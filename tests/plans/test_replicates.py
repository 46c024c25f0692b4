"""Bootstrap errors by request: what is planned and charged, what is refused before anything is spent, and what comes out."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.algebra.estimates import estimated
from dalenius.algebra.tabulation import sampled_bounds
from dalenius.core.domain import Bounds, Categories, CellSpace, Domain, Variable
from dalenius.core.law import Additive, Joint
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block
from dalenius.curator.curator import Curator
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.inference.cells import intervals
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.testing.asking import plan_of

MEAN = {"measure": "mean", "of": "age", "error": "bootstrap"}
APPROXIMATE = {"definition": "approximate", "epsilon": 4, "delta": "1/1000000"}
CONCENTRATED = {"definition": "zero_concentrated", "rho": "1/2", "delta": "1/1000000"}
GENERATOR = np.random.default_rng(17)
ROWS = {
    "sex": GENERATOR.choice(["f", "m"], 3000).tolist(),
    "age": GENERATOR.integers(20, 61, 3000).tolist(),
    "pay": GENERATOR.integers(0, 900_000, 3000).tolist(),
}


def domain_of(relation: Relation = Relation.REPLACE, rows: int = 1, size: int | None = 3000) -> Domain:
    return Domain(
        name="d",
        population="p",
        version="1",
        variables={
            "sex": Variable(name="sex", domain=Categories(labels=("f", "m"))),
            "age": Variable(name="age", domain=Bounds(lower=Fraction(0), upper=Fraction(99), missing="0")),
            "pay": Variable(name="pay", domain=Bounds(lower=Fraction(0), upper=Fraction(10**6), missing="0")),
        },
        neighbours=Neighbours(relation=relation, max_rows=rows),
        public_size=size if relation is Relation.REPLACE else None,
    )


def test_the_account_is_charged_the_rho_of_the_loss_distribution() -> None:
    plan = plan_of(domain_of(), {"table": MEAN, "privacy": APPROXIMATE})
    (step,) = plan.measurements
    profile = step.profile(plan.neighbours)
    rho, delta = profile.zero_concentrated()
    assert plan.reservation.rho == rho and plan.reservation.delta == delta == Fraction(1, 10**6)
    assert 0.3 < float(rho) < 0.4 and profile.delta_at(Fraction(4)) <= Fraction(1, 10**6)
    assert plan.reservation.epsilon is None
    # The default number of replicates, on a grid of half steps, because the midpoint 49.5 is no step.
    assert plan.law.parameters["replicates"] == 50 and plan.law.parameters["factor"] == "2"  # type: ignore[union-attr]


def test_a_plan_says_which_interval_is_shorter_before_anything_is_spent() -> None:
    plan = plan_of(domain_of(), {"table": MEAN, "privacy": CONCENTRATED})
    assert any("which is recommended" in warning for warning in plan.warnings)
    assert plan.preview["std_error_with_sampling"] > plan.preview["std_error"] > 0


@pytest.mark.parametrize(
    ("table", "privacy", "word"),
    [
        (MEAN, {"definition": "pure", "epsilon": 1}, "without a delta"),
        (MEAN, {"definition": "zero_concentrated", "rho": 1}, "without a delta"),
        (MEAN, APPROXIMATE | {"mechanism": "discrete_laplace"}, "discrete Gaussian"),
        (MEAN, APPROXIMATE | {"delta": "1/100000000000000"}, "too small"),
        (MEAN | {"replicates": 1}, APPROXIMATE, "between 2 and 200"),
        (MEAN | {"replicates": 201}, APPROXIMATE, "between 2 and 200 .* or 1,000 for one in rho"),
        (MEAN | {"replicates": 1001}, CONCENTRATED, "between 2 and 1,000"),
        (MEAN | {"replicates": 1000}, CONCENTRATED | {"rho": 1}, "at most 200 replicates are priced"),
        (MEAN | {"error": "sampling", "replicates": 50}, APPROXIMATE, "replicates"),
    ],
)
def test_what_cannot_be_priced_is_refused_by_the_plan(
    table: dict[str, Any], privacy: dict[str, Any], word: str
) -> None:
    with pytest.raises((Unsupported, ParameterError, TooLarge), match=word):
        plan_of(domain_of(), {"table": table, "privacy": privacy})


def test_a_thousand_replicates_are_priced_for_a_budget_in_rho() -> None:
    plan = plan_of(domain_of(), {"table": MEAN | {"replicates": 1000}, "privacy": CONCENTRATED | {"rho": "1/100"}})
    assert Fraction(99, 10000) < plan.reservation.rho <= Fraction(1, 100)


def test_units_of_several_rows_are_priced_with_published_multiplicities_and_too_many_are_refused() -> None:
    table = MEAN | {"rows": ["sex"], "replicates": 25}
    plans = [
        plan_of(domain_of(Relation.ADD_REMOVE, rows=rows), {"table": table, "privacy": APPROXIMATE}) for rows in (1, 4)
    ]
    one, four = (plan.measurements[0] for plan in plans)
    assert "rows" not in one.law.parameters and four.law.parameters["rows"] == 4  # type: ignore[union-attr]
    # The root of the mean square of Poisson(4) copies against that of one hidden row.
    ratio = float(four.price.sigma_squared / one.price.sigma_squared)  # type: ignore[attr-defined]
    assert 16 < ratio < 40
    assert any("4 rows" in warning for warning in plans[1].warnings)
    assert plans[1].preview["std_error_with_sampling"] > 1.9 * plans[0].preview["std_error_with_sampling"]
    with pytest.raises(Unsupported, match="at most 6 rows"):
        plan_of(domain_of(Relation.ADD_REMOVE, rows=7), {"table": table, "privacy": APPROXIMATE})
    group = plan_of(domain_of(size=None), {"table": MEAN, "privacy": APPROXIMATE | {"group": 2}})
    assert group.measurements[0].price.rows == 2  # type: ignore[attr-defined]


def test_a_release_of_the_older_question_is_read_as_it_was() -> None:
    """No sums in its law, and the number of rows in a block of its own."""
    law = Joint(
        "estimate",
        {
            "estimate": "bootstrap",
            "of": "mean",
            "is_quotient": True,
            "centre": "50",
            "factor": "1",
            "scale": "1",
            "replicates": 4,
            "sigma_squared": "100",
            "reach": 50,
            "limits": ["0", "100"],
        },
    )
    replicates = Block(
        name="replicates", space=CellSpace(()), values=np.array([-90, -110, -95, -105]), law=law, role="replicates"
    )
    counted = Block(
        name="count", space=CellSpace(()), values=np.array([20]), law=Additive(DiscreteGaussian(Fraction(4)))
    )
    made = estimated(law, (replicates, counted), 1)
    assert made.values == pytest.approx([45.0]) and made.counts is not None
    assert made.counts.values == pytest.approx([20.0]) and made.counts.variance[0] == pytest.approx(4, rel=1e-3)
    spread = np.var([-90, -110, -95, -105], ddof=1)
    assert made.variance[0] == pytest.approx((spread / 4 + 25 * made.counts.variance[0]) / 400)


def test_squares_of_what_rows_add_are_measured_beside() -> None:
    plan = plan_of(domain_of(), {"table": MEAN, "privacy": APPROXIMATE})
    assert plan.measurements[0].sums == ("squares",)  # type: ignore[attr-defined]


DATASET = {
    "dataset": {"name": "people", "population": "people", "version": "1", "size": 3000, "public": True},
    "unit": {"relation": "replace"},
    "variables": {
        "sex": {"categories": ["f", "m"]},
        "age": {"bounds": [0, 99], "step": 1, "missing": 0},
        "pay": {"bounds": [0, 1000000], "step": 1, "missing": 0},
    },
}


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    ledger: Path = tmp_path_factory.mktemp("replicates") / "ledger.sqlite"
    policy = {"budget": {"rho": 9, "delta": "1/1000"}}
    with Curator.open(DATASET, data=ROWS, ledger=ledger, policy=policy, rng=RecordedRandomness("replicates")) as opened:
        opened.register(by="custodian")
        yield opened


def test_means_totals_and_proportions_come_with_both_errors(curator: Any) -> None:
    """Recorded noise; every truth lies within five standard errors, and sampling errors are near those of the rows."""
    ages, sexes = np.array(ROWS["age"]), np.array(ROWS["sex"])
    mean = curator.release({"table": MEAN, "privacy": APPROXIMATE})
    table = mean.tables[0]
    assert abs(table.values[0] - ages.mean()) <= 5 * table.std_error[0] < 5
    exact = ages.std(ddof=1) / np.sqrt(3000)
    assert table.std_error_with_sampling[0] < 12 * exact
    low, high = sampled_bounds(mean, table)
    assert low[0] < ages.mean() < high[0]
    assert "calibrated" in intervals(mean, kind="parameter").method
    skew, usual = (intervals(mean, kind="parameter", method=how).at(0) for how in ("deconvolution", "exact"))
    assert skew.lower <= usual.lower and skew.upper >= usual.upper and skew.width < 2 * usual.width
    with pytest.raises(Unsupported, match="bootstrap"):
        intervals(mean, kind="population", method="deconvolution")
    share = curator.release(
        {
            "table": {"measure": "proportion", "of": "sex", "among": ["f"], "error": "bootstrap", "per": 100},
            "privacy": CONCENTRATED,
        }
    ).tables[0]
    assert abs(share.values[0] - 100 * (sexes == "f").mean()) <= 5 * share.std_error[0] < 25


def test_values_too_many_to_be_counted_one_by_one_are_listed(curator: Any) -> None:
    """A table by sex under replace: the number of rows of a cell is private, and totals are not centred."""
    release = curator.release(
        {
            "table": {"rows": ["sex"], "measure": "total", "of": "pay", "error": "bootstrap", "replicates": 25},
            "privacy": APPROXIMATE,
        }
    )
    pay, sexes = np.array(ROWS["pay"]), np.array(ROWS["sex"])
    table = release.tables[0]
    truth = np.array([pay[sexes == sex].sum() for sex in ("f", "m")])
    assert np.all(np.abs(table.values - truth) <= 5 * table.std_error)
    # The error of sampling is that of a total of a random number of rows.
    expected = np.array([np.sqrt((pay[sexes == sex].astype(float) ** 2).sum()) for sex in ("f", "m")])
    sampling = np.sqrt(table.sampled - table.variance)
    assert np.all(sampling < 4 * expected)
