"""Means whose squares are measured beside the total for nothing: loss of tiny neighbours, both errors, and where it is refused."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.methods.tiny_prices import largest_price

from dalenius.algebra.estimates import estimated
from dalenius.audit.planned import audit_plan
from dalenius.core.domain import CellSpace
from dalenius.core.law import Joint
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block
from dalenius.engines.memory import MemorySource
from dalenius.errors import Unsupported
from dalenius.exact.sampling import sample
from dalenius.spec.load import load_dataset
from dalenius.statistics import Parabola
from dalenius.testing.asking import plan_of

BUDGETS: dict[str, dict[str, Any]] = {"pure": {"epsilon": 1}, "zero_concentrated": {"rho": "1/2"}}


def domain(size: int, high: int = 100, relation: str = "replace") -> Any:
    return load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True, "size": size},
            "unit": {"relation": relation},
            "variables": {
                "x": {"bounds": [0, high], "step": 1, "missing": 0},
                "g": {"categories": ["a", "b"], "missing": "a", "unseen": "a"},
            },
        }
    ).domain()


def asked(definition: str, **more: Any) -> dict[str, Any]:
    table = {"measure": "mean", "of": "x"}
    return {
        "table": {key: value for key, value in (table | more).items() if value is not None},
        "privacy": {"definition": definition, **BUDGETS[definition]},
    }


@pytest.mark.parametrize("high", [4, 5])
def test_tiny_neighbours_lose_what_was_charged_and_no_more(high: int) -> None:
    here = domain(2, high)
    plan = plan_of(here, asked("pure"), {})
    step: Any = plan.measurements[0]

    def sums(values: tuple[int, ...]) -> np.ndarray:
        source = MemorySource(here, {"x": list(values), "g": ["a"] * len(values)}, b"x")
        return step.statistic.combine([source.table(q).open_below_the_gate() for q in step.needs])  # type: ignore[no-any-return]

    made = {values: sums(values) for values in product(range(high + 1), repeat=2)}
    losses = [
        float(step.mechanism.rate) * float(np.abs(made[common, x] - made[common, y]).sum())
        for common, x, y in product(range(high + 1), repeat=3)
    ]
    assert 0.999 <= max(losses) <= 1 + 1e-9
    rho = plan_of(here, asked("zero_concentrated"), {})
    price = largest_price(rho, here, [{"x": x, "g": "a"} for x in range(high + 1)])
    assert 0.499 <= price <= 0.5 + 1e-9


@pytest.mark.parametrize("epsilon", ["1/2", 1, 4])
def test_with_a_delta_neighbours_lose_what_was_charged_and_no_more(epsilon: object) -> None:
    """The shape that is taken may be made for either norm; the noise is priced by the norm that it needs."""
    here = domain(3, 5)
    privacy = {"definition": "approximate", "epsilon": epsilon, "delta": "1e-6"}
    plan = plan_of(here, {"table": {"measure": "mean", "of": "x"}, "privacy": privacy}, {})
    assert 0.9 < audit_plan(here, plan, pairs=40).largest <= 1 + 1e-7


@pytest.mark.parametrize("definition", BUDGETS)
def test_both_errors_for_the_noise_of_one(definition: str) -> None:
    here = domain(1000)
    alone = plan_of(here, asked(definition, error="noise"), {}).preview
    together = plan_of(here, asked(definition), {}).preview
    # Where the number of rows is not public, squares take a twentieth of rho, and are part of the noise of epsilon.
    everybody = {"g": ["a", "b"]}
    apart = plan_of(here, asked(definition, where=everybody), {}).preview
    assert together["std_error"] == pytest.approx(alone["std_error"], rel=0.01)
    assert together["std_error"] < 0.98 * apart["std_error"]
    assert together["std_error_with_sampling"] < apart["std_error_with_sampling"]


@pytest.mark.parametrize("definition", BUDGETS)
def test_intervals_cover(definition: str) -> None:
    """Nominal 95 %, 2,000 samples of 1,000 ages; a binomial test at .0005 rejects below 93.4 %."""
    runs, n = 2000, 1000
    plan = plan_of(domain(n), asked(definition), {})
    step: Any = plan.measurements[0]
    basis = step.statistic.basis
    chances = np.arange(1, 102)[::-1] ** 0.7
    chances = chances / chances.sum()
    counts = np.random.default_rng(12).multinomial(n, chances, runs)
    x = np.arange(101)
    exact = np.stack([basis.first * counts @ x, basis.second * counts @ (x - basis.centre) ** 2], axis=-1)
    noise = sample(step.mechanism, 2 * runs, RecordedRandomness("together"))
    block = Block(name=step.name, space=CellSpace(()), values=exact.reshape(-1) + noise, law=step.law)
    assert isinstance(plan.law, Joint)
    told = estimated(plan.law, (block,), runs)
    lower, upper = told.ends(0.95, True)
    assert 0.934 <= float(((lower <= chances @ x) & (chances @ x <= upper)).mean()) <= 0.966
    lower, upper = told.ends(0.95, False)
    means = counts @ x / n
    assert 0.934 <= float(((lower <= means) & (means <= upper)).mean()) <= 0.966


@pytest.mark.parametrize(
    ("relation", "more"), [("add-remove", {}), ("replace", {"rows": ["g"]}), ("replace", {"error": "noise"})]
)
def test_elsewhere_squares_are_measured_by_themselves_or_not_at_all(relation: str, more: dict[str, Any]) -> None:
    plan = plan_of(domain(10, relation=relation), asked("pure", **more), {})
    steps: Any = plan.measurements
    assert not any(isinstance(step.statistic.basis, Parabola) for step in steps)


def test_bounds_that_are_one_number_have_no_mean_to_estimate() -> None:
    with pytest.raises(Unsupported):
        plan_of(domain(10, high=0), asked("pure"), {})
