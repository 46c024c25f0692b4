"""What is asked of the ledger and what it hands back: charges, reservations, stored releases, registrations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dalenius.core import registry
from dalenius.core.budget import MASTER, UNIT, Cost, units_up
from dalenius.core.neighbours import Relation, Scope
from dalenius.core.rationals import plain
from dalenius.errors import NotAllowed, ParameterError

DATA_DEPENDENT = "data-dependent"
PUBLIC_ATTRIBUTES = "public-attributes"
PAGES = (MASTER, DATA_DEPENDENT, PUBLIC_ATTRIBUTES)
_MOST_UNITS = 10**17


def relation_on(page: str, account: Relation) -> Relation:
    """How neighbours differ in the charges of a page: as the account says, but whoever keeps what is public is
    replaced.
    """
    return Relation.REPLACE if page == PUBLIC_ATTRIBUTES else account


@dataclass(frozen=True, slots=True)
class Units:
    """A cost in integers of the ledger's unit, each rounded up; `epsilon` is None where the loss is not pure."""

    rho: int
    delta: int
    epsilon: int | None = None

    @classmethod
    def of(cls, cost: Cost) -> "Units":
        """Rounded towards privacy."""
        pure = None if cost.epsilon is None else units_up(cost.epsilon)
        units = cls(units_up(cost.rho), units_up(cost.delta), pure)
        if min(units.rho, units.delta, pure or 0) < 0 or max(units.rho, units.delta, pure or 0) > _MOST_UNITS:
            raise ParameterError(f"A cost lies between 0 and {plain(_MOST_UNITS * UNIT)}; received {cost.to_dict()}.")
        return units

    def to_dict(self) -> dict[str, int | None]:
        """For lines."""
        return {"rho": self.rho, "delta": self.delta, "epsilon": self.epsilon}


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One request to be paid: everything here is known before any data are read.

    key             memo key, the digest of the canonical request with all that determines its answer
    page            "master", "data-dependent" for definitions whose guarantee is made only at or within the data, or
                    "public-attributes" for one that leaves out what everybody knows
    variables       variables that carry a cap of their own events          what will be done, in words a loss
    distribution can be computed from units           the cost in ledger units, rounded up is_official     whether the
    request is one of the official tables, for which a share may be kept back overlaps        populations that share
    some persons, whose accounts pay as well
    """

    population: str
    relation: Relation
    dataset: str
    version: str
    key: str
    request: Mapping[str, Any]
    definition: str
    budget: Mapping[str, Any]
    cost: Cost
    page: str = MASTER
    analyst: str = ""
    variables: tuple[str, ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()
    plan_digest: str = ""
    fingerprint: str = ""
    is_tainted: bool = False
    is_public_data: bool = False
    approved_by: str = ""
    is_official: bool = False
    scope: Scope = Scope.ALL_DATA
    overlaps: tuple[str, ...] = ()
    units: Units = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation(self.relation))
        object.__setattr__(self, "units", Units.of(self.cost))
        if self.page not in PAGES:
            raise ParameterError(f"page must be one of {', '.join(PAGES)}; received {self.page!r}.")
        if not self.key or not self.population:
            raise ParameterError("A charge needs a key and a population.")
        if self.cost.relation is not self.relation:
            raise ParameterError(f"The cost was computed under {self.cost.relation}, the charge says {self.relation}.")
        if self.page == MASTER and self._guarantee is not Scope.ALL_DATA:
            raise NotAllowed(
                f"The definition {self.definition!r} guarantees something only {self._guarantee}; it is charged on a "
                "page of its "
                "own, never to the master account.",
                definition=self.definition,
            )
        if self.is_tainted and not self.is_public_data:
            raise NotAllowed(
                f"Release {self.key[:12]} would be made with recorded randomness; the ledger accepts that only "
                "for a data set that is marked public.",
                dataset=self.dataset,
            )

    @property
    def _guarantee(self) -> Scope:
        """Where the definition makes its guarantee: as its own module states it, or as the charge does."""
        if self.scope is Scope.ALL_DATA and self.definition in registry.names("definitions"):
            return Scope(registry.get("definitions", self.definition).scope)
        return self.scope

    def body(self) -> dict[str, Any]:
        """What the ledger line says."""
        return {
            "key": self.key,
            "dataset": self.dataset,
            "version": self.version,
            "request": dict(self.request),
            "definition": self.definition,
            "budget": dict(self.budget),
            "cost": self.cost.to_dict(),
            "units": self.units.to_dict(),
            "page": self.page,
            "analyst": self.analyst,
            "variables": list(self.variables),
            "events": [dict(event) for event in self.events],
            "plan_digest": self.plan_digest,
            "fingerprint": self.fingerprint,
            "is_tainted": self.is_tainted,
            "is_public_data": self.is_public_data,
            "approved_by": self.approved_by,
            "is_official": self.is_official,
        } | ({"overlaps": list(self.overlaps)} if self.overlaps else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRelease:
    """A release as it is read back from the store: the only form in which one is ever answered."""

    entry: str
    key: str
    document: bytes = field(repr=False)
    status: str
    population: str = ""
    analyst: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A charge that is on disk, and the right to complete it; `stored` is set where nothing had to be paid."""

    entry: str
    lease: str
    head: str
    stored: StoredRelease | None = None
    key: str = ""
    analyst: str = ""
    fingerprint: str = ""
    plan_digest: str = ""

    def under(self, head: str, stored: StoredRelease | None) -> "Reservation":
        """The same reservation with the head that it was written under, and the release that answers it."""
        return Reservation(
            entry=self.entry,
            lease=self.lease,
            head=head,
            stored=stored,
            key=self.key,
            analyst=self.analyst,
            fingerprint=self.fingerprint,
            plan_digest=self.plan_digest,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A file tied to its version by a keyed fingerprint."""

    population: str
    dataset: str
    version: str
    fingerprint: str
    domain_digest: str
    entry: str
