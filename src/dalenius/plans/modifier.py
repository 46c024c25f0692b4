"""Modifiers: what can be combined with every estimator, each by acting on one field of a plan of sums."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dalenius.algebra.estimator import Estimator
from dalenius.core import registry
from dalenius.plans.sum_plan import SumPlan
from dalenius.spec.document import Part
from dalenius.spec.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Modifier:
    """One file of `modifiers`.

    Modifiers are applied in the order of `place`; each reads what lower places set. `keys` are its keys in [table],
    and `belongs` says with what else each makes sense. `refuses` gives the reason why it cannot be combined with an
    estimator, or nothing; it asks for what the estimator states, never for its name. `canonical` writes its keys in one
    spelling. `example` is what a request says to ask for it, or a data set, by section.
    """

    name: str
    place: int
    owns: str
    is_asked: Callable[[Question], bool]
    apply: Callable[[SumPlan], SumPlan]
    refuses: Callable[[Estimator], str] = lambda estimator: ""
    keys: type[Part] = Part
    example: Mapping[str, Any] = field(default_factory=dict)
    belongs: Mapping[str, str] = field(default_factory=dict)
    canonical: Callable[[Mapping[str, Any]], dict[str, Any]] = dict


def modifiers() -> tuple[Modifier, ...]:
    return tuple(sorted(registry.every("modifiers").values(), key=lambda modifier: (modifier.place, modifier.name)))
