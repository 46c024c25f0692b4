"""Random tiny data, random neighbours under the declared relation, and random requests over everything that can be asked."""

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dalenius.core import registry
from dalenius.core.domain import Bounds, Categories, Domain, Hierarchy, Variable
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.engines.memory import MemorySource
from dalenius.spec.load import load_policy

Row = dict[str, Any]
Unit = tuple[Row, ...]
Document = dict[str, Any]

POLICY = load_policy(
    {
        "allow": {
            "acknowledge": [
                "fixed_weights",
                "individual",
                "bootstrap",
                "public_membership",
                "public_attributes",
            ],
            "evidence": ["proved", "enumerated", "computational", "audited", "search", "none"],
        },
        "floors": {"bootstrap": 1, "individual": 1},
    }
)
PER_CELL = load_policy(
    {
        "allow": {
            "acknowledge": ["bootstrap", "public_membership", "bootstrap_per_cell"],
            "evidence": ["proved", "enumerated", "computational", "audited", "search", "none"],
        },
        "floors": {"bootstrap": 1},
    }
)
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


ESTIMATES = (
    "quantiles",
    "ratio",
    "covariance",
    "correlation",
    "proportion",
    "variance",
    "standard_deviation",
)


@dataclass(frozen=True)
class World:
    """A declared domain and units of raw rows in it; those that change come last.

    One unit changes, or a group of them: `leaving` go, and `other` and `further` come.
    """

    domain: Domain
    units: tuple[Unit, ...]
    other: Unit | None
    leaving: int = 1
    further: tuple[Unit, ...] = ()

    @property
    def coming(self) -> tuple[Unit, ...]:
        """The units that only the other side has."""
        return (*(() if self.other is None else (self.other,)), *self.further)

    @property
    def has_group(self) -> bool:
        """Whether more than one unit changes."""
        return self.leaving > 1 or bool(self.further)

    def source(self, *, is_changed: bool) -> MemorySource:
        """One of the two neighbours as a source."""
        units = (*self.units[: -self.leaving], *self.coming) if is_changed else self.units
        return source_of(self.domain, units)


def source_of(domain: Domain, units: tuple[Unit, ...]) -> MemorySource:
    """Units as a source; a person is numbered by its place, and the last one has a name of its own."""
    rows = [(number, row) for number, unit in enumerate(units) for row in unit]
    columns: dict[str, list[object]] = {
        variable.source_column: [row[name] for _, row in rows] for name, variable in domain.variables.items()
    }
    if domain.unit_id is not None:
        columns[domain.unit_id] = [f"p{number}" for number, _ in rows]
    return MemorySource(domain, columns, b"a secret of the attacker", rows=len(rows))


def domain_of(chance: random.Random, *, is_plain: bool = False) -> Domain:
    """Seven variables under random rules; `is_plain` for one row to a unit."""
    rows = 1 if is_plain or chance.random() < 0.5 else chance.choice((1, 2, 3))
    has_persons = rows > 1 or (not is_plain and chance.random() < 0.2)
    relation = chance.choice(list(Relation))
    categories = {
        "sex": Categories(
            labels=("f", "m"), missing=chance.choice(("drop", "m")), unseen=chance.choice(("drop", "f"))
        ),
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
            missing=chance.choice(("drop", str(low))),
            outside=chance.choice(("clamp", "drop")),
        )
        variables[name] = Variable(name=name, domain=bounds)
    variables["weight"] = Variable(
        name="weight", domain=Bounds(lower=Fraction(0), upper=Fraction(3), step=Fraction(1, 2), missing="0")
    )
    return Domain(
        name="attacked",
        population="attacked",
        version="1",
        variables=variables,
        neighbours=Neighbours(relation=relation, unit="person" if has_persons else "row", max_rows=rows),
        unit_id="person" if has_persons else None,
        structural_zeros=({"sex": ("m",), "region": ("s",)},) if chance.random() < 0.4 else (),
    )


def unit_of(domain: Domain, chance: random.Random) -> Unit:
    """A row, or a person who may bring one row more than count."""
    most = 1 if domain.unit_id is None else domain.neighbours.max_rows + 1
    return tuple(row_of(domain, chance) for _ in range(chance.randint(1, most)))


def row_of(domain: Domain, chance: random.Random) -> Row:
    """One raw row."""
    return {name: chance.choice(RAW[name]) for name in domain.variables}


def world_of(chance: random.Random) -> World:
    """Up to five units and the change of one of them."""
    domain = domain_of(chance)
    return redrawn(World(domain, (), None), chance)


