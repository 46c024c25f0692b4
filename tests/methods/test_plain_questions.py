"""A question without any key has the best known plan: nothing is kept for those who asked before."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from verify import _spines as spines
from verify._recorded import release_of

from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_dataset, load_request
from dalenius.testing.asking import plan_of

RHO = {"definition": "zero_concentrated", "rho": "1/2"}


def numbers(relation: str) -> Any:
    document = {
        "dataset": {"name": "d", "population": "p", "public": True, "size": 1000},
        "unit": {"relation": relation},
        "variables": {"x": {"bounds": [0, 100], "step": 1, "missing": 0}},
    }
    return load_dataset(document).domain()


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_mean_has_both_errors(relation: str) -> None:
    domain = numbers(relation)
    plain = {"table": {"measure": "mean", "of": "x"}, "privacy": RHO}
    stated = {"table": {"measure": "mean", "of": "x", "error": "sampling"}, "privacy": RHO}
    plan = plan_of(domain, plain, {})
    assert {"std_error", "std_error_with_sampling"} <= plan.preview.keys()
    assert canonical(load_request(plain), domain).digest == canonical(load_request(stated), domain).digest


@pytest.mark.parametrize("epsilon", ["3/10", 1, 4])
def test_a_delta_never_costs_a_mean_its_accuracy(epsilon: object) -> None:
    """What is (epsilon, 0) is (epsilon, delta) too."""
    table = {"measure": "mean", "of": "x"}
    pure = {"definition": "pure", "epsilon": epsilon}
    errors = [
        plan_of(numbers("replace"), {"table": table, "privacy": privacy}, {}).preview["std_error"]
        for privacy in (pure, pure | {"definition": "approximate", "delta": "1e-6"})
    ]
    assert errors[1] <= errors[0] * 1.001


def test_a_mean_of_wide_numbers_has_both_errors_too() -> None:
    """Squares of 3 * 10^8 steps leave 64 bits; they are exact in the engine and halved before noise is added."""
    document = {
        "dataset": {"name": "d", "population": "p", "public": True},
        "variables": {"x": {"bounds": [0, 3_000_000], "step": "0.01"}},
    }
    domain, request = load_dataset(document).domain(), {"table": {"measure": "mean", "of": "x"}, "privacy": RHO}
    plan = plan_of(domain, request, {})
    values = np.rint(np.random.default_rng(3).lognormal(11, 1, 20_000).clip(0, 3_000_000) * 100) / 100
    release = release_of(plan, domain, {"x": values.tolist()}, request, "wide")
    table = release.table
    assert table.sampled is not None
    assert table.values[0] == pytest.approx(values.mean(), abs=4 * table.std_error[0])
    error = np.sqrt(values.var(ddof=1) / len(values) + table.variance[0])
    assert table.std_error_with_sampling[0] == pytest.approx(error, rel=0.1)
    assert plan.preview["std_error_with_sampling"] > plan.preview["std_error"]


def test_the_top_of_a_hierarchy_is_measured_and_not_added_up() -> None:
    """Of 400 blocks by sex and age; the interior would give the total sqrt(cells) times the error of a cell."""
    table = {"rows": ["block", "sex", "age"], "margins": spines.MARGINS}
    plain = plan_of(spines.domain(400), {"table": table, "privacy": RHO})
    interior = plan_of(spines.domain(400), {"table": table, "privacy": RHO | {"strategy": "interior"}})
    top, added = (min(p.preview["margins"], key=lambda m: m["cells"])["std_error"] for p in (plain, interior))
    assert plain.strategy == "tree" and top < 0.2 * added
    assert plain.preview["rmse"] < 0.7 * interior.preview["rmse"]


def test_impossible_cells_do_not_leave_the_interior_alone() -> None:
    declared = replace(spines.domain(30), structural_zeros=({"sex": ("sex 1",), "age": ("age 3",)},))
    table = {"rows": ["block", "sex", "age"], "margins": [["block", "sex", "age"], ["sex", "age"], []]}
    plan = plan_of(declared, {"table": table, "privacy": RHO})
    assert plan.strategy != "interior"
    others = {option["strategy"]: option["rmse"] for option in plan.preview["alternatives"]}
    assert plan.preview["rmse"] == min(others.values()) < others["interior"]
    assert any("declared impossible are taken as zeros" in note for note in plan.notes)
