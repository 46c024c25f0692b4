"""Strategy tree: the optimum on a balanced geography, planned errors on recorded releases, and parts that add up."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from verify import _spines as spines

from dalenius.algebra.tree_law import TreeLaw, residual_parts
from dalenius.core.domain import Categories, Domain, Hierarchy, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.engines.memory import MemorySource
from dalenius.errors import Unsupported
from dalenius.testing.asking import plan_of

MARGINS = [
    [],
    ["sex", "age"],
    ["block.county", "sex", "age"],
    ["block.tract", "sex", "age"],
    ["block"],
    ["block", "sex", "age"],
]


def variable(name: str, size: int, *levels: tuple[str, int]) -> Variable:
    labels = tuple(f"{name}{k}" for k in range(size))
    place = np.arange(size)
    return Variable(
        name=name,
        domain=Categories(labels=labels, missing=labels[0], unseen=labels[0]),
        hierarchies=tuple(
            Hierarchy(
                level=level, groups=tuple(f"{level}{k}" for k in range(n)), parent=tuple((place * n // size).tolist())
            )
            for level, n in levels
        ),
    )


@pytest.fixture(scope="module")
def country() -> Domain:
    """Ten thousand blocks in a hundred tracts of ten counties."""
    block = variable("block", 10_000, ("county", 10), ("tract", 100))
    return Domain(
        name="country",
        population="country",
        version="1",
        variables={"block": block, "sex": variable("sex", 2), "age": variable("age", 4)},
        neighbours=Neighbours(),
        is_public=True,
    )


def planned(country: Domain, objective: str) -> TablePlan:
    asked = {"rows": ["block", "sex", "age"], "margins": MARGINS, "objective": objective}
    return plan_of(country, {"table": asked, "privacy": {"definition": "zero_concentrated", "rho": "1/2"}})


def test_all_cells_of_a_balanced_geography_have_the_least_error_that_there_is(country: Domain) -> None:
    plan = planned(country, "cells")
    assert plan.strategy == "tree"
    assert plan.preview["rmse"] == pytest.approx(1.28650, abs=2e-5)
    errors = [margin["std_error"] for margin in plan.preview["margins"]]
    assert errors == pytest.approx([19.064, 10.934, 6.195, 3.551, 1.905, 1.116], abs=1e-3)
    others = {other["strategy"]: other["rmse"] for other in plan.preview["alternatives"]}
    assert others["interior"] == pytest.approx(2.298, abs=1e-3)


def test_all_tables_of_a_balanced_geography_have_the_least_error_that_there_is(country: Domain) -> None:
    plan = planned(country, "tables")
    assert plan.preview["rmse_of_tables"] == pytest.approx(2.26828, abs=2e-5)
    errors = [margin["std_error"] for margin in plan.preview["margins"]]
    assert errors == pytest.approx([2.348, 2.219, 2.242, 2.247, 2.337, 2.213], abs=1e-3)


def test_the_budget_is_spent_and_not_overspent(country: Domain) -> None:
    spent = planned(country, "cells").reservation.rho
    assert spent is not None
    assert 0.499999 < spent <= 0.5


@pytest.mark.parametrize("relation", Relation)
def test_recorded_releases_of_an_unbalanced_tree_have_the_planned_errors_at_every_level(relation: Relation) -> None:
    declared = spines.domain(60, relation)
    plan = spines.planned(declared, "tables")
    sampled = spines.errors(plan, declared, 25)
    assert min(spines.p_values(plan, sampled).values()) > 0.001
    for table, own in zip(sampled, plan.preview["margins"], strict=True):
        assert 0.5 * own["std_error"] < np.sqrt((table**2).mean()) < 2 * own["std_error"]


def test_a_wrong_variance_of_one_level_would_be_noticed() -> None:
    declared = spines.domain(60)
    plan = spines.planned(declared, "tables")
    sampled = spines.errors(plan, declared, 25)
    sampled[3] = sampled[3] * 1.15
    assert spines.p_values(plan, sampled)["block.tract x sex x age"] < 0.001


def test_every_level_adds_up_to_the_one_above() -> None:
    declared = spines.domain(60)
    plan = spines.planned(declared)
    total, detail, county, tract, block, cells = (table[0] for table in spines.errors(plan, declared, 1))
    hierarchy = {h.level: np.array(h.parent) for h in declared.variable("block").hierarchies}
    by_block = cells.reshape(2, 60, 4).swapaxes(0, 1)
    by_tract = np.zeros((tract.size // 8, 2, 4))
    np.add.at(by_tract, hierarchy["tract"], by_block)
    by_county = np.zeros((county.size // 2, 2))
    np.add.at(by_county, hierarchy["county"], by_block.sum(axis=2))
    np.testing.assert_allclose(by_block.sum(axis=(1, 2)), block, atol=1e-8)
    np.testing.assert_allclose(by_tract.swapaxes(0, 1).ravel(), tract, atol=1e-8)
    np.testing.assert_allclose(by_county.T.ravel(), county, atol=1e-8)
    np.testing.assert_allclose(by_block.sum(axis=0).ravel(), detail, atol=1e-8)
    assert by_block.sum() == pytest.approx(total[0], abs=1e-8)


def test_weights_move_the_error_to_where_it_counts_less(country: Domain) -> None:
    privacy = {"definition": "zero_concentrated", "rho": "1/2"}
    asked: dict[str, Any] = {"rows": ["block", "sex", "age"], "margins": MARGINS, "objective": "tables"}
    heavy = plan_of(country, {"table": asked | {"weights": [100, 1, 1, 1, 1, 1]}, "privacy": privacy})
    assert heavy.preview["margins"][0]["std_error"] < 1.5
    assert heavy.preview["margins"][5]["std_error"] > 2.3


def test_the_largest_error_is_least_where_all_tables_err_alike() -> None:
    plan = spines.planned(spines.domain(60), "maximum", definition="zero_concentrated", rho="1/2", strategy="tree")
    tables = spines.planned(spines.domain(60), "tables")
    assert plan.preview["largest_std_error"] < tables.preview["largest_std_error"]


def test_pure_privacy_measures_levels_by_themselves_and_refuses_residual_components() -> None:
    plan = spines.planned(spines.domain(60), "tables", definition="pure", epsilon=1)
    assert plan.strategy == "split"
    with pytest.raises(Unsupported, match="rho"):
        spines.planned(spines.domain(60), "tables", definition="pure", epsilon=1, strategy="tree")


def test_a_list_without_hierarchies_is_a_tree_of_one_level(ask: Callable[..., Any]) -> None:
    tables = ask("zero_concentrated", strategy="tree", rows=["sex"], columns=["job"], margins="all")
    sizes = {len(t.values): t.values for t in tables if t.space.axes and t.space.axes[0].name == "sex"}
    assert np.abs(sizes[2] - [60, 39]).max() <= 3
    assert np.allclose(sizes[4].reshape(2, 2).sum(axis=1), sizes[2])


CENSUS = (11, 2, 21, 5, 12, 9, 5)


def census(*zeros: dict[str, tuple[str, ...]]) -> tuple[Domain, list[list[str]]]:
    """Seven variables, and all their margins of one to three."""
    variables = {name: variable(name, size) for name, size in zip("abcdefg", CENSUS, strict=True)}
    declared = Domain(
        name="census",
        population="census",
        version="1",
        variables=variables,
        neighbours=Neighbours(),
        is_public=True,
        structural_zeros=zeros,
    )
    return declared, [list(m) for size in (1, 2, 3) for m in combinations("abcdefg", size)]


def test_impossible_cells_lower_the_error_of_margins_instead_of_leaving_the_interior_alone() -> None:
    impossible = {"c": ("c0",), "d": ("d1", "d2", "d3", "d4")}, {"c": ("c1",), "d": ("d4",)}
    errors = {}
    for zeros in ((), impossible):
        declared, margins = census(*zeros)
        asked = {"rows": list("abcdefg"), "margins": margins, "objective": "cells"}
        plan = plan_of(declared, {"table": asked, "privacy": {"definition": "zero_concentrated", "rho": "1/2"}})
        errors[bool(zeros)] = plan.preview["rmse"]
    assert errors[False] == pytest.approx(4.479, abs=1e-3)
    assert errors[True] < errors[False]
    assert plan.strategy == "tree"
    others = {other["strategy"]: other["rmse"] for other in plan.preview["alternatives"]}
    assert others["interior"] > 10 * errors[True]


def test_an_impossible_cell_is_shown_as_zero_and_the_others_add_up() -> None:
    declared = replace(spines.domain(30), structural_zeros=({"sex": ("sex 1",), "age": ("age 3",)},))
    plan = spines.planned(declared, "tables")
    assert plan.strategy == "tree"
    total, detail, *_, cells = (table[0] for table in spines.errors(plan, declared, 1))
    by_block = cells.reshape(2, 30, 4)
    assert (by_block[1, :, 3] == 0).all()
    assert detail.reshape(2, 4)[1, 3] == 0
    np.testing.assert_allclose(by_block.sum(axis=1).ravel(), detail, atol=1e-8)
    assert by_block.sum() == pytest.approx(total[0], abs=1e-8)


def test_recorded_releases_with_impossible_cells_have_the_planned_errors() -> None:
    declared = replace(spines.domain(30), structural_zeros=({"sex": ("sex 1",), "age": ("age 3",)},))
    plan = spines.planned(declared, "tables")
    sampled = spines.errors(plan, declared, 60)
    law = TreeLaw.of(plan.law)  # type: ignore[arg-type]
    for table, variance in zip(sampled, law.variances, strict=True):
        ratio = (table[:, variance > 0] ** 2).mean() / variance[variance > 0].mean()
        # Sixty releases of correlated cells: the total alone has a standard error of 18 %.
        assert 0.4 < ratio < 1.9


def test_a_strategy_that_impossible_cells_rule_out_is_refused_with_the_reason() -> None:
    declared = replace(spines.domain(30), structural_zeros=({"sex": ("sex 1",), "age": ("age 3",)},))
    asked = {"rows": ["sex", "age"], "margins": "all"}
    with pytest.raises(Unsupported, match="where impossible cells are shown"):
        plan_of(
            declared, {"table": asked, "privacy": {"definition": "zero_concentrated", "rho": 1, "strategy": "residual"}}
        )


def test_levels_are_measured_without_any_key() -> None:
    asked = {"rows": ["block", "sex", "age"], "margins": spines.MARGINS, "weights": [9, 1, 1, 1, 1, 1]}
    plan = plan_of(spines.domain(400), {"table": asked, "privacy": {"definition": "zero_concentrated", "rho": "1/2"}})
    assert (plan.strategy, plan.preview["objective"]) == ("tree", "cells")


def measured(plan: TablePlan, declared: Domain, rows: list[tuple[str, ...]]) -> dict[tuple[int, tuple[int, ...]], Any]:
    """What is measured of some records, without noise: every part, centred, on its integer grid."""
    (step,) = plan.measurements
    columns = {name: [row[i] for row in rows] for i, name in enumerate(declared.variables)}
    source = MemorySource(declared, columns, b"tiny")
    exact = tuple(source.table(need) for need in step.needs)  # type: ignore[arg-type]
    silence = [np.zeros_like(noise) for noise in step.draw(RecordedRandomness("shape"))]
    outcome = step.run(exact, silence, RecordedRandomness("none"))
    assert isinstance(outcome, Value)
    parts = residual_parts(outcome.values, step.law.parameters)  # type: ignore[union-attr]
    sizes = {part: int(np.prod(array.shape[1:], dtype=np.int64)) for part, array in parts.items()}
    return {part: array * sizes[part] for part, array in parts.items()}


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("objective", ["cells", "tables"])
def test_no_pair_of_tiny_neighbours_costs_more_than_the_plan_reserves(relation: Relation, objective: str) -> None:
    """All records of a small domain, beside an empty file and beside one record, by a request document."""
    declared = spines.domain(5, relation)
    plan = spines.planned(declared, objective)
    assert plan.strategy == "tree"
    (step,) = plan.measurements
    labels = [v.categories.labels for v in declared.variables.values()]
    everyone = list(product(*labels))
    contents = [measured(plan, declared, [everyone[7], row]) for row in everyone]
    pairs = combinations(contents, 2)
    if relation is Relation.ADD_REMOVE:
        nobody = measured(plan, declared, [everyone[7]])
        pairs = ((content, nobody) for content in contents)
    costs = [
        sum(float(((a[p] - b[p]) ** 2).sum() / float(v)) for p, v in step.grid.items())  # type: ignore[attr-defined]
        for a, b in pairs
    ]
    reserved = 2 * float(plan.reservation.rho or 0)
    assert max(costs) <= reserved * (1 + 1e-9)
    assert max(costs) >= reserved * 0.999