def redrawn(world: World, chance: random.Random, most: int = 5) -> World:
    """Other units in the same domain."""
    domain = world.domain
    units = tuple(unit_of(domain, chance) for _ in range(chance.randint(1, most)))
    other = unit_of(domain, chance) if domain.neighbours.is_replace else None
    return World(domain, units, other)


def grouped(world: World, chance: random.Random) -> World:
    """Two units change at once: both are replaced, both go, or one goes and one comes."""
    domain = world.domain
    units = (*world.units, unit_of(domain, chance))
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
    return replace(
        world, units=units, other=coming[0] if has_other else None, further=coming[1 if has_other else 0 :]
    )


def budget_of(chance: random.Random, name: str) -> Document:
    """Amounts of one definition."""
    epsilon, delta = chance.choice(("0.3", "1", "2.5")), chance.choice(("1e-6", "0.01"))
    amounts: dict[str, Document] = {
        "pure": {"epsilon": epsilon},
        "approximate": {"epsilon": epsilon, "delta": delta},
        "probabilistic": {"epsilon": epsilon, "delta": delta},
        "zero_concentrated": {"rho": chance.choice(("0.05", "0.5", "2"))}
        | ({"delta": delta} if chance.random() < 0.3 else {}),
        "individual": {"epsilon": epsilon},
        "public_attributes": {"epsilon": epsilon},
        "bootstrap": chance.choice(
            ({"epsilon": epsilon}, {"rho": "0.5"}, {"epsilon": epsilon, "delta": delta})
        ),
    }
    return {"definition": name, **amounts[name]}


def request_of(
    chance: random.Random, scope: Scope = Scope.EVERYWHERE, method_name: str = "", definition: str = ""
) -> Document:
    """Any method with any of its keys, under any definition that holds `scope`; or the named ones."""
    methods = [
        m for n, m in registry.every("methods").items() if scope in m.scopes and method_name in ("", n)
    ]
    method = chance.choice(methods)
    definitions = [n for n, d in registry.every("definitions").items() if Scope(d.scope) is scope]
    privacy = budget_of(chance, definition or chance.choice(definitions))
    table: Document = {"measure": method.name}
    if method.takes_of:
        table["of"] = chance.choice(("age", "pay"))
    _axes(table, method.name, chance)
    _keys(table, method.name, scope, chance)
    if method.name == "count":
        _counted(table, privacy, chance)
    elif method.name in ("total", "mean") and _is_listed(table, scope, chance):
        _listed(table, privacy, chance)
    has_choice = scope is Scope.EVERYWHERE and method.name in ("count", "total", "mean", "dominance")
    if has_choice and chance.random() < 0.5:
        privacy["mechanism"] = chance.choice(registry.names("mechanisms"))
    if chance.random() < 0.3:
        table["where"] = chance.choice(
            ({"sex": "f"}, {"age": {"at_least": 1}}, {"pay": {"at_most": 1}, "two": ["a"]})
        )
    if scope is Scope.EVERYWHERE:
        if getattr(method, "takes_weight", False) and chance.random() < 0.2:
            table["weight"] = "weight"
        _promised(table, privacy, chance)
    return {"table": table, "privacy": privacy}


def _promised(table: Document, privacy: Document, chance: random.Random) -> None:
    """To whom, over how many waves, and how a list is priced."""
    if "margins" in table and privacy["definition"] == "approximate" and chance.random() < 0.4:
        privacy["price"] = "loss"
    if chance.random() < 0.1:
        privacy["group"] = 2
    if chance.random() < 0.05:
        privacy["waves"] = 2


def _axes(table: Document, method: str, chance: random.Random) -> None:
    if method == "labels":
        table |= {"rows": ["job"], "most": chance.choice((1, 1, 2))}
    if method in (
        "count",
        "total",
        "mean",
        "dominance",
        "largest_total",
        "median",
        "quantile",
        "mode",
        "best",
    ) or (method in ESTIMATES and chance.random() < 0.5):
        axes: list[Any] = ["sex", "region", "two", {"variable": "region", "level": "half"}]
        axes.append({"variable": "age", "cuts": [0, 1, 4]})
        named = chance.sample(axes, chance.choice((0, 1, 1, 2, 3)))
        variables = [a["variable"] if isinstance(a, dict) else a for a in named]
        if len(set(variables)) == len(variables):
            table["rows"] = named


