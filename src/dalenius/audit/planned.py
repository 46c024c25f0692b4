"""A custodian's own request under attack: the exact loss of its plan at neighbours that its declaration allows.

No data are read. Small data sets are drawn from the declaration (declared, missing, undeclared and far values alike),
one unit is added, removed or replaced, and the loss is computed from the laws of the noise and the exact answers at
both, with nothing taken from the plan's own claim. Pairs that come near the charge are changed further.
"""

import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dalenius.audit.charges import ALLOWED, ratio_of
from dalenius.audit.steps import pair_of
from dalenius.core.domain import Bounds, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import TablePlan
from dalenius.engines.memory import MemorySource
from dalenius.errors import Unsupported

_MOST_UNITS = 5

Row = dict[str, Any]
Unit = tuple[Row, ...]


@dataclass(frozen=True)
class World:
    """A declared domain and units of raw rows in it; the last one leaves, and `other` comes in its place if given."""

    domain: Domain
    units: tuple[Unit, ...]
    other: Unit | None

    @property
    def coming(self) -> tuple[Unit, ...]:
        return () if self.other is None else (self.other,)

    def source(self, *, is_changed: bool) -> MemorySource:
        return source_of(self.domain, (*self.units[:-1], *self.coming) if is_changed else self.units)


def source_of(domain: Domain, units: tuple[Unit, ...]) -> MemorySource:
    """Units as a source; a person is numbered by its place, and the last one has a name of its own."""
    rows = [(number, row) for number, unit in enumerate(units) for row in unit]
    columns = {v.source_column: [row[name] for _, row in rows] for name, v in domain.variables.items()}
    if domain.unit_id is not None:
        columns[domain.unit_id] = [f"p{number}" for number, _ in rows]
    return MemorySource(domain, columns, b"a secret of the attacker", rows=len(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAudit:
    """How many pairs of neighbours were compared, and the largest loss as a share of what is charged."""

    pairs: int
    largest: float

    @property
    def is_kept(self) -> bool:
        return self.largest <= ALLOWED

    def to_dict(self) -> dict[str, object]:
        return {"pairs": self.pairs, "largest_share_of_charge": self.largest, "is_kept": self.is_kept}


def audit_plan(domain: Domain, plan: TablePlan, *, pairs: int = 50, seed: int = 1) -> PlanAudit:
    """The largest exact loss of a plan over so many neighbours, relative to guarantee and charge."""
    if plan.neighbours.scope.is_data_dependent:
        raise Unsupported(
            "A guarantee that holds at the data at hand cannot be audited without them; `dalenius inspect plan` looks "
            "at it there."
        )
    # Whatever a lookup or a feature gives is something that is declared, and so it is enough to draw that.
    domain = domain.without_derivation()
    chance, largest, worst = random.Random(seed), 0.0, None
    for number in range(pairs):
        is_close = worst is not None and number >= pairs // 3 and chance.random() < 0.7
        world = _changed(worst, chance) if is_close and worst is not None else _drawn(domain, plan.neighbours, chance)
        world = _agreeing(world, plan.neighbours)
        both = pair_of(plan, world.source(is_changed=False), world.source(is_changed=True))
        ratio = ratio_of(plan, both)
        if ratio >= largest:
            largest, worst = ratio, world
    return PlanAudit(pairs=pairs, largest=largest)


def _drawn(domain: Domain, neighbours: Neighbours, chance: random.Random) -> World:
    units = tuple(_unit(domain, chance) for _ in range(chance.randint(1, _MOST_UNITS)))
    return World(domain, units, _unit(domain, chance) if neighbours.is_replace else None)


def _agreeing(world: World, neighbours: Neighbours) -> World:
    """The world in which the replaced unit has as many rows as before, and keeps what is public in each."""
    if not neighbours.public or world.other is None:
        return world
    unit, other = world.units[-1], world.other
    kept = [{name: row[name] for name in neighbours.public} for row in unit]
    rows = tuple(other[place % len(other)] | public for place, public in enumerate(kept))
    return World(world.domain, world.units, rows)


def _changed(world: World, chance: random.Random) -> World:
    units = [*world.units, *world.coming]
    place = chance.randrange(len(units))
    rows = list(units[place])
    row = chance.randrange(len(rows))
    name = chance.choice(list(world.domain.variables))
    rows[row] = rows[row] | {name: _raw(world.domain.variables[name], chance)}
    units[place] = tuple(rows)
    other = None if world.other is None else units[-1]
    return World(world.domain, tuple(units[: len(world.units)]), other)


def _unit(domain: Domain, chance: random.Random) -> Unit:
    """A row, or a person who may bring one row more than count; often as far out as is declared, in every row alike."""
    most = 1 if domain.unit_id is None else domain.neighbours.max_rows + 1
    if chance.random() < 0.5:
        row = _row(domain, chance)
        for name, variable in domain.variables.items():
            if isinstance(variable.domain, Bounds):
                row[name] = _written(max(variable.domain.lower, variable.domain.upper, key=abs))
        return (row,) * domain.neighbours.max_rows
    return tuple(_row(domain, chance) for _ in range(chance.randint(1, most)))


def _row(domain: Domain, chance: random.Random) -> Row:
    return {name: _raw(variable, chance) for name, variable in domain.variables.items()}


def _raw(variable: Variable, chance: random.Random) -> object:
    """A value as a file may hold it: usually declared, sometimes missing, undeclared or far outside."""
    draw, declared = chance.random(), variable.domain
    if draw < 0.08:
        return None
    if not isinstance(declared, Bounds):
        return chance.choice(declared.texts) if draw < 0.95 else "a label that nobody declared"
    if draw < 0.5:
        return _written(chance.choice((declared.lower, declared.upper)))
    if draw < 0.6:
        return _written(chance.choice((-10, 10)) * (abs(declared.lower) + abs(declared.upper) + 1))
    steps = int((declared.upper - declared.lower) / declared.step)
    return _written(declared.lower + chance.randint(0, steps) * declared.step)


def _written(number: Fraction) -> object:
    return int(number) if number.denominator == 1 else float(number)
