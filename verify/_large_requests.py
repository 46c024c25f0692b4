"""The kit that every method must pass because a preview is free: large requests are planned or refused with little
work.

Requests are a method's own examples on a declaration with long lists of categories, fine numbers and several rows per
person, each with its lists and numbers grown. Work is measured in a process of its own (`verify._usage`), so
that no clock of a busy machine decides. The kit never names a method.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dalenius.core import registry
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Scope
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of
from verify._usage import Usage, usage_of

SECONDS, MEGABYTES = 1.0, 256.0
"""Processor time and memory that one preview may take."""
LABELS = 1000
_MANY = 20_000
_PEOPLE: dict[str, dict[str, Any]] = {
    "rows": {},
    "two rows": {"id": "person", "max_rows": 2},
    "thirteen rows": {"id": "person", "max_rows": 13, "relation": "replace"},
}
_BUDGETS: tuple[dict[str, Any], ...] = (
    {"definition": "zero_concentrated", "rho": 1, "delta": "1e-6"},
    {"definition": "approximate", "epsilon": 1, "delta": "1e-6"},
    {"definition": "pure", "epsilon": 1},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeRequest:
    """A large request on one of the declarations."""

    name: str
    people: str
    request: Mapping[str, Any]


@cache
def declared(people: str) -> Domain:
    """The declaration of the other kits with many categories and fine numbers."""
    codes = [f"r{number:04}" for number in range(LABELS)]
    halves = {"upper": codes[: LABELS // 2], "lower": codes[LABELS // 2 :]}
    tenths = {f"t{tenth}": codes[tenth * LABELS // 10 : (tenth + 1) * LABELS // 10] for tenth in range(10)}
    large: dict[str, dict[str, Any]] = {
        "region": {"categories": codes, "hierarchies": {"half": halves, "tenth": tenths}},
        "status": {"categories": [f"s{number}" for number in range(100)]},
        "income": {"bounds": [-(10**9), 10**9], "step": "0.01"},
        "weight": {"weight": True, "bounds": [0, 100_000], "step": "0.0001"},
    }
    variables = {
        name: {**part, **large.get(name, {}), "missing": "drop", "unseen": "drop"}
        if "categories" in part and name in large
        else {**part, **large.get(name, {})}
        for name, part in rule_kit.DATASET["variables"].items()
    }
    document = {"dataset": rule_kit.DATASET["dataset"], "unit": _PEOPLE[people], "variables": variables}
    return load_dataset(document).domain()


def cases(method: Any) -> Iterator[LargeRequest]:
    """Every example on every declaration, its lists grown on the first, and what all methods share."""
    for number, example in enumerate(method.examples):
        table = {"measure": method.name, **example["table"]}
        privacy = example["privacy"]
        for people in _PEOPLE:
            yield LargeRequest(name=f"example {number}", people=people, request={"table": table, "privacy": privacy})
        for key, value in table.items():
            for label, larger in _grown(value):
                asked = {"table": {**table, key: larger}, "privacy": privacy}
                yield LargeRequest(name=f"example {number}, {key} {label}", people="rows", request=asked)
    first = {"measure": method.name, **method.examples[0]["table"]}
    wide = {**first, "rows": ["region"], "columns": ["status"]}
    for privacy in _BUDGETS:
        if _is_everywhere(method.examples[0]["privacy"]):
            yield LargeRequest(name="wide", people="rows", request={"table": wide, "privacy": privacy})
    margins = {**wide, "margins": "all", "universe": "complete"}
    listed = {**wide, "margins": [["region"], ["status"], ["region.half"], []] * 100, "universe": "complete"}
    for people in _PEOPLE:
        for label, table in (("margins", margins), ("many margins", listed)):
            yield LargeRequest(name=label, people=people, request={"table": table, "privacy": _BUDGETS[0]})


def strategy_cases() -> Iterator[LargeRequest]:
    """Every strategy of margins on every declaration, along the hierarchy too."""
    table = {"rows": ["region"], "columns": ["sex"], "universe": "complete"}
    flat = [["region", "sex"], ["sex"], []]
    levels = [["region", "sex"], ["region.tenth", "sex"], ["region.half"], []]
    for strategy in registry.names("plans.margins.strategies"):
        for people in _PEOPLE:
            for label, margins in (("margins", flat), ("levels", levels)):
                for privacy in _BUDGETS:
                    asked = {"table": {**table, "margins": margins}, "privacy": {**privacy, "strategy": strategy}}
                    name = f"{strategy}, {label}, {privacy['definition']}"
                    yield LargeRequest(name=name, people=people, request=asked)


def _is_everywhere(privacy: Mapping[str, Any]) -> bool:
    return registry.get("definitions", privacy["definition"])().scope is Scope.ALL_DATA


def _grown(value: Any) -> Iterator[tuple[str, Any]]:
    """A value of a request, larger in each way that its kind allows."""
    if isinstance(value, bool) or (isinstance(value, str) and not _is_number(value)):
        return
    if isinstance(value, Mapping):
        yield "of many keys", {**value, **{str(number): 1 for number in range(_MANY)}}
        for key, part in value.items():
            for label, larger in _grown(part):
                yield f"{key} {label}", {**value, key: larger}
    elif isinstance(value, list | tuple):
        yield "again and again", [*value] * (_MANY // max(len(value), 1))
        if value and not isinstance(value[0], str | list | tuple | Mapping):
            yield "of many numbers", list(range(1, _MANY))
    else:
        yield "large", 1_000_000
        yield "small", "1/1000000"


def _is_number(text: str) -> bool:
    return text.replace("/", "").replace(".", "").replace("-", "").isdecimal()


def usage(case: LargeRequest) -> Usage:
    domain, policy = declared(case.people), rule_kit.policy_of(None)
    return usage_of(lambda: plan_of(domain, case.request, policy))


def check(case: LargeRequest, seconds: float = SECONDS) -> Usage:
    """Fail where a case takes too much, or ends in anything but a plan or a refusal.

    Processor time grows while others use the machine; the least of three runs is judged.
    """
    taken = usage(case)
    for _ in range(2):
        if taken.seconds > seconds and taken.refusal != "killed":
            taken = min(taken, usage(case), key=lambda one: one.seconds)
    assert taken.seconds <= seconds and taken.megabytes <= MEGABYTES, (case.name, case.people, taken)
    assert taken.refusal == taken.refusal.lower() != "killed", (case.name, case.people, taken)
    return taken


def warm() -> None:
    """Import what plans import, so that no measured process does."""
    import scipy.linalg
    import scipy.optimize
    import scipy.signal
    import scipy.special
    import scipy.stats

    _ = (scipy.linalg, scipy.optimize, scipy.signal, scipy.special, scipy.stats)
    for package in ("methods", "mechanisms", "definitions", "measurements", "plans.margins.strategies"):
        registry.every(package)
    for people in _PEOPLE:
        declared(people)