def _keys(table: Document, method: str, scope: Scope, chance: random.Random) -> None:
    """Some of the method's own keys."""
    if scope is Scope.AT_THE_DATA and method not in ("count", "largest_total") and chance.random() < 0.3:
        table["group"] = 2
    if method == "quantile":
        table["q"] = chance.choice(("1/4", "0.9"))
    everywhere = scope is Scope.EVERYWHERE
    if everywhere and method in ("median", "quantile", "maximum", "minimum", "second_maximum"):
        named = chance.choice((None, "exponential", "cauchy", "lomax", "student", "polynomial"))
        if named is not None or method not in ("median", "quantile"):
            table["method"] = named or "cauchy"
            table.pop("rows", None)
    if everywhere and method == "total" and chance.random() < 0.3:
        table["learn_bounds"] = "1/4"
        table["rows"] = table.get("rows", [])[:1]
    if scope is Scope.WITHIN_THE_DATA and method == "total":
        table["membership"] = chance.choice(("private", "public"))
    if method == "range_count":
        table["at_least"] = 1
    if method == "quantiles":
        # Few answers, so that every list of them can be gone through.
        keys: tuple[Document, ...] = ({"q": ["1/2"]}, {"q": ["1/4", "3/4"]}, {"parts": 3, "error": "noise"})
        table |= chance.choice(keys)
    if method in ("ratio", "covariance", "correlation"):
        table |= {"of": "pay", "other": "age"}
    if method == "proportion":
        table |= chance.choice(({"of": "sex", "among": ["f"]}, {"of": "age", "at_least": 2}))
    if method in ("mean", "ratio") and everywhere and chance.random() < 0.5:
        table["error"] = chance.choice(("noise", "sampling"))
    if method == "exponential_family":
        table["family"] = chance.choice(("gaussian", "poisson", "exponential", "binomial"))
    if method in ("mode", "best"):
        table["method"] = chance.choice(("exponential", "permute_and_flip"))
    if method == "best":
        table["which"] = chance.choice(("largest", "smallest"))
    if method == "dominance":
        table |= chance.choice(({"p": 10}, {"n": 1, "k": 60}))
    if method == "sample_and_aggregate":
        _blocks(table, chance)
    if method == "propose_test_release":
        table["bound"] = chance.choice((1, 2))
        table |= chance.choice(({}, {"estimate": "quantile", "q": "1/4"}, {"estimate": "interquartile"}))
    if method in ("total", "mean", "proportion") and everywhere and chance.random() < 0.15:
        # Every replicate is one more part of the answer; each shows what a bootstrap is.
        table |= {"error": "bootstrap", "replicates": chance.choice((2, 3))}
        if method != "proportion" and chance.random() < 0.3:
            table["squares"] = False
        table.pop("learn_bounds", None)


def _blocks(table: Document, chance: random.Random) -> None:
    """A model, a range that not all values lie in, and blocks of which most are empty on tiny data."""
    table |= {
        "model": chance.choice(("gaussian_mean", "huber", "gaussian_variance", "exponential", "logit")),
        "range": chance.choice(([0, 3], [-1, 1], [1, 2])),
        "blocks": chance.choice((2, 3, 40)),
        "aggregate": chance.choice(("mean", "mean", "median", "winsorised")),
        "correction": chance.choice(("none", "none", "analytic", "jackknife")),
    }
    if table["aggregate"] != "median" and chance.random() < 0.5:
        table["error"] = "noise"


def _counted(table: Document, privacy: Document, chance: random.Random) -> None:
    if privacy["definition"] == "individual":
        table.pop("rows", None)
        return
    kind = chance.random()
    if kind > 0.9:
        table["keyed"] = True
    elif kind > 0.8:
        table["sample"] = chance.choice(("1/2", "1/10"))
    if kind < 0.2:
        table["weight"] = "weight"
    elif kind < 0.6 and table.get("rows"):
        _listed(table, privacy, chance)


def _is_listed(table: Document, scope: Scope, chance: random.Random) -> bool:
    """Whether totals or means become a list of margins: some of those that ask for nothing else."""
    is_plain = not {"error", "learn_bounds"} & table.keys() and bool(table.get("rows"))
    return scope is Scope.EVERYWHERE and is_plain and chance.random() < 0.3


def _listed(table: Document, privacy: Document, chance: random.Random) -> None:
    """A list of margins, along the levels of a hierarchy too."""
    names = [a["variable"] if isinstance(a, dict) else a for a in table["rows"]]
    lists: list[Any] = ["all", [[name] for name in names]]
    if "region" in table["rows"]:
        lists.append([["region"], ["region.half"], []])
    table["margins"] = chance.choice(lists)
    # Without one of these words a list is refused wherever an axis can drop a row, which is nearly everywhere here.
    if chance.random() < 0.9:
        table["universe"] = chance.choice(("complete", "complete", "own"))
    if chance.random() < 0.4:
        table["objective"] = chance.choice(("cells", "tables", "maximum"))
    if chance.random() < 0.5:
        privacy["strategy"] = chance.choice(registry.names("methods.margins.strategies"))
