"""Accounts: a population's budget, and the purses inside it.

A charge is paid by every purse it falls under, all or none. Purses without a limit count all the same, so that a
quota or a cap declared later knows what was spent before:

total      the population's own limit on one page, which nothing exceeds others     the total less the share kept back
for official tables; paid by every other request analyst    an analyst's quota variable   the cap of a sensitive
variable wave       one version's part of a declared schedule overlaps   no limit: counts the populations that share
persons with this one, whose accounts pay for every charge as well; under the
           name of one of them, whether it is declared
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from dalenius.core.budget import MASTER, UNIT, Cost
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import plain
from dalenius.ledger.charge import DATA_DEPENDENT, PAGES, PUBLIC_ATTRIBUTES, Charge, Units

TOTAL, OTHERS, ANALYST, VARIABLE, WAVE = "total", "others", "analyst", "variable", "wave"
OVERLAPS = "overlaps"
PURSES = {
    TOTAL: "whole budget",
    OTHERS: "besides official tables",
    ANALYST: "analyst",
    VARIABLE: "variable",
    WAVE: "version",
    OVERLAPS: "populations with the same persons",
}
"""What each kind of purse limits, for readers."""
NO_LIMIT = 4 * 10**18

WARNING = (
    "Data-dependent releases are recorded on a page of their own. Their noise depends on the data, they guarantee "
    "nothing to people outside the file, they have no group privacy, and this statement does not cover them."
)
WARNINGS = {
    DATA_DEPENDENT: WARNING,
    PUBLIC_ATTRIBUTES: "Releases that leave publicly known attributes out of their guarantee are recorded on a page of "
    "their own. "
    "They protect neither who is in the data nor what is public about them, both can be linked to what was released, "
    "and "
    "this statement does not cover them.",
}
"""What a reader must know of the charges on each page beside the master account."""


class PurseKey(NamedTuple):
    """Where a purse lies."""

    population: str
    page: str
    kind: str
    name: str


class Purse(NamedTuple):
    """A limit and what was spent under it, in ledger units; `impure` counts the charges without a pure loss."""

    key: PurseKey
    limit_rho: int = NO_LIMIT
    limit_delta: int = NO_LIMIT
    spent_rho: int = 0
    spent_delta: int = 0
    spent_epsilon: int = 0
    impure: int = 0
    charges: int = 0

    def pays(self, units: Units) -> bool:
        """Whether the charge fits."""
        return self.spent_rho + units.rho <= self.limit_rho and self.spent_delta + units.delta <= self.limit_delta

    def after(self, units: Units) -> "Purse":
        """The purse once the charge is paid; a pure sum that outgrows its column is no longer stated."""
        pure = units.epsilon
        if pure is not None and self.spent_epsilon + pure > NO_LIMIT:
            pure = None
        return Purse(
            self.key,
            self.limit_rho,
            self.limit_delta,
            self.spent_rho + units.rho,
            self.spent_delta + units.delta,
            self.spent_epsilon + (pure or 0),
            self.impure + (pure is None),
            self.charges + 1,
        )

    def with_limit(self, rho: int, delta: int) -> "Purse":
        """The same purse under another limit; one below what was spent closes the purse."""
        return self._replace(limit_rho=max(rho, self.spent_rho), limit_delta=max(delta, self.spent_delta))

    @property
    def is_limited(self) -> bool:
        """Whether anybody declared a limit."""
        return self.limit_rho < NO_LIMIT

    @property
    def numbers(self) -> tuple[int, ...]:
        """Everything that the store keeps, in its order."""
        return self[1:]

    def to_dict(self) -> dict[str, Any]:
        """Exact text, for statements."""

        def amounts(rho: int, delta: int) -> dict[str, str]:
            return {"rho": plain(rho * UNIT), "delta": plain(delta * UNIT)}

        left = (self.limit_rho - self.spent_rho, self.limit_delta - self.spent_delta)
        return {
            "kind": self.key.kind,
            "name": self.key.name,
            "page": self.key.page,
            "limit": amounts(self.limit_rho, self.limit_delta) if self.is_limited else None,
            "spent": amounts(self.spent_rho, self.spent_delta),
            "left": amounts(*left) if self.is_limited else None,
            "pure_epsilon": None if self.impure else plain(self.spent_epsilon * UNIT),
            "charges": self.charges,
        }


def purses_of(charge: Charge) -> tuple[PurseKey, ...]:
    """Every purse that pays for a charge; an official table is paid by no analyst's, whoever asked for it."""
    analyst = None if charge.is_official else charge.analyst
    return _purses(charge.population, charge.page, charge.version, analyst, tuple(charge.variables))


