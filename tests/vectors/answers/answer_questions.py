"""Which requests are recorded: those of the vectors and pages, every example with every modifier that plans, and 300 drawn ones.

Used when the file is made; a comparison takes the requests from the file.
"""

import json
import random
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "stored"))

import stored_cases
from answer_places import UNITS

from dalenius.core import registry
from dalenius.core.neighbours import Scope
from dalenius.testing import rule_kit
from dalenius_lab.attackers import grammar

ROOT = Path(__file__).parents[3]
GENERATED = 300
COMBINED = 260
TRIES = 45
Case = dict[str, Any]
Request = dict[str, Any]
TOYS = [f"toys {unit}" for unit in UNITS]
DESIGNS = ("toys sized", "toys census", "toys clusters", "toys undeclared")
RHO = {"definition": "zero_concentrated", "rho": "1/2"}
TWO = {"definition": "approximate", "epsilon": 2, "delta": "1e-4"}
# What is combined with an example: keys of its table, keys of its privacy.
MODIFIERS: dict[str, tuple[Request, Request]] = {
    "sampling": ({"error": "sampling"}, {}),
    "noise": ({"error": "noise"}, {}),
    "bootstrap": ({"error": "bootstrap", "replicates": 20}, {}),
    "weight": ({"weight": "weight"}, {}),
    "weight, sampling": ({"weight": "weight", "error": "sampling"}, {}),
    "margins": ({"rows": ["sex", "region"], "margins": "all"}, {}),
    "margins, sampling": ({"rows": ["sex", "region"], "margins": "all", "error": "sampling"}, {}),
    "margins, weight": ({"rows": ["sex", "region"], "margins": "all", "weight": "weight"}, {}),
    "zeros": ({"rows": ["sex", "status"], "margins": "all"}, {}),
    "levels": ({"rows": ["sex", "region"], "margins": [["sex", "region"], ["region.half"], []]}, {}),
    "by region": ({"rows": ["region"]}, {}),
    "learned bounds": ({"learn_bounds": "1/4"}, {}),
    "candidates": ({"learn_bounds": "1/4", "candidates": [0, 10, 20, 40]}, {}),
    "where": ({"where": {"sex": "female", "age": {"at_least": 18}}}, {}),
    "group": ({}, {"group": 2}),
    "waves": ({}, {"waves": 2}),
    "two numbers": ({}, TWO),
    "rho": ({}, RHO),
}


def cases(is_planned: Callable[[Case], bool]) -> list[Case]:
    """Every case once: those of vectors and pages as they are, of the others those that plan."""
    found: dict[str, Case] = {}
    seen: set[str] = set()
    for case in _recorded():
        _add(found, seen, case)
    for case in (*_pages(), *_defaults(), *_lists(), *_rules()):
        if is_planned(case):
            _add(found, seen, case)
    for most, asked in ((COMBINED, _examples()), (GENERATED, _drawn())):
        planned = [case for case in asked if _key(case) not in seen and is_planned(case)]
        for case in _spread(planned, most):
            _add(found, seen, case)
    return list(found.values())


def _key(case: Case) -> str:
    return json.dumps([case["place"], case["request"], case.get("policy")], sort_keys=True, default=list)


def _add(found: dict[str, Case], seen: set[str], case: Case) -> None:
    if _key(case) not in seen:
        seen.add(_key(case))
        name, number = case["name"], 1
        while case["name"] in found:
            number += 1
            case["name"] = f"{name} ({number})"
        found[case["name"]] = case


def _case(name: str, place: str, request: Any, **more: Any) -> Case:
    return {"name": name, "place": place, "request": json.loads(json.dumps(request, default=list)), **more}


def _recorded() -> Iterator[Case]:
    """Requests of `stored_cases.py` and of `later.json`."""
    for name, (place, request, rules) in stored_cases.CASES.items():
        more = {"policy": {"table": rules}} if rules else {}
        yield _case(f"stored: {name}", f"stored {place}", _with_universe(request), **more)
    later = json.loads((ROOT / "tests/vectors/stored/later.json").read_text())
    for name, was in later["cases"].items():
        yield _case(f"later: {name}", f"toys {was['place']}", was["request"])


