"""A fuzzer for the definitions whose noise follows the data, by enumeration of every neighbour that they guarantee for.

The noise is fixed at the data at hand, as both definitions say. Individual: the data against each neighbour of it, with
any raw row that a file could hold. Bootstrap: every two neighbours made of the rows at hand, none at all among them;
with public membership a replaced row stays in its cell.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, product
from typing import Any

from dalenius.audit.charges import ALLOWED, ORDERS
from dalenius.audit.losses import Together
from dalenius.audit.planned import Row, Unit, source_of
from dalenius.audit.steps import Exact, fetched, parts_between
from dalenius.core import registry
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Relation, Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius_lab.attackers import grammar, worlds

Data = tuple[Unit, ...]
MOST = 4
_MOST_PAIRS = 400


@dataclass
class Enumerated:
    """How many pairs were compared, the worst loss relative to its charge, and what broke."""

    requests: int = 0
    refused: int = 0
    pairs: int = 0
    worst: dict[str, float] = field(default_factory=dict)
    broken: list[tuple[dict[str, Any], Data, Data, Data, float]] = field(default_factory=list)


@dataclass(frozen=True)
class SmallCase:
    """A request with the domain and the policy that it is asked under; data that the domain speaks of come with it."""

    domain: Domain
    policy: PolicyDocument
    scope: Scope
    request: dict[str, Any]
    data: Data = ()

    @classmethod
    def drawn(cls, chance: random.Random, definition: str, method: str = "") -> "SmallCase":
        """Any method, or the named one."""
        scope = Scope(registry.get("definitions", definition).scope)
        domain = worlds.domain_of(chance, is_plain=True)
        request = grammar.request_of(chance, scope, method_name=method, definition=definition)
        policies = (grammar.POLICY, grammar.PER_CELL) if scope is Scope.OBSERVED_ROWS else (grammar.POLICY,)
        policy = chance.choice(policies)
        measure = request["table"]["measure"]
        if measure not in ("mean", "variance"):
            return cls(domain, policy, scope, request)
        # These are of a declared number of rows, and of all of them.
        data, request["table"] = _data(domain, chance), {"measure": measure, "of": "pay"}
        neighbours = replace(domain.neighbours, relation=chance.choice((Relation.REPLACE, domain.neighbours.relation)))
        return cls(replace(domain, public_size=len(data), neighbours=neighbours), policy, scope, request, data)

    def planned(self) -> TablePlan:
        """On the public path."""
        return Planner(domain=self.domain, policy=self.policy).plan(RequestDocument.model_validate(self.request))


def data_dependent() -> list[str]:
    """The definitions whose noise follows the data."""
    return [name for name, made in registry.every("definitions").items() if Scope(made.scope).is_data_dependent]


def fuzz(seed: int, requests: int, *, definition: str = "", method: str = "") -> Enumerated:
    """So many requests under individual and bootstrap privacy, each at one small data set."""
    chance, findings = random.Random(seed), Enumerated()
    for _ in range(requests):
        name = definition or chance.choice(data_dependent())
        case = SmallCase.drawn(chance, name, method)
        request, domain = case.request, case.domain
        try:
            plan = case.planned()
        except (DaleniusError, ValueError):
            findings.refused += 1
            continue
        findings.requests += 1
        data = case.data or _data(domain, chance)
        loss = _Loss(domain, plan, data)
        kind = f"{request['table']['measure']} / {name} / {type(plan.measurements[0]).__name__}"
        for left, right in _sampled(pairs(domain, request, plan, data, case.scope), chance):
            ratio = loss.between(left, right)
            findings.pairs += 1
            findings.worst[kind] = max(findings.worst.get(kind, 0.0), ratio)
            if ratio > ALLOWED:
                findings.broken.append((request, data, left, right, ratio))
    return findings


def _data(domain: Domain, chance: random.Random) -> Data:
    """A few rows, often alike but for one value: what is at hand is then small, and what could be is not."""
    units = [worlds.unit_of(domain, chance) for _ in range(chance.randint(1, MOST))]
    if chance.random() < 0.6:
        for i in range(1, len(units)):
            name = chance.choice(list(domain.variables))
            units[i] = (units[0][0] | {name: units[i][0][name]},)
    return tuple(units)


def _sampled(every: Iterator[tuple[Data, Data]], chance: random.Random) -> list[tuple[Data, Data]]:
    listed = list(every)
    return listed if len(listed) <= _MOST_PAIRS else chance.sample(listed, _MOST_PAIRS)


def pairs(
    domain: Domain, request: dict[str, Any], plan: TablePlan, data: Data, scope: Scope
) -> Iterator[tuple[Data, Data]]:
    """The neighbours for which the definition makes its guarantee."""
    if scope is Scope.ACTUAL_DATA:
        layer = [data]
        for _ in range(request["privacy"].get("group", 1)):
            layer = [other for d in layer[:40] for other in _around(domain, request, d)]
            yield from ((data, other) for other in layer)
        return
    rows = list({repr(unit): unit for unit in data}.values())
    is_public = request["table"].get("membership") == "public"
    is_replace = domain.neighbours.is_replace
    # Where the number of rows is declared, every data set that is meant has so many.
    least = len(data) - 1 if is_replace and domain.public_size is not None else 0
    sizes = range(least, len(data) + (not is_replace))
    for others in (o for size in sizes for o in combinations_with_replacement(rows, size)):
        if not domain.neighbours.is_replace:
            yield from (((*others, unit), others) for unit in rows)
            continue
        for one, two in product(rows, rows):
            if not is_public or _cell(domain, plan, one) == _cell(domain, plan, two):
                yield (*others, one), (*others, two)


def _around(domain: Domain, request: dict[str, Any], data: Data) -> Iterator[Data]:
    """Every neighbour of one data set, up to variables that the request does not read."""
    table = request["table"]
    named = [a["variable"] if isinstance(a, dict) else a for a in table.get("rows", [])]
    read = dict.fromkeys([*named, *table.get("where", {}), *([table["of"]] if "of" in table else [])])
    plain: Row = {name: worlds.RAW[name][0] for name in domain.variables}
    values = product(*(dict.fromkeys(worlds.RAW[name]) for name in read))
    every = [(plain | dict(zip(read, raw, strict=True)),) for raw in values]
    for i in range(len(data)):
        rest = (*data[:i], *data[i + 1 :])
        if domain.neighbours.is_replace:
            yield from ((*rest, unit) for unit in every)
        else:
            yield rest
    if not domain.neighbours.is_replace:
        yield from ((*data, unit) for unit in every)


def _cell(domain: Domain, plan: TablePlan, unit: Unit) -> list[int]:
    """In which cell of the table a row is, by its axes alone."""
    query = plan.measurements[0].needs[0]
    assert isinstance(query, TableQuery)
    counted = source_of(domain, (unit,)).table(TableQuery(space=query.space))
    return [int(n) for n in counted.open_below_the_gate()]


class _Loss:
    """Losses under noise that is fixed at one data set."""

    def __init__(self, domain: Domain, plan: TablePlan, data: Data) -> None:
        (self._step,) = plan.measurements
        self._domain, self._profile, self._known = domain, self._step.profile(plan.neighbours), dict[str, Exact]()
        self._here = self._exact(data)

    def _exact(self, data: Data) -> Exact:
        key = repr(data)
        if key not in self._known:
            self._known[key] = fetched(self._step, source_of(self._domain, data))
        return self._known[key]

    def between(self, left: Data, right: Data) -> float:
        """Relative to the charge of the step."""
        parts = parts_between(self._step, self._exact(left), self._exact(right), self._here)
        whole = Together(tuple(parts))
        both, profile = (whole, whole.reversed()), self._profile
        if profile.epsilon is not None:
            return max(one.largest() for one in both) / float(profile.epsilon)
        assert profile.rho is not None
        return max(one.renyi(order) / (order * float(profile.rho)) for one in both for order in ORDERS)
