"""What the attackers draw, beside what the registry says can be asked: what is never planned is never attacked.

A facet is one thing that must be planned at least once: a method under a definition, a method or a strategy between
some kind of neighbours, a key of a method, a kind of noise, a kind of step. All of them come from the registry; what
cannot be planned is excepted by a reason.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import combinations
from typing import Any

from dalenius.algebra.estimate_law import EstimateLaw
from dalenius.core import registry
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.plan import TablePlan
from dalenius.errors import DaleniusError
from dalenius.plans.counts.ranges import STRATEGIES
from dalenius.plans.modifier import Modifier, modifiers
from dalenius.spec.document import Part
from dalenius.spec.request import PrivacyPart, TablePart
from dalenius.testing.combinations import GROUP, refusal
from dalenius_lab.attackers import at_the_data, grammar, neighbour_fuzzer

Facet = tuple[str, str, str]
Asked = tuple[dict[str, Any], Neighbours, Callable[[], TablePlan]]
# Keys that all methods share.
PARTS: dict[str, type[Part]] = {"table": TablePart, "privacy": PrivacyPart}
UNITS = ("row", "person with one row", "person with several rows")
KINDS = tuple(f"{relation}, {unit}" for relation in Relation for unit in UNITS)
# Between which neighbours the number of rows may be public.
PUBLIC = f"{Relation.REPLACE}, {UNITS[0]}"
# Steps that a request names in the place of noise.
KERNELS = tuple(name for name, made in registry.every("measurements").items() if hasattr(made, "of_counts"))
# A request that has a facet is drawn again until it is planned, so often.
PATIENCE = 150
# Drawing costs next to nothing, so that a facet is waited for as long.
_MOST_DRAWS = 4000

_ONE_ROW = "stated for one row to a unit"
_DIFFERENCE = "a difference of two order statistics has noise at the data only, for one unit"
_WITH_DELTA = "needs epsilon and delta, which it spends on two different things"
_FUNCTION = (
    "a program of the custodian's own runs for its whole time in each block; what it says is held to the "
    "range as any model's is"
)
ESTIMATES = tuple(method for method in registry.every("methods").values() if hasattr(method, "sum_plan"))
EXCEPTED: dict[Facet, str] = {
    ("modifiers", "group", "public_size"): "the size is used where neighbours differ in one row",
    ("modifiers", "margins", "public_size"): "the size of a cell is not public",
    ("modifiers", "public_size", "weighted"): "the sum of weights is not public",
    **{
        ("key", method.name, key): reason
        for method in ESTIMATES
        for modifier in modifiers()
        if (reason := modifier.refuses(method.estimator))
        for key in modifier.keys.model_fields
        if (method.name, key) != ("total", "learn")
    },
    **{
        ("key", method.name, key): "weights are regularised where rows are counted"
        for method in ESTIMATES
        for key in ("regularise", "common_weight")
        if not method.estimator.counts_rows
    },
    **{
        ("key", "table", key): "says where a number stands, or is read as an axis in rows"
        for key in ("columns", "layers")
    },
    ("key", "table", "weights"): "changes which plan is best, not what one costs",
    ("key", "table", "expected"): "changes which plan is best, not what one costs",
    **{("key", "sample_and_aggregate", key): _FUNCTION for key in ("function", "seconds")},
    **{
        ("neighbours", name, kind): _ONE_ROW
        for name in ("maximum", "minimum", "second_maximum", "propose_test_release")
        for kind in (KINDS[2], KINDS[5])
    },
    **{("key", name, "method"): _DIFFERENCE for name in ("interquartile", "range")},
    **{
        ("definition", name, definition): _WITH_DELTA
        for name in ("labels", "propose_test_release")
        for definition in ("pure", "zero_concentrated", "probabilistic")
    },
}


def kind_of(neighbours: Neighbours) -> str:
    """Relation and unit."""
    unit = 0 if neighbours.unit == "row" else 1 if neighbours.max_rows == 1 else 2
    return f"{neighbours.relation}, {UNITS[unit]}"


def possible() -> list[Facet]:
    """Everything that the registry says can be asked."""
    facets: list[Facet] = []
    definitions = registry.every("definitions")
    for name, method in registry.every("methods").items():
        facets += [("definition", name, d) for d, made in definitions.items() if made.scope in method.scopes]
        facets += [("key", name, key) for key in method.Parameters.model_fields]
        if Scope.ALL_DATA in method.scopes:
            facets += [("neighbours", name, kind) for kind in KINDS]
    facets += [("modifiers", *pair) for pair in planning_pairs()]
    facets += [("key", part, key) for part, made in PARTS.items() for key in made.model_fields if key != "keys"]
    for strategy in (*registry.names("plans.margins.strategies"), *STRATEGIES):
        facets += [("strategy", strategy, kind) for kind in KINDS]
    facets += [("mechanism", "", name) for name in registry.names("mechanisms")]
    facets += [("step", "", name) for name in registry.names("measurements")]
    return facets


def attacked_pairs() -> list[tuple[str, str]]:
    """Pairs of modifiers that take part in a plan together."""
    return [pair for pair in planning_pairs() if ("modifiers", *pair) not in EXCEPTED]


@cache
def planning_pairs() -> tuple[tuple[str, str], ...]:
    """Pairs of modifiers that plan together for some estimator, as one number, as a table, or as a list."""
    every = {each.name: each for each in (GROUP, *modifiers())}
    # The plainest estimators first: one that plans is enough.
    methods = sorted(ESTIMATES, key=lambda method: len(method.estimator.reads))
    pairs = combinations(sorted(every), 2)
    return tuple(pair for pair in pairs if _plans([every[name] for name in pair], methods))


def _plans(pair: Sequence[Modifier], methods: Sequence[Any]) -> bool:
    keys = [key for each in pair for part in each.example.values() for key in part]
    shapes = ("list",) if "margins" in keys else ("table", "number")
    chosen = [each for each in pair if "margins" not in each.example.get("table", {})]
    is_one_key = len(set(keys)) < len(keys)
    return not is_one_key and any(not refusal(method, chosen, shape) for shape in shapes for method in methods)


def unplanned(seed: int, *, is_short: bool = False) -> list[Facet]:
    """What is possible, not excepted, and was not planned; `is_short` leaves out persons with one row, who are priced
    as rows are.
    """
    chance, missing, done = random.Random(seed), [], set(EXCEPTED)
    for facet in possible():
        if facet not in done and not (is_short and facet[2].endswith(UNITS[1])):
            done |= searched(facet, chance)
            if facet not in done:
                missing.append(facet)
    return missing


def searched(facet: Facet, chance: random.Random, patience: int = PATIENCE) -> set[Facet]:
    """All facets of what was planned on the way to one of them."""
    what, name, value = facet
    is_counted = what in ("strategy", "mechanism") or value in KERNELS or value in ("in_table", "strategy", "noise")
    method = "count" if is_counted else "" if name in PARTS or what == "modifiers" else name
    facets, tries = set[Facet](), 0
    for _ in range(_MOST_DRAWS if patience == PATIENCE else 50 * patience):
        definition = value if what == "definition" else _definition(what, method, chance)
        if what == "modifiers":
            method, definition = chance.choice(ESTIMATES).name, chance.choice(("zero_concentrated", "approximate"))
        request, neighbours, planned = _asked(chance, method, definition)
        if what == "strategy" and ("ranges" if name in STRATEGIES else "margins") in request["table"]:
            request["privacy"]["strategy"] = name
        if what == "modifiers":
            if "public_size" in facet and kind_of(neighbours) != PUBLIC:
                continue
            request["privacy"].pop("group", None)
            grammar.combine(request, chance, name, value)
        written = set(_written(request, neighbours))
        if facet not in written and what != "modifiers" and not (what == "step" and value not in KERNELS):
            continue
        tries += 1
        with suppress(DaleniusError, ValueError):
            plan = planned()
            facets |= written | set(_made(plan)) | set(_combined(request, plan))
        if facet in facets or tries == patience:
            break
    return facets


def _definition(what: str, method: str, chance: random.Random) -> str:
    """Any that the method has a route under; what does not depend on it is planned soonest under some."""
    if what in ("strategy", "neighbours", "mechanism"):
        return chance.choice(("pure", "pure", "zero_concentrated", "zero_concentrated", "approximate"))
    definitions = registry.every("definitions")
    scopes = registry.get("methods", method).scopes if method else tuple(Scope)
    return chance.choice([name for name, made in definitions.items() if made.scope in scopes])


def _asked(chance: random.Random, method: str, definition: str) -> Asked:
    """A request of the fuzzer that is for its definition."""
    if Scope(registry.get("definitions", definition).scope).is_data_dependent:
        case = at_the_data.SmallCase.drawn(chance, definition, method)
        return case.request, case.domain.neighbours, case.planned
    world, request = neighbour_fuzzer.drawn(chance, method, definition)
    return request, world.domain.neighbours, partial(neighbour_fuzzer.planned, world, request)


def _written(request: Mapping[str, Any], neighbours: Neighbours) -> Iterator[Facet]:
    """What a request is of, by its words."""
    table, privacy, kind = request["table"], request["privacy"], kind_of(neighbours)
    name = table["measure"]
    yield "definition", name, privacy["definition"]
    yield "neighbours", name, kind
    yield "strategy", privacy.get("strategy", ""), kind
    if "mechanism" in privacy:
        yield "step" if privacy["mechanism"] in KERNELS else "mechanism", "", privacy["mechanism"]
    for key in registry.get("methods", name).Parameters.model_fields:
        if key in table:
            yield "key", name, key
    for part in PARTS:
        yield from (("key", part, key) for key in request[part])


def _combined(request: Mapping[str, Any], plan: TablePlan) -> Iterator[Facet]:
    """Pairs of modifiers that took part in the plan of an estimate; a public size where the law knows it."""
    table = request["table"]
    if not hasattr(registry.get("methods", table["measure"]), "sum_plan"):
        return
    law = plan.law
    names = {
        each.name
        for each in modifiers()
        if (keys := each.example.get("table"))
        and keys.keys() - grammar.SMALL.keys() - {"rows"} <= table.keys()
        and table.get("error") == keys.get("error", table.get("error"))
    }
    if isinstance(law, Joint) and (_size_of(law) is not None):
        names.add("public_size")
    if plan.group > 1:
        names.add(GROUP.name)
    yield from (("modifiers", *pair) for pair in combinations(sorted(names), 2))


def _size_of(law: Joint) -> object:
    return EstimateLaw.of(law).size if "estimator" in law.parameters else law.parameters.get("size")


def _made(plan: TablePlan) -> Iterator[Facet]:
    """What a plan is made of."""
    for mechanism in plan.mechanism.split(", "):
        yield "mechanism", "", mechanism
    for measurement in plan.measurements:
        yield "step", "", _names()[type(measurement)]


@cache
def _names() -> dict[type, str]:
    return {registry.get("measurements", name): name for name in registry.names("measurements")}
