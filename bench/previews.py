"""How long free previews take, over requests drawn from the whole grammar: each is planned once, nothing is read.

The p99 should stay below a second: a preview is open to everybody who may ask, so it must not be a way to keep a server busy.
Half of the requests come from the grammar of the attackers, which knows every method, definition and key, on domains with wide bounds,
many rows to a person and hierarchies; the others name mechanisms at extremes of a few methods, which once took minutes. One in
twelve is a batch of several such tables.
"""

import random
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dalenius.core.domain import Bounds, Domain, Variable
from dalenius.core.neighbours import Scope
from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError
from dalenius.spec.load import load_asked
from dalenius.spec.policy import PolicyDocument
from dalenius.testing.toy import toy_domain
from dalenius_lab.attackers import grammar, worlds

BOUNDS = {"small": 9, "thousands": 5000, "wide": 200_000, "widest": 1 << 31}
ROWS = (1, 1, 2, 12, 20, 1000)
BUDGETS: tuple[dict[str, Any], ...] = (
    {"definition": "pure", "epsilon": "1"},
    {"definition": "pure", "epsilon": "0.05"},
    {"definition": "approximate", "epsilon": "1", "delta": "1e-6"},
    {"definition": "approximate", "epsilon": "0.1", "delta": "1e-9"},
    {"definition": "probabilistic", "epsilon": "1", "delta": "1e-6"},
    # Extremes that once took seconds: wide laws of small budgets, and finite ones of large budgets and many rows.
    {"definition": "pure", "epsilon": "1/1000"},
    {"definition": "approximate", "epsilon": "61", "delta": "1e-6"},
    {"definition": "zero_concentrated", "rho": "1/4"},
    {"definition": "zero_concentrated", "rho": "1/100", "delta": "1e-6"},
)
MECHANISMS = (
    None,
    None,
    None,
    "discrete_laplace",
    "discrete_gaussian",
    "truncated_laplace",
    "truncated_normal",
    "max_entropy",
    "staircase",
)
SCOPES = (Scope.ALL_DATA,) * 5 + (Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS, Scope.GIVEN_THE_PUBLIC)


def toy_of(chance: random.Random) -> Domain:
    """The toy domain with numbers of every width, under some relation and some number of rows to a person."""
    rows = chance.choice(ROWS)
    domain = toy_domain(
        relation=chance.choice(["add-remove", "replace"]), unit_id=None if rows == 1 else "person", max_rows=rows
    )
    numbers = {
        name: Variable(name=name, domain=Bounds(lower=Fraction(0), upper=Fraction(high)))
        for name, high in BOUNDS.items()
    }
    return replace(domain, variables={**domain.variables, **numbers})


def wide_of(chance: random.Random) -> Domain:
    """The domain of the attackers with wide numbers, wide weights and many rows to a person."""
    domain = worlds.domain_of(chance)
    rows = chance.choice(ROWS)
    variables = dict(domain.variables)
    for name in ("age", "pay", "weight"):
        bounds = variables[name].bounds
        high = max(bounds.upper, Fraction(chance.choice(sorted(BOUNDS.values()))))
        variables[name] = replace(variables[name], domain=replace(bounds, upper=high))
    neighbours = replace(domain.neighbours, unit="row" if rows == 1 else "person", max_rows=rows)
    return replace(domain, variables=variables, neighbours=neighbours, unit_id=None if rows == 1 else "person")


def toy_request(chance: random.Random) -> dict[str, Any]:
    """A measure, some axes, a budget, and sometimes margins or a named mechanism."""
    measure = chance.choice(["count", "count", "total", "total", "mean", "median"])
    axes = chance.sample(["sex", "region", "status"], chance.randint(0 if measure == "count" else 1, 3))
    table: dict[str, Any] = {"measure": measure, "rows": axes}
    privacy: dict[str, Any] = dict(chance.choice(BUDGETS))
    if measure != "count":
        table["of"] = chance.choice(sorted(BOUNDS))
    elif axes and chance.random() < 0.3:
        table["margins"] = "all"
    if measure != "median" and (mechanism := chance.choice(MECHANISMS)):
        privacy["mechanism"] = mechanism
    return {"table": table, "privacy": privacy}


def wide_request(chance: random.Random) -> dict[str, Any]:
    """Any method with any of its keys under any definition, at extremes of the amounts too."""
    scope = chance.choice(SCOPES)
    request = grammar.request_of(chance, scope)
    if scope is Scope.ALL_DATA and chance.random() < 0.5:
        kept = {k: v for k, v in request["privacy"].items() if k not in ("epsilon", "delta", "rho")}
        request["privacy"] = kept | dict(chance.choice(BUDGETS))
    if request["table"].get("error") == "bootstrap":
        request["table"]["replicates"] = chance.choice((10, 50))
    if "blocks" in request["table"]:
        request["table"]["blocks"] = chance.choice((40, 1000))
    return request


def drawn(chance: random.Random) -> tuple[Domain, dict[str, Any]]:
    """A domain and a request on it; one in twelve is a batch of two to six tables under the guarantee of the first."""
    is_toy = chance.random() < 0.5
    domain = toy_of(chance) if is_toy else wide_of(chance)
    draw = toy_request if is_toy else wide_request
    request = draw(chance)
    if chance.random() < 1 / 12:
        tables = [draw(chance)["table"] for _ in range(chance.randint(2, 6))]
        kept = {k: v for k, v in request["privacy"].items() if k in ("definition", "epsilon", "delta", "rho")}
        return domain, {"table": tables, "privacy": kept}
    return domain, request


def run(quick: bool = False, seed: str = "12") -> dict[str, object]:
    """Seconds of processor time for a preview: median, p90, p99, the slowest; refusals count as previews."""
    chance = random.Random(int(seed))
    times, refused = [], 0
    for _ in range(60 if quick else 1200):
        domain, request = drawn(chance)
        planner = Planner(domain=domain, policy=chance.choice((PolicyDocument(), grammar.POLICY)))
        start = time.process_time()
        try:
            planner.plan(load_asked(request))
        except (DaleniusError, ValueError):
            refused += 1
        took = time.process_time() - start
        times.append((took, f"{request} {domain.neighbours}"))
    times.sort(key=lambda pair: pair[0])
    at = {f"p{p} (s)": round(times[min(len(times) * p // 100, len(times) - 1)][0], 3) for p in (50, 90, 99)}
    return {"previews": len(times), "refused": refused, **at, "slowest": [times[-i] for i in range(1, 16)]}
