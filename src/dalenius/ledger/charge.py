"""What the ledger is asked to charge and what it returns: charges, reservations, stored releases, registrations."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from dalenius.core import registry
from dalenius.core.budget import MASTER, UNIT, Cost, units_up
from dalenius.core.neighbours import Relation, Scope
from dalenius.core.rationals import plain
from dalenius.errors import NotAllowed, ParameterError

DATA_DEPENDENT = "data-dependent"
PUBLIC_ATTRIBUTES = "public-attributes"
ACCOUNTS = (MASTER, DATA_DEPENDENT, PUBLIC_ATTRIBUTES)
_MOST_UNITS = 10**17
# Fields of a charge that its line holds as they are.
_STATED = (
    *("key", "dataset", "version", "definition", "account", "analyst", "plan_digest", "fingerprint"),
    *("is_tainted", "is_public_data", "approved_by", "is_official"),
)


@dataclass(frozen=True, slots=True)
class Units:
    """A cost in integers of the ledger's unit, each rounded up; `epsilon` is None where the loss is not pure."""

    rho: int
    delta: int
    epsilon: int | None = None

    @classmethod
    def of(cls, cost: Cost) -> "Units":
        pure = None if cost.epsilon is None else units_up(cost.epsilon)
        units = cls(units_up(cost.rho), units_up(cost.delta), pure)
        if min(units.rho, units.delta, pure or 0) < 0 or max(units.rho, units.delta, pure or 0) > _MOST_UNITS:
            raise ParameterError(f"A cost lies between 0 and {plain(_MOST_UNITS * UNIT)}; received {cost.to_dict()}.")
        return units


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One request to be charged; everything here is known before any data are read.

    key          memo key: digest of the canonical request with all that determines its release
    account      "master"; "data-dependent" for definitions that hold for the actual data only; "public-attributes" for
                 one that leaves out what is publicly known
    variables    variables that have a cap
    events       what will be done, in terms from which a loss distribution can be computed
    units        cost in ledger units, rounded up
    is_official  whether this is an official table, for which a share may be reserved
    overlaps     populations that share some persons, whose accounts are charged as well
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
    account: str = MASTER
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
        check_account(self.account)
        if not self.key or not self.population:
            raise ParameterError("A charge needs a key and a population.")
        if self.cost.relation is not self.relation:
            raise ParameterError(f"The cost was computed under {self.cost.relation}, the charge says {self.relation}.")
        # Scope of the guarantee: as the definition's own module states it, or as the charge does.
        scope = self.scope
        if scope is Scope.ALL_DATA and self.definition in registry.names("definitions"):
            scope = Scope(registry.get("definitions", self.definition).scope)
        if self.account == MASTER and scope is not Scope.ALL_DATA:
            raise NotAllowed(
                f"The guarantee of the definition {self.definition!r} has the scope '{scope}'; it is charged to "
                "a separate account, never to the master account.",
                definition=self.definition,
            )
        if self.is_tainted and not self.is_public_data:
            raise NotAllowed(
                f"Release {self.key[:12]} would be made with recorded randomness; the ledger accepts that only for a "
                "data set that is marked public.",
                dataset=self.dataset,
            )

    def body(self) -> dict[str, Any]:
        body = {name: getattr(self, name) for name in _STATED} | {
            "request": dict(self.request),
            "budget": dict(self.budget),
            "cost": self.cost.to_dict(),
            "units": asdict(self.units),
            "variables": list(self.variables),
            "events": [dict(event) for event in self.events],
        }
        return body | ({"overlaps": list(self.overlaps)} if self.overlaps else {})


def check_account(account: str) -> None:
    if account not in ACCOUNTS:
        raise ParameterError(f"`account` must be one of {', '.join(ACCOUNTS)}; received {account!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRelease:
    """A release as it was read back from the store; no other form leaves the ledger."""

    entry: str
    key: str
    document: bytes = field(repr=False)
    status: str
    population: str = ""
    analyst: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A charge that is on disk, and the lease to complete it; `stored` is set where nothing had to be charged."""

    entry: str
    lease: str
    head: str = ""
    stored: StoredRelease | None = None
    key: str = ""
    analyst: str = ""
    fingerprint: str = ""
    plan_digest: str = ""


class Registration(NamedTuple):
    dataset: str
    version: str
    population: str
    fingerprint: str
    domain_digest: str
    entry: str
