"""Planned implies answered: at the ends of every parameter a request is refused by `plan`, or `run` answers it.

Requests are generated from a grammar of extremes: amounts, bounds, steps, one-label and empty axes, lists of margins, quantiles
at the ends, large tables, every mechanism, strategy, measure, definition and relation, and the examples of every method
at extreme amounts and bounds. Each is either refused with an error that
is the caller's or the policy's, or planned, measured on tiny data, written as JSON and read back.
"""

import random
from typing import Any

import numpy as np
import pytest

from dalenius.core import registry
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Provenance, Release
from dalenius.curator import gate
from dalenius.curator.planner import Planner
from dalenius.engines.memory import MemorySource
from dalenius.errors import BudgetError, PolicyError, RequestError, Unsupported
from dalenius.publish.to_json import from_json, write_json
from dalenius.spec.load import load_dataset, load_policy, load_request

Document = dict[str, Any]
POLICY = load_policy(
    {
        "allow": {
            "acknowledge": ["individual", "bootstrap", "bootstrap_per_cell", "public_membership", "fixed_weights", "clamp_to_the_data"],
            "evidence": ["proved", "enumerated", "computational", "audited", "search", "none"],
        },
        "floors": {"bootstrap": 1, "individual": 1},
    }
)  # fmt: skip
UNITS: list[Document] = [
    {"relation": "add-remove"},
    {"relation": "replace"},
    {"relation": "replace", "size": 3},
    {"relation": "add-remove", "id": "id", "max_rows": 3},
    {"relation": "replace", "id": "id", "max_rows": 1000},
]
BOUNDS: list[Document] = [
    {"bounds": [0, 1], "step": 1},
    {"bounds": [3, 3], "step": 1},
    {"bounds": [-7, -2], "step": 1, "missing": -3},
    {"bounds": [0, 2**40], "step": 1},
    {"bounds": [-(2**51), 2**51], "step": 1, "missing": 0},
    {"bounds": [0, 1], "step": "0.000001", "missing": 0, "outside": "clamp"},
    {"bounds": [0, 10**12], "step": 10**6},
]
EPSILON = ["1e-12", "1e-6", "0.001", "0.5", "1", "20", "61", "1000"]
DELTA = ["1e-18", "1e-12", "1e-9", "1e-6", "0.01", "0.5", "0.999999", "1"]
RHO = ["1e-12", "1e-4", "0.01", "1", "450", "1000"]
Q = ["0", "1e-9", "0.0001", "1/3", "1/2", "0.9999", "0.999999999", "1"]
STRATEGIES = [None, *registry.names("plans.margins.strategies")]


def dataset(unit: Document, bounds: Document) -> Document:
    about = {"name": "d", "population": "p", "public": True}
    return {
        "dataset": about | ({"size": unit["size"]} if "size" in unit else {}),
        "unit": {name: value for name, value in unit.items() if name != "size"},
        "variables": {
            "one": {"categories": ["only"], "missing": "only", "unseen": "only"},
            "a": {"categories": ["x", "y"], "missing": "x", "unseen": "y", "hierarchies": {"all": {"both": ["x", "y"]}}},
            "b": {"categories": ["u", "v", "w"]},
            "many": {"categories": [f"m{k}" for k in range(900)]},
            "n": bounds,
            "w": {"weight": True, "bounds": [0, 4], "step": "0.5"},
        },
        "structural_zeros": [{"a": "x", "b": "w"}],
    }  # fmt: skip


ROWS = {
    "id": [1, 2, 3, 3],
    "one": ["only"] * 4,
    "a": ["x", "x", "y", ""],
    "b": ["u", "v", "w", "nobody"],
    "many": ["m0", "m1", "m899", ""],
    "n": [0, 1, 10**15, None],
    "w": [0.0, 4.0, 1.5, None],
}
AXES: list[list[Any]] = [[], ["one"], ["a"], ["a", "b"], ["one", "a"], ["b"], ["many"]]
AXES += [[{"variable": "n", "cuts": [0, 1]}], [{"variable": "a", "categories": ["x"]}], ["one", {"variable": "b", "groups": {"g": ["u", "v", "w"]}}]]  # fmt: skip


