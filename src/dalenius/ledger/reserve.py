"""The first command of a release: charge its worst case, or find that it was charged before."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dalenius.core.budget import UNIT
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import SystemRandomness
from dalenius.errors import (
    ApprovalRequired,
    BudgetExhausted,
    Conflict,
    DataChanged,
    LedgerMismatch,
    NotPublic,
    NotRegistered,
    QuotaExhausted,
)
from dalenius.ledger.account import (
    CAP,
    QUOTA,
    TOTAL,
    UNRESERVED,
    WAVE,
    Balance,
    BalanceKey,
    balances_elsewhere,
    balances_of,
    overlap_with,
    overlaps_of,
)
from dalenius.ledger.charge import ACCOUNTS, PUBLIC_ATTRIBUTES, Charge, Reservation
from dalenius.ledger.complete import is_served
from dalenius.ledger.draft import Draft, Needs
from dalenius.ledger.entry import canonical_body
from dalenius.ledger.state import ChargeRow, names_overlaps


def new_lease() -> str:
    return SystemRandomness().bytes(16).hex()


class Busy(Exception):
    """Another process is completing the same request."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """Charge a request, find that it was charged before, or refuse. Looks at the charge and the ledger only."""

    charge: Charge
    lease: str
    lease_seconds: float
    balances: tuple[BalanceKey, ...]
    body: Mapping[str, Any]
    text: str

    @classmethod
    def of(cls, charge: Charge, lease: str = "", lease_seconds: float = 0.0) -> "Reserve":
        """Prepare all that needs no lock; refuses a request that JSON cannot hold."""
        analyst = None if charge.is_official else charge.analyst
        own = balances_of(charge.population, charge.account, charge.version, analyst, tuple(charge.variables))
        body = charge.body() | {"balances": [[key.kind, key.name] for key in own]}
        others = balances_elsewhere(charge.overlaps, charge.account, analyst=charge.analyst, variables=charge.variables)
        return cls(charge, lease, lease_seconds, (*own, *others), body, canonical_body(body))

    @property
    def needs(self) -> Needs:
        return Needs(
            populations=frozenset({self.charge.population, *self.charge.overlaps}),
            balances=_balances_to_read(self.charge.population, self.balances),
            keys=frozenset({self.charge.key}),
            datasets=frozenset({self.charge.dataset}),
        )

    def decide(self, draft: Draft) -> Reservation:
        """Return the reservation; its lease is empty where a stored release is served."""
        row = draft.state.charges.get(self.charge.key)
        if row is not None:
            return self._repeat(draft, row)
        self._check(draft)
        charge = self.charge
        entry = draft.emit("charge", population=charge.population, by=charge.analyst, body=self.body, text=self.text)
        self._take(draft, draft.state.charges[self.charge.key])
        return self._reservation(entry.name, self.lease)

    def _reservation(self, entry: str, lease: str) -> Reservation:
        same = {name: getattr(self.charge, name) for name in ("key", "analyst", "fingerprint", "plan_digest")}
        return Reservation(entry=entry, lease=lease, **same)

    def _take(self, draft: Draft, row: ChargeRow) -> None:
        draft.state.charges[row.key] = row._replace(lease=self.lease, lease_until=draft.now + self.lease_seconds)

    def _repeat(self, draft: Draft, row: ChargeRow) -> Reservation:
        """Return the stored release, the same lease, or an expired lease that is taken over; else refuse."""
        charge = self.charge
        used = (row.population, row.dataset, row.version, row.definition)
        if used != (charge.population, charge.dataset, charge.version, charge.definition):
            raise Conflict(f"The key {charge.key[:12]} was used before for something else.", key=charge.key)
        release = draft.state.releases.get(row.entry)
        if release is not None:
            if not is_served(release, row, charge.analyst):
                raise NotPublic(
                    f"The release of this request is {release.status}; only a published one is served again.",
                    status=release.status,
                )
            return self._reservation(row.entry, "")
        if self.lease and row.lease == self.lease:
            # The connection was lost after the charge was written, and the same caller tries again.
            return self._reservation(row.entry, self.lease)
        if row.lease_until > draft.now:
            raise Busy
        if (row.fingerprint, row.plan_digest) != (charge.fingerprint, charge.plan_digest):
            raise Conflict(
                "This request was charged and never completed. It can be completed only on the same data and plan; "
                "the file or the plan has changed since.",
                entry=row.entry,
            )
        body = {"entry": row.entry, "key": row.key, "until": round(row.lease_until, 3)}
        draft.emit("takeover", population=row.population, by=charge.analyst, body=body)
        self._take(draft, row)
        return self._reservation(row.entry, self.lease)

    def _check(self, draft: Draft) -> None:
        charge, state = self.charge, draft.state
        registered = state.registrations.get((charge.dataset, charge.version))
        if registered is None:
            raise NotRegistered(
                f"Data set {charge.dataset!r}, version {charge.version!r}, is not registered in this ledger.",
                dataset=charge.dataset,
                version=charge.version,
            )
        if registered.population != charge.population:
            raise LedgerMismatch(
                f"Data set {charge.dataset!r} belongs to population {registered.population!r}, not to "
                f"{charge.population!r}."
            )
        if charge.fingerprint != registered.fingerprint:
            raise DataChanged(
                f"The file is not the one registered as {charge.dataset!r}, version {charge.version!r}.",
                dataset=charge.dataset,
                version=charge.version,
            )
        terms = state.terms.get(charge.population)
        if terms is None:
            raise BudgetExhausted(
                f"No budget was granted to population {charge.population!r}; the custodian grants one first.",
                population=charge.population,
            )
        # That of the population, or replace where membership is public.
        relation = Relation.REPLACE if charge.account == PUBLIC_ATTRIBUTES else terms.relation
        if relation is not charge.relation:
            raise LedgerMismatch(
                f"The account of {charge.population!r} is kept under {relation}; a charge under {charge.relation} is "
                f"never added to it. Request the release under {relation}.",
                account=str(relation),
                charge=str(charge.relation),
            )
        if not names_overlaps(draft.state, charge.population, charge.overlaps):
            raise Conflict(
                f"The populations declared to share persons with {charge.population!r} changed while this request was "
                "prepared. Repeat it, so that each of their accounts is charged."
            )
        # An analyst's own quota comes first, so that a refusal shows nothing of what is left to others, and nobody
        # approves what the quota does not cover.
        quotas = [key for key in self.balances if key.kind == QUOTA]
        for key in quotas:
            self._check_balance(draft, key)
        # A second person approves where any charged account requires it at this cost.
        is_approved = charge.approved_by and charge.approved_by != charge.analyst
        for population in () if is_approved else (charge.population, *charge.overlaps):
            above = draft.state.terms[population].approval_above
            if above is not None and charge.units.rho > above:
                raise ApprovalRequired(
                    f"A cost of this size needs the approval of a second person{_in_account(population, charge)}.",
                    cost=charge.cost.to_dict(),
                )
        for key in self.balances:
            if key not in quotas:
                self._check_balance(draft, key)

    def _check_balance(self, draft: Draft, key: BalanceKey) -> None:
        """Refuse unless the balance covers the charge, and has a limit here if it has one in another account."""
        charge, state = self.charge, draft.state
        balance = state.balance(key)
        if key.kind == WAVE and state.terms[charge.population].is_scheduled and not balance.is_limited:
            raise BudgetExhausted(
                f"Version {charge.version!r} is not in the schedule declared for this population.",
                version=charge.version,
            )
        # An account to which nothing was granted has no total: that is no limit, and covers nothing.
        is_granted = key.kind != TOTAL or balance.is_limited
        if not is_granted or not balance.covers(charge.units):
            raise _exhausted(balance, charge)
        if not balance.is_limited and any(state.balance(other).is_limited for other in _in_other_accounts(key)):
            raise _unlimited_here(key, charge)


@lru_cache(maxsize=1 << 12)
def _balances_to_read(population: str, charged: tuple[BalanceKey, ...]) -> frozenset[BalanceKey]:
    others = {key.population for key in charged} - {population}
    declared = [overlaps_of(population), *(overlap_with(population, other) for other in others)]
    return frozenset({*charged, *declared}).union(*map(_in_other_accounts, charged))


def _in_other_accounts(key: BalanceKey) -> list[BalanceKey]:
    if key.kind not in (QUOTA, CAP):
        return []
    return [key._replace(account=account) for account in ACCOUNTS if account != key.account]


def _unlimited_here(key: BalanceKey, charge: Charge) -> Exception:
    name = f"quota of {key.name!r}" if key.kind == QUOTA else f"cap of variable {key.name!r}"
    message = (
        f"The {name}{_in_account(key.population, charge)} is not set for the {key.account} account, so nothing is "
        "charged there. The custodian can set it there."
    )
    kind = QuotaExhausted if key.kind == QUOTA else BudgetExhausted
    return kind(message, cost=charge.cost.to_dict(), account=key.account)


def _exhausted(balance: Balance, charge: Charge) -> Exception:
    """Return the refusal: the cost and the rule that refused; what is left is shown to the quota's owner only."""
    key, cost = balance.key, charge.cost.to_dict()
    where, needed = _in_account(key.population, charge), _in_words(charge.units.rho, charge.units.delta)
    if key.kind == QUOTA:
        message = (
            f"The quota of {charge.analyst!r}{where} does not cover this request. Left: {_in_words(*balance.left)}; "
            f"needed: {needed}."
        )
        if charge.units.delta and not balance.limit_delta:
            message += " The quota was set without delta, which this definition needs."
        return QuotaExhausted(message, cost=cost, quota=balance.to_dict())
    limit = _in_words(balance.limit_rho, balance.limit_delta)
    message = {
        TOTAL: f"The account of population {key.population!r} does not cover this request.",
        UNRESERVED: f"What is left for {key.population!r} is reserved for official tables.",
        CAP: f"The cap of variable {key.name!r}{where} does not cover this request.",
        WAVE: f"The schedule's budget for version {key.name!r}, {limit} in all, does not cover this request.",
    }[key.kind]
    return BudgetExhausted(f"{message} Needed: {needed}.", cost=cost, balance=key.kind)


def _in_account(population: str, charge: Charge) -> str:
    """Return which account refuses, where it is that of an overlapping population."""
    return "" if population == charge.population else f" in the account of {population!r}"


def _in_words(rho: int, delta: int) -> str:
    """Return rho and delta, given in ledger units, for readers."""
    return f"rho {float(rho * UNIT):.6g}, delta {float(delta * UNIT):.3g}"