@lru_cache(maxsize=1 << 12)
def _purses(
    population: str, page: str, version: str, analyst: str | None, variables: tuple[str, ...]
) -> tuple[PurseKey, ...]:
    names = [(TOTAL, "")]
    if analyst is not None:
        names.append((OTHERS, ""))
    if analyst:
        names.append((ANALYST, analyst))
    names += [(VARIABLE, capped) for capped in sorted(set(variables))]
    return tuple(PurseKey(population, page, kind, name) for kind, name in (*names, (WAVE, version)))


def purses_elsewhere(
    overlaps: Iterable[str], page: str, *, analyst: str = "", variables: Iterable[str] = ()
) -> tuple[PurseKey, ...]:
    """What pays in the accounts of populations that share persons.

    The whole budget without what is kept back there, whether or not the table is official here; the quota of the same
    analyst, and the caps of variables of the same name.
    """
    if not overlaps:
        return ()
    names = [(TOTAL, ""), (OTHERS, "")]
    if analyst:
        names += [(ANALYST, analyst)]
    names += [(VARIABLE, variable) for variable in sorted(set(variables))]
    return tuple(PurseKey(other, page, kind, name) for other in overlaps for kind, name in names)


def overlaps_of(population: str) -> PurseKey:
    """Where the number of overlapping populations is kept."""
    return PurseKey(population, MASTER, OVERLAPS, "")


def overlap_with(population: str, other: str) -> PurseKey:
    """Where it is kept that two populations share persons."""
    return PurseKey(population, MASTER, OVERLAPS, other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What was agreed for a population: its relation, the size above which a second person approves, its schedule."""

    population: str
    relation: Relation
    approval_above: int | None = None
    is_scheduled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The master account of a population as it stands; `beside` counts the charges on the other pages."""

    population: str
    relation: Relation
    limit: Cost
    spent: Cost
    left: Cost
    pure: Fraction | None
    entries: int
    beside: Mapping[str, int] = field(default_factory=dict)
    purses: tuple[Purse, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the master account covers everything that was released about the population."""
        return not any(self.beside.values())

    @property
    def data_dependent(self) -> int:
        """How many charges stand on the data-dependent page."""
        return self.beside.get(DATA_DEPENDENT, 0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the balance must know."""
        return tuple(said for page, said in WARNINGS.items() if self.beside.get(page))

    @property
    def pages(self) -> tuple[str, ...]:
        """Pages with a budget; the master page is always one of them."""
        granted = {p.key.page for p in self.purses if p.key.kind == TOTAL and p.limit_rho}
        return tuple(page for page in PAGES if page == MASTER or page in granted)

    @property
    def capped(self) -> frozenset[str]:
        """Variables that have a cap on any page."""
        return frozenset(p.key.name for p in self.purses if p.key.kind == VARIABLE and p.is_limited)

    @classmethod
    def of(cls, terms: Terms, purses: tuple[Purse, ...]) -> "Account":
        """From what the store holds."""
        total = next(p for p in purses if p.key.kind == TOTAL and p.key.page == MASTER)
        pure = None if total.impure else total.spent_epsilon * UNIT

        def cost(rho: int, delta: int, epsilon: Fraction | None = None) -> Cost:
            return Cost(relation=terms.relation, rho=rho * UNIT, delta=delta * UNIT, epsilon=epsilon)

        return cls(
            population=terms.population,
            relation=terms.relation,
            limit=cost(total.limit_rho, total.limit_delta),
            spent=cost(total.spent_rho, total.spent_delta, pure),
            left=cost(total.limit_rho - total.spent_rho, total.limit_delta - total.spent_delta),
            pure=pure,
            entries=total.charges,
            beside={p.key.page: p.charges for p in purses if p.key.page != MASTER and p.key.kind == TOTAL},
            purses=tuple(p for p in purses if p.key.kind != OVERLAPS),
        )
