"""How long free previews take, over requests drawn from the whole grammar: each is planned once, nothing is read.

The p99 should stay below a second: a preview is open to everybody who may ask, so it must not be a way to keep a server busy.
"""

import random
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dalenius.core.domain import Bounds, Domain, Variable
from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius.testing.toy import toy_domain

BOUNDS = {"small": 9, "thousands": 5000, "wide": 200_000, "widest": 1 << 31}
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


def domain_of(chance: random.Random) -> Domain:
    """The toy domain with numbers of every width, under some relation and some number of rows to a person."""
    rows = chance.choice([1, 1, 2, 12, 20, 1000])
    domain = toy_domain(
        relation=chance.choice(["add-remove", "replace"]),
        unit_id=None if rows == 1 else "person",
        max_rows=rows,
    )
    numbers = {
        name: Variable(name=name, domain=Bounds(lower=Fraction(0), upper=Fraction(high)))
        for name, high in BOUNDS.items()
    }
    return replace(domain, variables={**domain.variables, **numbers})


def request_of(chance: random.Random) -> dict[str, Any]:
    """One request: a measure, some axes, a budget, and sometimes margins or a named mechanism."""
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


def run(quick: bool = False) -> dict[str, object]:
    """Seconds of processor time for a preview: median, p90, p99, the slowest; refusals count as previews."""
    chance = random.Random(12)
    times, refused = [], 0
    for _ in range(60 if quick else 600):
        domain, request = domain_of(chance), request_of(chance)
        planner = Planner(domain=domain, policy=PolicyDocument())
        start = time.process_time()
        try:
            planner.plan(RequestDocument.model_validate(request))
        except DaleniusError:
            refused += 1
        took = time.process_time() - start
        times.append((took, f"{request} {domain.neighbours}"))
    times.sort(key=lambda pair: pair[0])
    at = {f"p{p} (s)": round(times[min(len(times) * p // 100, len(times) - 1)][0], 3) for p in (50, 90, 99)}
    return {"previews": len(times), "refused": refused, **at, "slowest": [times[-i] for i in range(1, 8)]}
