"""What every way to measure counts states, and which of them a request takes.

The routes of `plans/counts` are looked at by rising place, and the first that the request asks for plans it. Keys of
the others stay unread, so that the planner refuses them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core import registry
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.spec.document import Part
from dalenius.spec.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRoute:
    """One way to measure counts: when it is taken, the keys that it adds to a count, its plan and its examples."""

    place: int
    is_asked: Callable[[Question], bool]
    plan: Callable[[Question], TablePlan]
    examples: tuple[Mapping[str, Any], ...]
    scopes: tuple[Scope, ...] = (Scope.ALL_DATA,)
    keys: type[Part] = Part
    canonical_keys: Callable[[Mapping[str, Any]], dict[str, Any]] = dict


def routes() -> list[CountRoute]:
    """Every route, in the order in which they are looked at."""
    return sorted(registry.own("plans.counts").values(), key=lambda route: route.place)


def plan_count(question: Question) -> TablePlan:
    """The plan of the first route that the request asks for."""
    open_routes = (route for route in routes() if question.scope in route.scopes)
    return next(route.plan for route in open_routes if route.is_asked(question))(question)


def count_keys() -> type[Part]:
    """The keys of all routes together."""
    parts = [route.keys for route in reversed(routes()) if route.keys is not Part]
    return type("CountParameters", tuple(parts), {"__doc__": "Keys of a count.", "__module__": __name__})


def canonical_count_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys in the one spelling in which a request is kept."""
    canonical = dict(keys)
    for route in routes():
        canonical = route.canonical_keys(canonical)
    return canonical
