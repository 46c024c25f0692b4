"""Policy rules hold on every route: each rule of a policy on each kind of plan is honoured or refused, never ignored."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.core import registry
from dalenius.core.law import Additive
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError, NotAllowed, PolicyError, RequestError, Unsupported
from dalenius.spec.load import load_dataset, load_policy, load_request
from dalenius.testing.asking import plan_of
from dalenius.testing.toy import toy_domain

DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "unit": {"relation": "replace"},
    "variables": {
        "a": {"categories": ["x", "y"], "missing": "x", "unseen": "x", "hierarchies": {"all": {"both": ["x", "y"]}}},
        "b": {"categories": ["u", "v", "w"], "missing": "u", "unseen": "u"},
        "n": {"bounds": [0, 10], "step": 1, "missing": 0},
        "w": {"weight": True, "bounds": [1, 5], "step": "0.5", "missing": 1},
    },
}
ROWS = {
    "a": ["x", "x", "y", "y", "x"] * 8,
    "b": ["u", "v", "w", "u", "u"] * 8,
    "n": [1, 2, 3, 4, 9] * 8,
    "w": [1.0, 2.0, 1.5, 2.0, 3.0] * 8,
}
OPEN = ["individual", "bootstrap", "fixed_weights"]
FLOORS = {"n": 1}
TOTAL = {"measure": "total", "of": "n"}

# Every kind of plan: a table, and what its [privacy] names besides an amount.
ROUTES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({"rows": ["a"], "columns": ["b"]}, {}),
    "whole": ({}, {}),
    "filter": ({"rows": ["b"], "where": {"a": "x"}}, {}),
    "mechanism": ({"rows": ["a"]}, {"mechanism": "discrete_laplace"}),
    "strategy": ({"rows": ["a"], "columns": ["b"]}, {"strategy": "interior"}),
    "split": ({"rows": ["a"], "columns": ["b"], "margins": "all"}, {"strategy": "split"}),
    "margins": ({"rows": ["a"], "columns": ["b"], "margins": "all"}, {}),
    "list": ({"rows": ["a"], "columns": ["b"], "margins": [["a"], ["b"], []]}, {}),
    "nested": ({"rows": ["a"], "columns": ["b"], "margins": [["a.all", "b"], ["a"]]}, {}),
    "weighted": ({"rows": ["a"], "weight": "w"}, {}),
    "total": ({"rows": ["a"], **TOTAL}, {}),
    "learned bounds": ({"rows": ["a"], **TOTAL, "learn": "0.2"}, {}),
    "mean": ({"rows": ["a"], "measure": "mean", "of": "n"}, {}),
    "median": ({"rows": ["a"], "measure": "median", "of": "n"}, {}),
    "dominance": ({"rows": ["a"], "measure": "dominance", "of": "n"}, {}),
    "quantile": (TOTAL | {"measure": "quantile", "q": "0.25"}, {}),
    "maximum": (TOTAL | {"measure": "maximum", "method": "cauchy"}, {}),
    "bootstrap": ({"rows": ["a"], **TOTAL}, {"definition": "bootstrap"}),
    "individual": (TOTAL | {"measure": "median"}, {"definition": "individual"}),
    "largest total": ({"rows": ["a"], "measure": "largest_total", "of": "n"}, {"definition": "individual"}),
    "range": ({"where": {"a": "x"}}, {"definition": "individual"}),
}  # fmt: skip
AMOUNTS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 4},
    "approximate": {"epsilon": 4, "delta": "1e-4"},
    "zero_concentrated": {"rho": 2},
    "individual": {"epsilon": 4},
    "bootstrap": {"epsilon": 4},
}
COUNTS = ("plain", "whole", "filter", "mechanism", "strategy", "split", "margins", "list", "nested", "range")


def request(route: str, definition: str) -> dict[str, Any]:
    table, named = ROUTES[route]
    name = named.get("definition", definition)
    return {"table": table, "privacy": {"definition": name, **AMOUNTS[name], **named}}


def planned(
    document: dict[str, Any], rules: dict[str, Any] | None = None, allow: dict[str, Any] | None = None
) -> TablePlan:
    policy = {"allow": {"acknowledge": OPEN, **(allow or {})}, "floors": FLOORS, "table": rules or {}}
    planner = Planner(domain=load_dataset(DATASET).domain(), policy=load_policy(policy))
    return planner.plan(load_request(document))


# All routes with all definitions under which they are planned without rules.
DEFINITIONS = ("pure", "approximate", "zero_concentrated")
NEVER = {("learned bounds", "zero_concentrated"), ("maximum", "zero_concentrated")}
ASKED = [(r, d) for r, (_, named) in ROUTES.items() for d in ([named["definition"]] if "definition" in named else DEFINITIONS)]  # fmt: skip
EVERY = [pair for pair in ASKED if pair not in NEVER]
# One definition for each route is enough where data are read.
ONE_EACH = list({route: (route, definition) for route, definition in EVERY}.values())


def released(tmp_path: Path, document: dict[str, Any], rules: dict[str, Any]) -> Any:
    policy = {"allow": {"acknowledge": OPEN}, "floors": FLOORS, "table": rules, "budget": {"rho": 400, "delta": "0.01"}}
    rng = RecordedRandomness(3)
    with Curator.open(DATASET, ledger=tmp_path / "l.sqlite", data=ROWS, rng=rng, policy=policy) as curator:
        curator.register()
        return curator.release(document)


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_is_planned_without_rules_under_every_definition_but_those_named(route: str) -> None:
    for asked, definition in ASKED:
        if asked != route:
            continue
        if (route, definition) in NEVER:
            with pytest.raises(RequestError):
                planned(request(route, definition))
        else:
            assert planned(request(route, definition)).measurements
    assert any(asked == route for asked, _ in EVERY)


@pytest.mark.parametrize(("route", "definition"), ONE_EACH)
@pytest.mark.parametrize("cap", ["3", "50"])
def test_no_number_is_shown_with_a_variance_above_the_cap(
    tmp_path: Path, route: str, definition: str, cap: str
) -> None:
    """Either the plan is refused before data are read, or every released cell and additive block is within the cap."""
    document, rules = request(route, definition), {"variance_cap": cap}
    try:
        planned(document, rules)
    except NotAllowed as error:
        assert "variance" in error.message
        return
    release = released(tmp_path, document, rules)
    limit = float(cap) * (1 + 1e-9)
    additive = [b.law for b in release.blocks if isinstance(b.law, Additive)]
    assert all(law.variance <= limit for law in additive)
    # A range query shows its one additive block as it is and leaves the variance to the law.
    assert all(np.isfinite(t.variance).all() for t in release.tables) or isinstance(release.law, Additive)
    assert not any((t.variance > limit).any() for t in release.tables)


@pytest.mark.parametrize(
    "route", ["plain", "strategy", "split", "margins", "list", "nested", "total", "weighted", "dominance"]
)
def test_a_variance_cap_that_a_plan_meets_does_not_refuse_it(route: str) -> None:
    assert planned(request(route, "pure"), {"variance_cap": 10**6}).measurements
    with pytest.raises(NotAllowed, match="variance"):
        planned(request(route, "pure"), {"variance_cap": "0.0000000001"})


@pytest.mark.parametrize("route", ["mean", "median", "quantile", "maximum", "learned bounds", "bootstrap", "individual"])  # fmt: skip
def test_a_variance_that_nobody_can_know_beforehand_is_refused_under_a_cap(route: str) -> None:
    definition = next(d for r, d in EVERY if r == route)
    with pytest.raises(NotAllowed, match="variance"):
        planned(request(route, definition), {"variance_cap": 10**12})


@pytest.mark.parametrize(("route", "definition"), EVERY)
@pytest.mark.parametrize("rules", [{"truncation": 40}, {"truncation": 40, "maximum_entropy": True, "variance_cap": 30}])  # fmt: skip
def test_truncated_noise_is_used_or_the_plan_is_refused(route: str, definition: str, rules: dict[str, Any]) -> None:
    try:
        plan = planned(request(route, definition), rules)
    except DaleniusError as error:
        assert isinstance(error, PolicyError | RequestError)
        return
    assert route in ("plain", "whole", "filter")
    (measurement,) = plan.measurements
    assert plan.law == measurement.law and isinstance(plan.law, Additive)
    assert plan.law.noise.support == (-40, 40)
    assert plan.mechanism == ("max_entropy" if "maximum_entropy" in rules else "truncated_laplace")


def test_truncated_noise_serves_plain_tables() -> None:
    assert planned(request("plain", "approximate"), {"truncation": 40}).mechanism == "truncated_laplace"


@pytest.mark.parametrize("name", ["discrete_laplace", "max_entropy"])
def test_a_named_mechanism_that_the_rules_replace_is_refused(name: str) -> None:
    document = request("plain", "approximate")
    document["privacy"]["mechanism"] = name
    with pytest.raises(DaleniusError, match="truncated_laplace"):
        planned(document, {"truncation": 40})


@pytest.mark.parametrize(("route", "definition"), ONE_EACH)
@pytest.mark.parametrize("rules", [{"threshold": 5}, {"nonnegative": True}, {"sparse": 1}])
def test_rules_on_counts_reach_every_table_or_refuse_the_plan(
    tmp_path: Path, route: str, definition: str, rules: dict[str, Any]
) -> None:
    document = request(route, definition)
    if route not in COUNTS:
        with pytest.raises(NotAllowed, match=next(iter(rules))):
            planned(document, rules)
        return
    release = released(tmp_path, document, rules)
    shown = [value for table in release.tables for value in table.values.tolist()]
    if "threshold" in rules:
        assert not [v for v in shown if 0 < v < 5]
    if "nonnegative" in rules:
        assert min(shown) >= 0


def test_a_sparse_table_is_not_published_beside_a_dense_one(tmp_path: Path) -> None:
    """Forty rows: the whole has a mean of 40 and the cross one of less than 7."""
    for number, margins in enumerate(([[], ["a", "b"]], [["a", "b"], []])):
        document = request("list", "pure")
        document["table"] = {**document["table"], "margins": margins}
        (tmp_path / str(number)).mkdir()
        release = released(tmp_path / str(number), document, {"sparse": 20})
        assert release.tables == () and release.blocks == ()


@pytest.mark.parametrize(("route", "definition"), EVERY)
def test_allowed_mechanisms_reach_every_plan(route: str, definition: str) -> None:
    """A custodian's list of mechanisms holds; a definition acknowledged by name brings its own."""
    allow = {"mechanisms": ["discrete_laplace"]}
    try:
        plan = planned(request(route, definition), allow=allow)
    except DaleniusError as error:
        assert isinstance(error, NotAllowed | Unsupported)
        return
    assert plan.mechanism == "discrete_laplace" or plan.definition in ("bootstrap", "individual")