def privacy(pick: random.Random) -> Document:
    name = pick.choice(["pure", "zero_concentrated", *registry.names("definitions")])
    chosen: Document = {"definition": name}
    if name == "zero_concentrated":
        chosen["rho"] = pick.choice(RHO)
        return chosen | ({"delta": pick.choice(DELTA)} if pick.random() < 0.1 else {})
    if name in ("individual", "bootstrap") and pick.random() < 0.3:
        return chosen | {"rho": pick.choice(RHO)}
    chosen["epsilon"] = pick.choice(EPSILON)
    if name in ("approximate", "probabilistic") or pick.random() < 0.05:
        chosen["delta"] = pick.choice(DELTA)
    return chosen


def counts(pick: random.Random) -> tuple[Document, Document]:
    rows = pick.choice(AXES)
    names = [axis if isinstance(axis, str) else axis["variable"] for axis in rows]
    lists = [[[]], [[], names], [names], [*([name] for name in names), []], [[f"{names[0]}.all"]] if "a" in names[:1] else [[]], []]  # fmt: skip
    table: Document = {"rows": rows, "margins": pick.choice(["none", "none", "all", "all", *lists])}
    if pick.random() < 0.2:
        table["where"] = pick.choice([{"a": "x"}, {"b": ["u", "v"]}, {"n": {"at_least": 0, "at_most": 0}}])
    if pick.random() < 0.1:
        table |= {"weight": "w", "margins": "none"}
    if pick.random() < 0.3:
        table["objective"] = "maximum"
    if table["margins"] != "none" and pick.random() < 0.9:
        table["universe"] = "complete"
    strategy = pick.choice(STRATEGIES) if table["margins"] != "none" or pick.random() < 0.2 else None
    return table, {"strategy": strategy, "mechanism": named(pick)}


def named(pick: random.Random) -> str | None:
    return pick.choice([None, *registry.names("mechanisms")]) if pick.random() < 0.6 else None


def totals(pick: random.Random) -> tuple[Document, Document]:
    options: Document = {}
    if pick.random() < 0.25:
        options = {"learn": pick.choice(["0", "1e-9", "0.15", "0.999999999", "1"])}
    table = {"rows": pick.choice(AXES), "measure": "total", "of": pick.choice("nnnw"), **options}
    return table, {"mechanism": None if options else named(pick)}


def means(pick: random.Random) -> tuple[Document, Document]:
    return {"rows": pick.choice(AXES), "measure": "mean", "of": "n"}, {"mechanism": named(pick)}


def medians(pick: random.Random) -> tuple[Document, Document]:
    keys = {"measure": "quantile", "q": pick.choice(Q)} if pick.random() < 0.5 else {"measure": "median"}
    return {"rows": pick.choice(AXES[:6]), "of": "n", **keys}, {}


def dominated(pick: random.Random) -> tuple[Document, Document]:
    options = pick.choice([{"p": 1}, {"p": 99}, {"p": 100}, {"k": 1, "n": 10**9}, {"k": 99}, {"n": 0, "k": 5}])
    options = {} if pick.random() < 0.15 else {"rule": options}
    return {"rows": pick.choice(AXES[:6]), "measure": "dominance", "of": "n", **options}, {"mechanism": named(pick)}


def order_statistics(pick: random.Random) -> tuple[Document, Document]:
    names = ["median", "quantile", "maximum", "minimum", "second_maximum"]
    table: Document = {"measure": pick.choice(names), "of": "n"}
    further: Document = {}
    if table["measure"] == "quantile":
        table["q"] = pick.choice(Q)
    if table["measure"].endswith("mum") or pick.random() < 0.5:
        table["method"] = pick.choice(["cauchy", "lomax"])
        if pick.random() < 0.3:
            further = {"noise": {"beta": pick.choice(["1e-9", "0.1", "20", "1000"])}}
    return table, {"definition": pick.choice(["pure", "approximate", "zero_concentrated"]), **further}


