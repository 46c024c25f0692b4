"""A fuzzer over everything that can be asked: the exact loss between two neighbours is at most what was charged.

Requests are planned on the public path and answered by the reference engine. For each, data sets are drawn at random
and then steered: a raw value of the worst pair is changed, and the change is kept if the loss did not fall.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any
from unittest.mock import patch

from dalenius.audit.charges import ALLOWED, ratio_of
from dalenius.audit.steps import pair_of
from dalenius.core import registry
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError, InternalError, TooLarge
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.plans import block_design
from dalenius.spec.request import RequestDocument
from dalenius_lab.attackers import grammar, worlds
from dalenius_lab.attackers.worlds import World

# Of so many drawn requests at least one can be planned in every corner that is attacked.
PATIENCE = 60
# What blocks say is reported on so many steps, so that every answer can be listed.
GRID = 6
# Data sets have at most so many units, or where there is too much to be listed, so few.
MOST_UNITS, FEWEST_UNITS = 5, 2


@dataclass(frozen=True)
class Triple:
    """A request and two neighbours, with the largest loss relative to its charge."""

    request: dict[str, Any]
    world: World
    ratio: float


@dataclass
class Findings:
    """What a run saw: how many triples, the worst ratio of each kind of request, and every triple above its charge."""

    triples: int = 0
    planned: int = 0
    refused: int = 0
    too_wide: int = 0
    worst: dict[str, float] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    broken: list[Triple] = field(default_factory=list)

    def note(self, kind: str, triple: Triple) -> None:
        """Count one triple."""
        self.triples += 1
        self.kinds[kind] += 1
        self.worst[kind] = max(self.worst.get(kind, 0.0), triple.ratio)
        if triple.ratio > ALLOWED:
            self.broken.append(triple)

    def add(self, other: "Findings") -> None:
        """What another run saw."""
        self.triples += other.triples
        self.planned += other.planned
        self.refused += other.refused
        self.too_wide += other.too_wide
        self.kinds += other.kinds
        self.broken += other.broken
        for kind, ratio in other.worst.items():
            self.worst[kind] = max(self.worst.get(kind, 0.0), ratio)


def judged(request: dict[str, Any], plan: TablePlan, world: World) -> Triple:
    """One request at one pair of neighbours."""
    pair = pair_of(plan, world.source(is_changed=False), world.source(is_changed=True))
    return Triple(request, world, ratio_of(plan, pair, is_booked=not world.has_group))


def kind_of(request: dict[str, Any], plan: TablePlan) -> str:
    """Method, definition, strategy and mechanism of a plan, for the record."""
    return " / ".join((request["table"]["measure"], plan.definition, plan.strategy, plan.mechanism))


def attack(
    request: dict[str, Any], plan: TablePlan, world: World, chance: random.Random, tries: int
) -> Iterator[Triple]:
    """Random neighbours first, then changes of the worst pair."""
    worst: Triple | None = None
    most = MOST_UNITS
    for number in range(tries):
        is_steered = worst is not None and number >= tries // 3
        drawn = (
            worlds.mutated(worst.world, chance)
            if worst and is_steered
            else _neighbours(world, chance, most, plan.group)
        )
        try:
            triple = judged(request, plan, drawn)
        except TooLarge:
            if most == FEWEST_UNITS:
                raise
            most, worst = FEWEST_UNITS, None
            continue
        if worst is None or triple.ratio >= worst.ratio:
            worst = triple
        yield triple


def _neighbours(world: World, chance: random.Random, most: int, group: int) -> World:
    """One unit changes, or two where the guarantee is made to so many."""
    drawn = worlds.redrawn(world, chance, most)
    return worlds.grouped(drawn, chance) if group > 1 and chance.random() < 0.7 else drawn


def drawn(chance: random.Random, method: str = "", definition: str = "") -> tuple[World, dict[str, Any]]:
    """A request, and a pair of neighbours for which its definition makes its guarantee."""
    scope = Scope(registry.get("definitions", definition).scope) if definition else Scope.ALL_DATA
    world = worlds.world_of(chance, has_public=scope is Scope.GIVEN_THE_PUBLIC)
    request = grammar.request_of(chance, scope, method_name=method, definition=definition)
    is_estimate = hasattr(registry.get("methods", request["table"]["measure"]), "sum_plan")
    if is_estimate and scope is Scope.ALL_DATA and chance.random() < 0.3:
        grammar.combine(request, chance)
    return world, request


def planned(world: World, request: dict[str, Any]) -> TablePlan:
    """The plan of a request on the public path, with the grid of blocks coarse enough to be listed."""
    planner = Planner(domain=world.domain, policy=grammar.POLICY)
    with patch.object(block_design, "Blocks", partial(Blocks, width=GRID)):
        return planner.plan(RequestDocument.model_validate(request))


def fuzz(
    seed: int,
    requests: int,
    tries: int = 12,
    *,
    method: str = "",
    definition: str = "",
    keys: Mapping[str, Mapping[str, object]] | None = None,
    modifiers: Sequence[str] = (),
    is_ended_by_fault: bool = False,
    seconds: float = inf,
) -> Findings:
    """So many plans, each on so many pairs; a method, a definition, keys of a part of the request or modifiers of an
    estimate may be fixed.

    Refused requests, and those with laws that are too wide to be listed, do not count: an attacker that is mostly
    refused would report that it found nothing. A fixed key that is None is left out of the request. After so many
    seconds of processor time there are fewer plans.
    """
    chance, findings = random.Random(seed), Findings()
    begun = time.process_time()
    while findings.planned < requests and time.process_time() - begun < seconds:
        world, request = drawn(chance, method, definition)
        if modifiers:
            request["privacy"].pop("group", None)
            grammar.combine(request, chance, *modifiers)
        for part, fixed in (keys or {}).items():
            merged = request[part] | fixed
            request[part] = {name: value for name, value in merged.items() if value is not None}
        try:
            plan = planned(world, request)
        except (DaleniusError, ValueError):
            findings.refused += 1
            if findings.refused > PATIENCE * (findings.planned + 1):
                raise InternalError("Almost everything in this corner of the grammar is refused.") from None
            continue
        try:
            for triple in attack(request, plan, world, chance, tries):
                findings.note(kind_of(request, plan), triple)
                if is_ended_by_fault and findings.broken:
                    findings.planned += 1
                    return findings
        except TooLarge:
            # Fourth powers have laws of 10^10 answers; the kit of statistics goes through their neighbours.
            findings.too_wide += 1
            if findings.too_wide > PATIENCE * (findings.planned + 1):
                raise InternalError("Almost no law in this corner of the grammar can be listed.") from None
            continue
        findings.planned += 1
    return findings