def test_a_declared_impossible_cell_is_refused_where_the_policy_wants_every_cell_perturbed() -> None:
    zeros = [{"a": "x", "b": "w"}]
    document = {**DATASET, "structural_zeros": zeros}
    policy = load_policy({"table": {"structural_zeros": False}})
    planner = Planner(domain=load_dataset(document).domain(), policy=policy)
    with pytest.raises(NotAllowed, match="structural_zeros"):
        planner.plan(load_request(request("plain", "pure")))
    assert planner.plan(load_request(request("mechanism", "pure"))).measurements


@pytest.mark.parametrize("measure", ["maximum", "dominance"])
@pytest.mark.parametrize("definition", ["pure", "zero_concentrated", "bootstrap", "individual"])
def test_a_weight_that_a_measure_does_not_use_is_refused(measure: str, definition: str) -> None:
    table = {"rows": ["a"], "measure": measure, "of": "n", "weight": "w"}
    document = {"table": table, "privacy": {"definition": definition, **AMOUNTS[definition]}}
    with pytest.raises(Unsupported, match="weight") as refusal:
        planned(document)
    assert "A weight is used with measure = 'boxplot' or 'correlation' or 'count'" in refusal.value.message
    assert refusal.value.message.endswith(f"Leave 'weight' out for the {measure} of the records themselves.")


