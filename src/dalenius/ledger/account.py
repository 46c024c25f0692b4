"""A population's accounts, and the balances that a charge counts against.

A charge counts against every balance it falls under, all or none. Balances without a limit count all the same, so that
a quota or cap declared later includes what was spent before (docs/explanation/ledger.md). Beside those that can have a
limit, `OVERLAPS` counts how many populations share persons with this one, whose accounts are charged as well, and under
the name of one of them says whether it is declared.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from operator import add
from typing import Any, NamedTuple

from dalenius.core.budget import MASTER, UNIT, Cost
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import plain
from dalenius.ledger.charge import ACCOUNTS, DATA_DEPENDENT, PUBLIC_ATTRIBUTES, Units

TOTAL, UNRESERVED, QUOTA, CAP, WAVE = "total", "unreserved", "quota", "cap", "wave"
OVERLAPS = "overlaps"
BALANCE_LABELS = {
    TOTAL: "whole budget",
    UNRESERVED: "all but official tables",
    QUOTA: "quota of",
    CAP: "cap of",
    WAVE: "version",
}
NO_LIMIT = 4 * 10**18

WARNINGS = {
    DATA_DEPENDENT: "Data-dependent releases are charged to a separate account. Their noise depends on the data, they "
    "guarantee nothing to people outside the file, they have no group privacy, and this statement does not cover them.",
    PUBLIC_ATTRIBUTES: "Releases whose guarantee leaves out publicly known attributes are charged to a separate "
    "account. They protect neither who is in the data nor what is public about them, both can be linked to what was "
    "released, and this statement does not cover them.",
}
"""What a reader must know of the charges to each account but the master account."""


class BalanceKey(NamedTuple):
    population: str
    account: str
    kind: str
    name: str


class Balance(NamedTuple):
    """A limit and what was spent under it, in ledger units; `impure` counts the charges without a pure loss."""

    key: BalanceKey
    limit_rho: int = NO_LIMIT
    limit_delta: int = NO_LIMIT
    spent_rho: int = 0
    spent_delta: int = 0
    spent_epsilon: int = 0
    impure: int = 0
    charges: int = 0

    def covers(self, units: Units) -> bool:
        return self.spent_rho + units.rho <= self.limit_rho and self.spent_delta + units.delta <= self.limit_delta

    def after(self, units: Units) -> "Balance":
        """Return the balance with the charge added; a pure sum too large for its column becomes impure."""
        pure = units.epsilon
        if pure is not None and self.spent_epsilon + pure > NO_LIMIT:
            pure = None
        added = (units.rho, units.delta, pure or 0, pure is None, 1)
        return Balance(*self[:3], *map(add, self[3:], added))

    def with_limit(self, rho: int, delta: int) -> "Balance":
        """Return the balance under another limit, which is at least what was spent."""
        return self._replace(limit_rho=max(rho, self.spent_rho), limit_delta=max(delta, self.spent_delta))

    @property
    def is_limited(self) -> bool:
        return self.limit_rho < NO_LIMIT

    @property
    def left(self) -> tuple[int, int]:
        """rho and delta that may still be spent, in ledger units."""
        return self.limit_rho - self.spent_rho, self.limit_delta - self.spent_delta

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.key.kind,
            "name": self.key.name,
            "account": self.key.account,
            "limit": exact_text(self.limit_rho, self.limit_delta) if self.is_limited else None,
            "spent": exact_text(self.spent_rho, self.spent_delta),
            "left": exact_text(*self.left) if self.is_limited else None,
            "pure_epsilon": None if self.impure else plain(self.spent_epsilon * UNIT),
            "charges": self.charges,
        }


def exact_text(rho: int, delta: int) -> dict[str, str]:
    """Return rho and delta, given in ledger units, as exact text."""
    return {"rho": plain(rho * UNIT), "delta": plain(delta * UNIT)}


@lru_cache(maxsize=1 << 12)
def balances_of(
    population: str, account: str, version: str, analyst: str | None, variables: tuple[str, ...]
) -> tuple[BalanceKey, ...]:
    """Return every balance of its own population that a charge counts against; official tables, of no analyst, use no
    quota.
    """
    names = [*_names(analyst, variables), (WAVE, version)]
    return tuple(BalanceKey(population, account, kind, name) for kind, name in names)


def _names(analyst: str | None, variables: Iterable[str]) -> list[tuple[str, str]]:
    """Return kinds and names of balances of any account; only an official table, of no analyst, is paid as a share."""
    names = [(TOTAL, "")] if analyst is None else [(TOTAL, ""), (UNRESERVED, "")]
    if analyst:
        names += [(QUOTA, analyst)]
    names += [(CAP, variable) for variable in sorted(set(variables))]
    return names


def balances_elsewhere(
    overlaps: Iterable[str], account: str, *, analyst: str = "", variables: Iterable[str] = ()
) -> tuple[BalanceKey, ...]:
    """Return the balances of populations that share persons which a charge counts against as well.

    The total and the unreserved budget, whether or not the table is official here; the quota of the same analyst, and
    the caps of variables of the same name.
    """
    names = _names(analyst, variables) if overlaps else []
    return tuple(BalanceKey(other, account, kind, name) for other in overlaps for kind, name in names)


def overlaps_of(population: str) -> BalanceKey:
    """Return where the number of overlapping populations is counted."""
    return BalanceKey(population, MASTER, OVERLAPS, "")


def overlap_with(population: str, other: str) -> BalanceKey:
    """Return where it is recorded that two populations share persons."""
    return BalanceKey(population, MASTER, OVERLAPS, other)


class Terms(NamedTuple):
    """A population's relation, the rho above which a second person approves (ledger units), and its schedule."""

    population: str
    relation: Relation
    approval_above: int | None = None
    is_scheduled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The master account of a population, all balances, and how many charges went to each other account."""

    population: str
    relation: Relation
    limit: Cost
    spent: Cost
    left: Cost
    pure: Fraction | None
    charges: int
    other_charges: Mapping[str, int] = field(default_factory=dict)
    balances: tuple[Balance, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the balances must know."""
        return tuple(warning for account, warning in WARNINGS.items() if self.other_charges.get(account))

    @property
    def granted(self) -> tuple[str, ...]:
        """Names of the population's accounts that have a budget; the master account is always one of them."""
        granted = {b.key.account for b in self.balances if b.key.kind == TOTAL and b.limit_rho}
        return tuple(account for account in ACCOUNTS if account == MASTER or account in granted)

    @property
    def capped(self) -> frozenset[str]:
        """Variables that have a cap in any account."""
        return frozenset(b.key.name for b in self.balances if b.key.kind == CAP and b.is_limited)

    @classmethod
    def of(cls, terms: Terms, balances: tuple[Balance, ...]) -> "Account":
        """Return the account that the terms and all balances of a population make."""
        totals = {b.key.account: b for b in balances if b.key.kind == TOTAL}
        master = totals.pop(MASTER)
        pure = None if master.impure else master.spent_epsilon * UNIT

        def cost(rho: int, delta: int, epsilon: Fraction | None = None) -> Cost:
            return Cost(relation=terms.relation, rho=rho * UNIT, delta=delta * UNIT, epsilon=epsilon)

        return cls(
            population=terms.population,
            relation=terms.relation,
            limit=cost(master.limit_rho, master.limit_delta),
            spent=cost(master.spent_rho, master.spent_delta, pure),
            left=cost(*master.left),
            pure=pure,
            charges=master.charges,
            other_charges={account: total.charges for account, total in totals.items()},
            balances=tuple(b for b in balances if b.key.kind != OVERLAPS),
        )
