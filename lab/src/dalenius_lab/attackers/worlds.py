"""Random tiny data, and random neighbours of them under the declared relation."""

import random
from dataclasses import dataclass, replace
from fractions import Fraction

from dalenius.audit.planned import Row, Unit, source_of
from dalenius.core.domain import Bounds, Categories, Domain, Hierarchy, Variable
from dalenius.core.estimate import Draws
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.engines.memory import MemorySource

# Values as a file may hold them: declared, missing, unseen, outside the bounds, unreadable.
RAW: dict[str, tuple[object, ...]] = {
    "sex": ("f", "m", "f", "m", None, "?"),
    "region": ("n", "e", "s", "n", "e", None, "x"),
    "two": ("a", "b", "a", "b", None),
    "age": (0, 1, 2, 3, 4, 5, 6, -4, 99, None, "old"),
    "pay": (-3, -2, -1, 0, 1, 2, 3, 1000, None, "1e9"),
    "weight": (0, "0.5", 1, 2, 3, 7, None),
    "job": ("none", "x", "x", "y", "z", None, ""),
}


@dataclass(frozen=True)
class World:
    """A declared domain and units of raw rows in it; those that change come last.

    One unit changes, or a group of them: `leaving` go, and `other` and `further` come. A single row that is replaced
    keeps what is `public`; which rows of a person count may depend on all of them, so that nothing is said of a
    person's.
    """

    domain: Domain
    units: tuple[Unit, ...]
    other: Unit | None
    leaving: int = 1
    further: tuple[Unit, ...] = ()
    public: tuple[str, ...] = ()

    @property
    def is_replaced(self) -> bool:
        """Whether whoever goes is replaced; where attributes are public everybody stays, and keeps them."""
        return bool(self.public) or self.domain.neighbours.is_replace

    @property
    def coming(self) -> tuple[Unit, ...]:
        """The units that only the other side has."""
        return (*(() if self.other is None else (self.other,)), *self.further)

    @property
    def has_group(self) -> bool:
        """Whether more than one unit changes."""
        return self.leaving > 1 or bool(self.further)

    @property
    def sides(self) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
        """The units of two neighbours."""
        return self.units, (*self.units[: -self.leaving], *self.coming)

    def source(self, *, is_changed: bool) -> MemorySource:
        """One of the two neighbours as a source."""
        return source_of(self.domain, self.sides[is_changed])


def domain_of(chance: random.Random, *, is_plain: bool = False) -> Domain:
    """Seven variables under random rules; `is_plain` for one row to a unit."""
    rows = 1 if is_plain or chance.random() < 0.5 else chance.choice((1, 2, 3))
    has_persons = rows > 1 or (not is_plain and chance.random() < 0.2)
    relation = chance.choice(list(Relation))
    # Where rows are replaced their number may be public; it is of use where none drops out.
    is_counted = relation is Relation.REPLACE and not (has_persons or is_plain) and chance.random() < 0.5
    categories = {
        "sex": Categories(labels=("f", "m"), missing=chance.choice(("drop", "m")), unseen=chance.choice(("drop", "f"))),
        "region": Categories(labels=("n", "e", "s"), missing=chance.choice(("drop", "s")), unseen="drop"),
        "two": Categories(labels=("a", "b"), missing=chance.choice(("a", "drop")), unseen="b"),
    }
    variables = {name: Variable(name=name, domain=c) for name, c in categories.items()}
    level = Hierarchy.of("half", {"up": ("n", "e"), "down": ("s",)}, categories["region"])
    variables["region"] = replace(variables["region"], hierarchies=(level,))
    variables["two"] = replace(variables["two"], public_source="a public register")
    texts = Categories(labels=("none", "other"), missing="none", unseen="other")
    variables["job"] = Variable(name="job", domain=texts, is_unlisted=True)
    for name, low, high in (("age", 0, chance.choice((1, 4, 6))), ("pay", chance.choice((-3, -1, 0)), 3)):
        bounds = Bounds(
            lower=Fraction(low),
            upper=Fraction(high),
            missing=str(low) if is_counted else chance.choice(("drop", str(low))),
            outside="clamp" if is_counted else chance.choice(("clamp", "drop")),
        )
        variables[name] = Variable(name=name, domain=bounds)
    variables["weight"] = Variable(
        name="weight",
        domain=Bounds(lower=Fraction(0), upper=Fraction(3), step=Fraction(1, 2), missing="0"),
        is_weight=True,
    )
    return Domain(
        name="attacked",
        population="attacked",
        version="1",
        variables=variables,
        neighbours=Neighbours(relation=relation, unit="person" if has_persons else "row", max_rows=rows),
        unit_id="person" if has_persons else None,
        public_size=3 if is_counted else None,
        structural_zeros=({"sex": ("m",), "region": ("s",)},) if chance.random() < 0.4 else (),
        draws=Draws.INDEPENDENT,
    )


def unit_of(domain: Domain, chance: random.Random) -> Unit:
    """A row, or a person who may bring one row more than count."""
    most = 1 if domain.unit_id is None else domain.neighbours.max_rows + 1
    return tuple(row_of(domain, chance) for _ in range(chance.randint(1, most)))


def row_of(domain: Domain, chance: random.Random) -> Row:
    """One raw row."""
    return {name: chance.choice(RAW[name]) for name in domain.variables}


def world_of(chance: random.Random, *, has_public: bool = False) -> World:
    """Up to five units and the change of one of them; `has_public` where declared public attributes stay as
    they are.
    """
    domain = domain_of(chance)
    public = [v.name for v in domain.variables.values() if has_public and v.public_source]
    return redrawn(World(domain, (), None, public=tuple(public)), chance)


def redrawn(world: World, chance: random.Random, most: int = 5) -> World:
    """Other units in the same domain."""
    domain = world.domain
    number = domain.public_size or chance.randint(1, most)
    units = tuple(unit_of(domain, chance) for _ in range(number))
    other = unit_of(domain, chance) if world.is_replaced else None
    return _kept(World(domain, units, other, public=world.public))


def _kept(world: World) -> World:
    """The row that comes has the public attributes of the one that goes."""
    if not world.public or world.domain.unit_id is not None:
        return world
    assert world.other is not None
    ((gone,), (come,)) = world.units[-1], world.other
    return replace(world, other=(come | {name: gone[name] for name in world.public},))


def grouped(world: World, chance: random.Random) -> World:
    """Two units change at once: both are replaced, both go, or one goes and one comes."""
    domain = world.domain
    units = world.units if domain.public_size else (*world.units, unit_of(domain, chance))
    if domain.neighbours.is_replace:
        return World(domain, units, world.other, leaving=2, further=(unit_of(domain, chance),))
    if chance.random() < 0.7:
        return World(domain, units, None, leaving=2)
    return World(domain, units, None, leaving=1, further=(unit_of(domain, chance),))


def mutated(world: World, chance: random.Random) -> World:
    """One raw value changed, on either side."""
    whole = [*world.units, *world.coming]
    place = chance.randrange(len(whole))
    unit = list(whole[place])
    row = chance.randrange(len(unit))
    name = chance.choice(list(world.domain.variables))
    unit[row] = unit[row] | {name: chance.choice(RAW[name])}
    whole[place] = tuple(unit)
    units, coming = tuple(whole[: len(world.units)]), tuple(whole[len(world.units) :])
    has_other = world.other is not None
    other, further = (coming[0], coming[1:]) if has_other else (None, coming)
    return _kept(replace(world, units=units, other=other, further=further))