@pytest.mark.parametrize(
    ("table", "remedy"),
    [
        ({"rows": ["a"], "weight": "w"}, 'write acknowledge = ["fixed_weights"] in [allow] of the policy'),
        ({"rows": ["a"], "measure": "mean", "of": "n", "weight": "w"}, 'acknowledge = ["fixed_weights"]'),
        ({"rows": ["a"], "measure": "median", "of": "n", "margins": "all"}, "counts, estimates and distributions"),
        (
            {"rows": ["a"], "measure": "proportion", "of": "a", "among": ["x"]},
            "Leave it out of rows, columns and layers",
        ),
    ],
)
def test_refusals_say_what_to_change(table: dict[str, Any], remedy: str) -> None:
    with pytest.raises(Unsupported) as refusal:
        plan_of(
            load_dataset(DATASET).domain(),
            {"table": table, "privacy": {"definition": "zero_concentrated", "rho": 1}},
            {},
        )
    assert remedy in refusal.value.message


@pytest.mark.parametrize("measure", ["total", "mean"])
def test_a_weight_is_part_of_what_is_resampled(measure: str) -> None:
    table = {"measure": measure, "of": "n", "error": "bootstrap", "replicates": 5}
    privacy = {"definition": "zero_concentrated", "rho": 2, "delta": "1e-6"}
    plain, weighted = (planned({"table": table | more, "privacy": privacy}) for more in ({}, {"weight": "w"}))
    assert plain.measurements and "weight" in weighted.law.parameters and "weight" not in plain.law.parameters