def data_dependent(pick: random.Random) -> tuple[Document, Document]:
    if pick.random() < 0.3:
        return {"where": {"a": "x"}, "clamp": pick.choice(["none", "size", "data"])}, {"definition": "individual"}
    if pick.random() < 0.5:
        names = ["median", "quantile", "maximum", "second_maximum", "range", "interquartile", "largest_total"]
        table: Document = {"measure": pick.choice(names), "of": "n"}
        table |= {"q": pick.choice(Q)} if table["measure"] == "quantile" else {}
        table["rows"] = pick.choice(AXES) if table["measure"] == "largest_total" else []
        group = {"group": pick.choice([0, 1, 1000, 10**9])} if pick.random() < 0.2 else {}
        return table, {"definition": pick.choice(["individual", "bootstrap"])} | group
    options = {"membership": pick.choice(["public", "private"])}
    if pick.random() < 0.3:
        options["declared"] = pick.choice(["0", "1e30", "-5"])
    return {"rows": pick.choice(AXES), "measure": "total", "of": "n", **options}, {"definition": "bootstrap"}


KINDS = {f.__name__: f for f in (counts, totals, means, medians, dominated, order_statistics, data_dependent)}


def generated(kind: str, number: int) -> tuple[Document, Document]:
    """A data set and a request."""
    pick = random.Random(f"{kind} {number}")
    table, chosen = KINDS[kind](pick)
    amounts = privacy(pick)
    while "definition" in chosen and amounts["definition"] != chosen["definition"]:
        amounts = privacy(pick)
    request = {"table": table, "privacy": amounts | {k: v for k, v in chosen.items() if v is not None}}
    # Loss distributions over very many steps take long to compute; they are kept to few steps here.
    is_slow = amounts["definition"] in ("approximate", "probabilistic")
    return dataset(pick.choice(UNITS), pick.choice(BOUNDS[:3] if is_slow else BOUNDS)), request


def planned(document: Document, request: Document) -> TablePlan | None:
    """The plan, or None for a clean refusal; any other exception fails the test."""
    try:
        planner = Planner(domain=load_dataset(document).domain(), policy=POLICY)
        return planner.plan(load_request(request))
    except (RequestError, PolicyError, BudgetError):
        return None


def answered(plan: TablePlan, document: Document) -> Release:
    domain = load_dataset(document).domain()
    source = MemorySource.open(domain, ROWS)
    neighbours = getattr(plan, "neighbours", domain.neighbours)
    plan = gate.with_keys(plan, "a fingerprint", b"a secret of the extremes")
    passage = gate.run(plan, source, neighbours, plan.reservation, RecordedRandomness("extremes"))
    provenance = Provenance(
        dataset="d", population="p", version="1", definition=plan.definition, budget=plan.budget.to_dict(),
        neighbours=neighbours.to_dict(), cost=plan.reservation.to_dict(), mechanism=plan.mechanism,
        strategy=plan.strategy, evidence=plan.evidence.to_dict(), software="", request={}, digest="",
    )  # fmt: skip
    tables = plan.assemble(passage.blocks) if not passage.is_silent else ()
    return Release(blocks=passage.blocks, tables=tables, law=plan.law, provenance=provenance)


def check(document: Document, request: Document) -> bool:
    """Whether it was planned; then it is answered, and reads back as it was."""
    plan = planned(document, request)
    if plan is None:
        return False
    release = answered(plan, document)
    again = from_json(write_json(release))
    # No reply is an answer, of steps that state how probable it is.
    tells = any(hasattr(step, name) for step in plan.measurements for name in ("silence", "passed"))
    is_silent = tells and not release.blocks
    assert len(again.tables) == len(release.tables) >= (0 if is_silent else 1)
    for left, right in zip(again.tables, release.tables, strict=True):
        assert np.array_equal(left.values, right.values, equal_nan=True)
        assert np.allclose(left.variance, right.variance, rtol=1e-9, atol=0, equal_nan=True)
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_extremes_are_refused_or_answered(kind: str) -> None:
    outcomes = [check(*generated(kind, number)) for number in range(60)]
    # What is drawn changes with every new definition and mechanism: go on where few happened to be possible.
    while sum(outcomes) < 5 and len(outcomes) < 240:
        outcomes.append(check(*generated(kind, len(outcomes))))
    assert 5 <= sum(outcomes) < len(outcomes)


def test_noise_that_no_sampler_serves_is_refused_by_the_plan() -> None:
    """Nearly uniform noise over a very long range: another mechanism answers, and the named one is refused."""
    document = dataset({"relation": "add-remove"}, BOUNDS[0])
    table = {"rows": [{"variable": "n", "cuts": [0, 1]}], "measure": "total", "of": "n"}
    amounts = {"definition": "approximate", "epsilon": "1e-12", "delta": "1e-9"}
    assert check(document, {"table": table, "privacy": amounts})
    named = {"table": table, "privacy": amounts | {"mechanism": "truncated_laplace"}}
    assert planned(document, named) is None


