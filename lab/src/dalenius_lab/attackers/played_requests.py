"""Requests over the whole grammar, recorded on tiny data and played on their neighbours, in every engine.

Data sets are drawn at random and then steered: a raw value of the pair that moved the furthest is changed, and the
change is kept if the distance did not fall. The furthest pair of every plan is then played in the other engines, whose
exact answers must move as far.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from dalenius.audit.planned import Row, Unit
from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Relation
from dalenius.core.plan import TablePlan
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError, InternalError
from dalenius_lab.attackers import neighbour_fuzzer, worlds
from dalenius_lab.attackers.input_distances import ALLOWED, Distance, NeighbourPlay
from dalenius_lab.attackers.worlds import World

Columns = Mapping[str, list[Any]]
Opened = Callable[[Domain, Columns, bytes], Source]
SECRET = b"a secret of the attacker"
PATIENCE = 80


def in_memory(domain: Domain, columns: Columns, secret: bytes) -> Source:
    """The reference engine."""
    return MemorySource(domain, columns, secret, rows=len(next(iter(columns.values()))))


@dataclass
class Moves:
    """What was compared, by method, engine and relation; the furthest move of each kind of step; what moved too far."""

    plays: int = 0
    plans: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    left_open: Counter[str] = field(default_factory=Counter)
    corners: set[tuple[str, str, str]] = field(default_factory=set)
    furthest: dict[str, float] = field(default_factory=dict)
    broken: list[tuple[str, float, dict[str, Any]]] = field(default_factory=list)

    def note(self, corner: tuple[str, str, str], request: dict[str, Any], moved: list[Distance]) -> float:
        """Count one play; the furthest of its steps."""
        self.plays += 1
        most = 0.0
        for one in moved:
            if one.ratio is None:
                self.left_open[one.kind] += 1
                continue
            self.compared[one.kind] += 1
            self.corners.add(corner)
            self.furthest[one.kind] = max(self.furthest.get(one.kind, 0.0), one.ratio)
            most = max(most, one.ratio)
            if one.ratio > ALLOWED:
                self.broken.append((one.kind, one.ratio, request))
        return most


def columns_of(domain: Domain, units: tuple[Unit, ...]) -> Columns:
    """Rows of units as columns of one type each, as databases hold them."""
    rows = [(number, row) for number, unit in enumerate(units) for row in unit]
    columns: dict[str, list[Any]] = {
        variable.source_column: [row[name] for _, row in rows] for name, variable in domain.variables.items()
    }
    if domain.unit_id is not None:
        columns[domain.unit_id] = [f"p{number}" for number, _ in rows]
    return columns


def typed(world: World) -> World:
    """The same units with numbers in columns of numbers, and nothing where a number cannot be read."""

    def plain(row: Row) -> Row:
        numeric = {name for name, variable in world.domain.variables.items() if variable.is_numeric}
        return {name: _number(value) if name in numeric else value for name, value in row.items()}

    def units(whole: tuple[Unit, ...]) -> tuple[Unit, ...]:
        return tuple(tuple(plain(row) for row in unit) for unit in whole)

    other = None if world.other is None else units((world.other,))[0]
    return replace(world, units=units(world.units), other=other, further=units(world.further))


def _number(value: object) -> float | None:
    try:
        return None if value is None else float(str(value))
    except ValueError:
        return None


def _compare(
    plan: TablePlan, world: World, opened: Opened, seed: int, earlier: NeighbourPlay | None = None
) -> tuple[list[Distance], NeighbourPlay]:
    here, there = (opened(world.domain, columns_of(world.domain, side), SECRET) for side in world.sides)
    try:
        recorded = NeighbourPlay(plan, here, seed, None if earlier is None else earlier.maps)
        return recorded.distances(there), recorded
    finally:
        for source in (here, there):
            getattr(source, "close", lambda: None)()


def attack(
    seed: int,
    method: str,
    relation: Relation,
    *,
    plans: int,
    pairs: int,
    engines: Mapping[str, Opened] | None = None,
    slow: Mapping[str, Opened] | None = None,
    definition: str = "",
    keys: Mapping[str, Mapping[str, object]] | None = None,
    is_ended_by_fault: bool = False,
    seconds: float = inf,
) -> Moves:
    """So many plans of one method under one relation, each on so many pairs; the furthest pair of each in the other
    engines.

    Slow engines play plans until a step of one was compared there.
    """
    chance, moves, refused, begun = random.Random(seed), Moves(), 0, time.process_time()
    while moves.plans < plans and time.process_time() - begun < seconds:
        if refused > PATIENCE * (moves.plans + 1):
            raise InternalError(f"Almost everything that is asked of {method} is refused.")
        world, request = neighbour_fuzzer.drawn(chance, method, definition)
        for part, fixed in (keys or {}).items():
            merged = request[part] | fixed
            request[part] = {name: value for name, value in merged.items() if value is not None}
        world = _under(world, relation, chance)
        try:
            plan = neighbour_fuzzer.planned(world, request)
        except (DaleniusError, ValueError):
            refused += 1
            continue
        if plan.group > 1:
            refused += 1
            continue
        moves.plans += 1
        furthest, earlier = _steered(moves, (method, "memory", str(relation)), request, plan, world, chance, pairs)
        if is_ended_by_fault and moves.broken:
            return moves
        waiting = {n: o for n, o in (slow or {}).items() if (method, n, str(relation)) not in moves.corners}
        others = {**(engines or {}), **waiting}
        for name, opened in others.items():
            moved, _ = _compare(plan, furthest, opened, seed, earlier)
            moves.note((method, name, str(relation)), request, moved)
    return moves


def _under(world: World, relation: Relation, chance: random.Random) -> World:
    domain = world.domain
    size = domain.public_size if relation is Relation.REPLACE else None
    neighbours = replace(domain.neighbours, relation=relation)
    return worlds.redrawn(replace(world, domain=replace(domain, neighbours=neighbours, public_size=size)), chance)


def _steered(
    moves: Moves,
    corner: tuple[str, str, str],
    request: dict[str, Any],
    plan: TablePlan,
    world: World,
    chance: random.Random,
    pairs: int,
) -> tuple[World, NeighbourPlay]:
    """Random neighbours first, then changes of the pair that moved the furthest."""
    furthest: tuple[float, World] | None = None
    earlier: NeighbourPlay | None = None
    for number in range(pairs):
        is_steered = furthest is not None and number >= pairs // 2
        drawn = worlds.mutated(furthest[1], chance) if furthest and is_steered else worlds.redrawn(world, chance)
        drawn = typed(drawn)
        moved, earlier = _compare(plan, drawn, in_memory, number, earlier)
        most = moves.note(corner, request, moved)
        if furthest is None or most >= furthest[0]:
            furthest = most, drawn
    assert furthest is not None and earlier is not None
    return furthest[1], earlier