def _with_universe(request: Request) -> Request:
    """A stored request that says whose records a list covers."""
    if isinstance(request["table"], list):
        return request
    table = dict(request["table"])
    if "margins" in table:
        # Without it a list is refused wherever an axis can drop a row.
        table.setdefault("universe", "complete")
    return {**request, "table": table}


def _pages() -> Iterator[Case]:
    """Requests of pages whose variables are those of the examples."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.M | re.S)):
            request = tomllib.loads(block)
            if "privacy" in request and "table" in request:
                yield _case(f"page: {page.stem} {number}", "toys rows", _with_universe(request))


def _examples() -> Iterator[Case]:
    """Examples of every method, of every unit and with every modifier; every strategy, noise and definition."""
    for method, entry in registry.every("methods").items():
        for number, example in enumerate(entry.examples):
            table, privacy = {"measure": method, **example["table"]}, dict(example["privacy"])
            for place in (*TOYS, *(DESIGNS if number == 0 or "error" in table else ())):
                yield _case(f"{method} {number}, {place}", place, {"table": table, "privacy": privacy})
            if number:
                continue
            for name, (more, named) in MODIFIERS.items():
                amount = named if "definition" in named else privacy | named
                asked = {"table": table | more, "privacy": amount}
                yield _case(f"{method}, {name}", "toys sized" if "size" in name else "toys rows", asked)
    for strategy in registry.names("plans.margins.strategies"):
        for place, privacy in (("toys rows", RHO), ("toys replaced_persons", {"definition": "pure", "epsilon": 2})):
            for name, part in (("pairs", rule_kit.PAIRS), ("levels", MODIFIERS["levels"][0])):
                for measure in ({}, {"measure": "total", "of": "income"}, {"measure": "mean", "of": "income"}):
                    asked = {"table": {**part, **measure}, "privacy": privacy | {"strategy": strategy}}
                    label = f"strategy {strategy}, {measure.get('measure', 'count')} of {name}"
                    yield _case(f"{label}, {place}", place, asked)
    for noise in registry.names("mechanisms"):
        for place in ("toys rows", "toys replaced_persons"):
            for privacy in (TWO, RHO, {"definition": "pure", "epsilon": 2}):
                asked = {"table": {"rows": ["sex"], "columns": ["region"]}, "privacy": privacy | {"mechanism": noise}}
                yield _case(f"noise {noise}, {place}, {privacy['definition']}", place, asked)


def _defaults() -> Iterator[Case]:
    """Requests without any key but what is asked for, and with the best known ones beside them."""
    cross: Request = {"rows": ["sex", "region"]}
    income = {"of": "income", "rows": ["region"]}
    asked: dict[str, tuple[Request, Request]] = {
        "mean": ({"measure": "mean", **income}, {}),
        "mean of all": ({"measure": "mean", "of": "income"}, {}),
        "mean, both errors": ({"measure": "mean", **income, "error": "sampling"}, {}),
        "median": ({"measure": "median", **income}, {}),
        "median by depth": ({"measure": "median", **income, "method": "exponential"}, {}),
        "ratio": ({"measure": "ratio", "other": "age", **income}, {}),
        "variance": ({"measure": "variance", **income}, {}),
        "hierarchy": ({**MODIFIERS["levels"][0]}, {}),
        "hierarchy, cells": ({**MODIFIERS["levels"][0], "objective": "cells"}, {}),
        "zeros": ({**MODIFIERS["zeros"][0]}, {}),
        "zeros, cells": ({**MODIFIERS["zeros"][0], "objective": "cells"}, {}),
        "zeros of one table": ({"rows": ["sex", "status"]}, {}),
        "list": ({**MODIFIERS["margins"][0]}, {}),
        "list of totals": ({**MODIFIERS["margins"][0], "measure": "total", "of": "income"}, {}),
        "list of means": ({**MODIFIERS["margins"][0], "measure": "mean", "of": "income"}, {}),
        "Gaussian table": (cross, {"mechanism": "discrete_gaussian"}),
        "table": (cross, {}),
    }
    for name, (table, more) in asked.items():
        for privacy in (TWO, RHO, {"definition": "pure", "epsilon": 1}):
            for place in ("toys rows", "toys replaced", "toys sized"):
                request = {"table": table, "privacy": privacy | more}
                yield _case(f"default: {name}, {privacy['definition']}, {place}", place, request)


def _lists() -> Iterator[Case]:
    """Objectives and universes of lists; batches; what is shown."""
    for place in ("toys rows", "toys replaced"):
        for name in ("margins", "zeros", "levels"):
            for objective in ("cells", "tables", "maximum"):
                asked = {"table": MODIFIERS[name][0] | {"objective": objective}, "privacy": TWO}
                yield _case(f"{name}, {objective}, {place}", place, asked)
    for universe in ("own", "complete"):
        asked = {"table": MODIFIERS["margins"][0] | {"universe": universe}, "privacy": RHO}
        yield _case(f"{universe} universe", "toys lossy", asked)
    tables = [
        {"rows": ["sex"], "columns": ["region"], "title": "Everybody"},
        {"rows": ["sex"], "measure": "total", "of": "income", "share": 2},
        {"measure": "mean", "of": "age", "error": "sampling"},
    ]
    for privacy in (TWO, RHO):
        yield _case(f"batch, {privacy['definition']}", "toys rows", {"table": tables, "privacy": privacy})
    for show in ({"nonnegative": True}, {"whole": True}, {"consistent": True}, {"least": 0}):
        asked = {"table": MODIFIERS["margins"][0], "privacy": RHO, "show": show}
        yield _case(f"shown {next(iter(show))}", "toys rows", asked)


def _rules() -> Iterator[Case]:
    """Every rule of a policy on counts, totals and margins."""
    tables: tuple[Request, ...] = (
        {"rows": ["sex", "region"]},
        {"rows": ["sex"], "measure": "total", "of": "income"},
        MODIFIERS["margins"][0],
    )
    for name, rule in rule_kit.RULES.items():
        for number, table in enumerate(tables):
            request = {"table": table, "privacy": TWO}
            yield _case(f"rule {name} {number}", "toys rows", request, policy=json.loads(json.dumps(rule.policy)))


def _drawn() -> Iterator[Case]:
    """Requests over the whole grammar, so many tries for each method."""
    chance = random.Random("recorded answers")
    places = [f"worlds {unit}{drops}" for unit in UNITS for drops in ("", " dropping")] + ["worlds sized"]
    for scope in Scope:
        methods = [name for name, method in registry.every("methods").items() if scope in method.scopes]
        for method in methods:
            for number in range(TRIES if scope is Scope.ALL_DATA else TRIES // 3):
                request = grammar.request_of(chance, scope, method_name=method)
                yield _case(f"drawn: {method} {scope} {number}", chance.choice(places), request)


def _spread(planned: list[Case], most: int) -> list[Case]:
    """Those requests that together show most pairs of what can be combined."""
    left = [(case, _traits(case)) for case in planned]
    shown: set[Any] = set()
    kept: list[Case] = []
    while left and len(kept) < most:
        place = max(range(len(left)), key=lambda k: len(left[k][1] - shown))
        case, traits = left.pop(place)
        shown |= traits
        kept.append(case)
    return kept


def _traits(case: Case) -> set[Any]:
    """Pairs of place, definition and keys with their short values, within a method; single ones count thrice."""
    table, privacy = case["request"]["table"], case["request"]["privacy"]
    if isinstance(table, list):
        return {("batch", case["name"])}
    measure = table.get("measure", "count")
    parts = {f"place={case['place']}", f"definition={privacy['definition']}"}
    for key, value in {**table, **privacy}.items():
        is_word = isinstance(value, bool) or (isinstance(value, str) and value.isidentifier())
        parts.add(f"{key}={value}" if is_word else key)
    alone = {(measure, part, again) for part in parts for again in range(3)}
    return alone | {(measure, *pair) for pair in combinations(sorted(parts), 2)}