@pytest.mark.parametrize("unit", UNITS[:4], ids=lambda unit: " ".join(map(str, unit.values())))
@pytest.mark.parametrize("amount", [{"definition": "pure", "epsilon": 1}, {"definition": "zero_concentrated", "rho": 1}, {"definition": "zero_concentrated", "rho": 1000}], ids=str)  # fmt: skip
def test_lists_of_trivial_margins_are_refused_or_answered(unit: Document, amount: Document) -> None:
    """The grand total alone and axes of one label, with every strategy."""
    planned_ones = 0
    for rows in ([], ["one"], ["a"], ["one", "a"]):
        for margins in ([[]], "all", [[], rows], [rows]):
            for strategy in STRATEGIES:
                privacy = amount | ({"strategy": strategy} if strategy else {})
                request = {"table": {"rows": rows, "margins": margins}, "privacy": privacy}
                planned_ones += check(dataset(unit, BOUNDS[0]), request)
    assert planned_ones


def test_a_list_that_the_public_size_answers_is_not_charged() -> None:
    document = dataset({"relation": "replace", "size": 3}, BOUNDS[0])
    for rows, margins in ((["one"], "all"), (["one"], [[]]), ([], [[]]), (["a"], [[]])):
        request = {"table": {"rows": rows, "margins": margins}, "privacy": {"definition": "pure", "epsilon": 1}}
        planner = Planner(domain=load_dataset(document).domain(), policy=POLICY)
        with pytest.raises(Unsupported, match="declared size"):
            planner.plan(load_request(request))


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "29", "59", "61", "121", "1000"])
def test_a_median_is_answered_or_refused_before_the_charge(relation: str, epsilon: str) -> None:
    document = dataset({"relation": relation}, BOUNDS[2])
    amount = {"definition": "pure", "epsilon": epsilon}
    for keys in ({}, {"method": "exponential"}):
        request = {"table": {"measure": "median", "of": "n", **keys}, "privacy": amount}
        assert check(document, request) or float(epsilon) > 25


@pytest.mark.parametrize("bounds", [[0, 2**20], [0, 2**40], [-(2**51), 2**51]], ids=str)
@pytest.mark.parametrize("name", ["discrete_laplace", "staircase", "truncated_laplace", "discrete_gaussian"])
@pytest.mark.parametrize("amount", [{"definition": "pure", "epsilon": "1e-12"}, {"definition": "pure", "epsilon": 1}, {"definition": "zero_concentrated", "rho": 1000}], ids=str)  # fmt: skip
def test_wide_bounds_are_served_or_refused_by_every_mechanism(bounds: list[int], name: str, amount: Document) -> None:
    document = dataset({"relation": "replace"}, {"bounds": bounds, "step": 1})
    for measure in ("total", "mean"):
        check(document, {"table": {"measure": measure, "of": "n"}, "privacy": amount | {"mechanism": name}})


@pytest.mark.parametrize("name", registry.names("methods"))
def test_examples_of_every_method_are_refused_or_answered_at_extreme_amounts(name: str) -> None:
    """The keys that a method states by its own examples, under every definition it may be asked with."""
    outcomes = []
    for number, example in enumerate(registry.get("methods", name).examples):
        for trial in range(6):
            pick = random.Random(f"{name} {number} {trial}")
            document = dataset(pick.choice(UNITS[:3]), pick.choice(BOUNDS[:4]))
            table = dict(example["table"])
            table |= {key: "n" for key in ("of",) if key in table}
            table |= {key: [pick.choice(["a", "b", "one"])] for key in ("rows", "columns") if table.get(key)}
            if table.get("columns") == table.get("rows"):
                table.pop("columns", None)
            kept = {k: v for k, v in example["privacy"].items() if k in ("definition", "mechanism", "strategy")}
            amounts = privacy(pick)
            while trial % 2 and amounts["definition"] != kept["definition"]:
                amounts = privacy(pick)
            request = {"table": table, "privacy": kept | amounts}
            outcomes.append(check(document, request))
    assert outcomes