@pytest.mark.parametrize("statistic", ["median", "quantile", "maximum", "second_maximum"])
def test_a_weighted_order_statistic_is_refused(statistic: str) -> None:
    table = {**TOTAL, "measure": statistic, "method": "cauchy", "weight": "w"}
    with pytest.raises(Unsupported, match="weight"):
        planned({"table": table, "privacy": {"definition": "pure", "epsilon": 1}})


@pytest.mark.parametrize("route", ["weighted", "total", "mean", "median", "dominance"])
@pytest.mark.parametrize("named", [{"mechanism": "staircase"}, {"strategy": "interior"}])
def test_what_a_request_names_is_what_the_plan_uses(route: str, named: dict[str, str]) -> None:
    document = request(route, "pure")
    document["privacy"] |= named
    try:
        plan = planned(document)
    except RequestError:
        return
    assert plan.mechanism == named.get("mechanism", plan.mechanism)
    assert plan.strategy == named.get("strategy", plan.strategy)


@pytest.mark.parametrize("name", ["staircase", "discrete_laplace"])
def test_named_noise_of_margins_is_what_is_drawn(name: str) -> None:
    document = request("margins", "pure")
    document["table"] = {"rows": ["a"], "margins": "all"}
    document["privacy"] |= {"mechanism": name}
    assert planned(document).mechanism == name


@pytest.mark.parametrize("measure", ["propose_test_release", "range_count"])
def test_numbers_that_are_cut_to_what_is_possible_are_no_unbiased_ones(measure: str) -> None:
    example = registry.get("methods", measure).examples[0]
    domain = toy_domain()
    assert plan_of(domain, example).limits is not None
    with pytest.raises(NotAllowed, match="biased"):
        plan_of(domain, example, {"table": {"unbiased": True}})
