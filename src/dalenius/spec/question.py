"""What a method is asked with, and a record of which keys of the request took part in its plan.

A key that a request names and a plan does not use would be a lie. Reading a key marks it; the planner compares what was
read with what was written, and refuses what nothing read. There is no way to read all keys at once, and no public way
around the marks: the documents themselves are private.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from dalenius.core.budget import Budget
from dalenius.core.conditions import Filter
from dalenius.core.contracts import Definition, Mechanism
from dalenius.core.domain import Bounds, CellSpace, Domain
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.query import TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import Unsupported
from dalenius.spec.canonical import Canonical
from dalenius.spec.document import Part
from dalenius.spec.expected import ExpectedPart
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument

T = TypeVar("T")
Chooser = Callable[[str | None, Part | None, Sensitivity, Budget], Mechanism]
Margins = tuple[tuple[str, ...], ...]
# Records of a cell where nothing says how many to expect.
TYPICAL = 1000


class _Key(Generic[T]):
    """A key of the request that is noted when it is read."""

    def __init__(self, name: str, read: "Callable[[Question], T]") -> None:
        self._name, self._value = name, read

    def __get__(self, question: "Question", _: type) -> T:
        return question._take(self._name, self._value(question))


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """A request against a domain and a policy, as a method reads it: key by key, each reading noted."""

    domain: Domain
    policy: PolicyDocument
    budget: Budget
    definition: Definition
    neighbours: Neighbours
    chooser: Chooser
    _request: RequestDocument = field(repr=False)
    _form: Canonical = field(repr=False)
    _read: set[str] = field(default_factory=set, repr=False)

    space = _Key[CellSpace]("rows", lambda q: q._form.space)
    """The cells asked for, in canonical order."""
    where = _Key[tuple[Filter, ...]]("where", lambda q: q._form.filters)
    weight = _Key[str | None]("weight", lambda q: q._request.table.weight)
    margins = _Key[Margins | None]("margins", lambda q: q._request.margins(q.domain))
    """Names of the axes of each margin asked for; None for the table alone."""
    universe = _Key[str | None]("universe", lambda q: q._request.table.universe)
    """Which records a list of margins counts, if the request says so."""
    weights = _Key[list[float]]("weights", lambda q: [float(weight) for weight in q._request.table.weights])
    """Importance of each listed margin."""
    objective = _Key[str]("objective", lambda q: q._request.table.objective)
    """What is made small over a list of margins."""
    expected = _Key[ExpectedPart | None]("expected", lambda q: q._request.table.expected)
    """Expected sizes, where relative errors are made small."""
    mechanism = _Key[str | None]("mechanism", lambda q: q._request.privacy.mechanism)
    noise = _Key[Part | None]("noise", lambda q: q._request.stated_noise)
    """The parameters of the named mechanism or method, as far as the request states them."""
    strategy = _Key[str | None]("strategy", lambda q: q._request.privacy.strategy)
    group = _Key[int]("group", lambda q: q._request.privacy.group)
    """How many units together a guarantee at the data is made for; elsewhere `neighbours` say it."""

    @property
    def records(self) -> int:
        """How many records a cell of the table is expected to have: as the request says, or by the declaration."""
        return self.records_of(self.space.size)

    def records_of(self, cells: int) -> int:
        """How many records each of so many cells is expected to have."""
        stated, size = self._take("in_cells_of", self._request.privacy.in_cells_of), self.domain.public_size
        return stated or (TYPICAL if size is None else max(1, size // cells))

    def _take(self, key: str, value: T) -> T:
        self._read.add(key)
        return value

    def among(self, *conditions: Filter) -> "Question":
        """The same question about the rows that keep these conditions, too."""
        return replace(self, _form=replace(self._form, filters=(*self._form.filters, *conditions)))

    @property
    def query(self) -> TableQuery:
        return TableQuery(space=self.space, where=self.where)

    @property
    def of(self) -> str:
        of = self._take("of", self._request.table.of)
        if of is None:
            raise Unsupported(f'measure = {self.method!r} needs of = "variable" in [table].')
        return of

    @property
    def bounds(self) -> Bounds:
        return self.domain.variable(self.of).bounds

    def parameter(self, name: str, default: object = None) -> Any:
        return self._take(name, self._request.table.keys.get(name, default))

    @property
    def method(self) -> str:
        return self._request.method

    @property
    def scope(self) -> Scope:
        return self.neighbours.scope

    def choose(self, sensitivity: Sensitivity, budget: Budget | None = None) -> Mechanism:
        """The named mechanism, or the one with the least variance, calibrated to (a part of) the budget."""
        return self.chooser(self.mechanism, self.noise, sensitivity, budget or self.budget)

    def unread(self) -> list[str]:
        """Keys that the request names and no plan read."""
        table, privacy = self._request.table, self._request.privacy
        written = {
            "rows": bool(table.items),
            "where": bool(table.where),
            "of": table.of is not None,
            "weight": table.weight is not None,
            "margins": table.margins != "none",
            "weights": bool(table.weights),
            "universe": table.universe is not None,
            "objective": table.objective != "cells",
            "expected": table.expected is not None,
            "mechanism": privacy.mechanism is not None,
            "noise": bool(privacy.noise),
            "strategy": privacy.strategy is not None,
            "in_cells_of": privacy.in_cells_of is not None,
            "group": privacy.group > 1 and self.scope.is_data_dependent,
        } | dict.fromkeys(table.keys, True)
        return [name for name, is_written in written.items() if is_written and name not in self._read]
