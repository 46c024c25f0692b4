"""The first command of a release: reserve its worst case, or find that it was paid for before."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dalenius.core.budget import UNIT
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
    ANALYST,
    OTHERS,
    TOTAL,
    VARIABLE,
    WAVE,
    Purse,
    PurseKey,
    overlap_with,
    overlaps_of,
    purses_elsewhere,
    purses_of,
)
from dalenius.ledger.charge import PAGES, Charge, Reservation, relation_on
from dalenius.ledger.complete import is_served
from dalenius.ledger.draft import Draft, Needs
from dalenius.ledger.entry import canonical_body
from dalenius.ledger.state import ChargeRow, names_overlaps


def new_lease() -> str:
    """A name for the right to complete one charge, which nobody else can guess."""
    return SystemRandomness().bytes(16).hex()


class Busy(Exception):
    """Somebody else is completing the same request now."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """Pay for a request, find that it was paid before, or refuse. Looks at the charge and the ledger only."""

    charge: Charge
    lease: str
    lease_seconds: float
    purses: tuple[PurseKey, ...]
    body: Mapping[str, Any]
    text: str

    @classmethod
    def of(cls, charge: Charge, lease: str = "", lease_seconds: float = 0.0) -> "Reserve":
        """What can be prepared before the writer's turn; a request that JSON cannot hold is refused here."""
        own = purses_of(charge)
        body = charge.body() | {"purses": [[key.kind, key.name] for key in own]}
        others = purses_elsewhere(charge.overlaps, charge.page, analyst=charge.analyst, variables=charge.variables)
        purses = (*own, *others)
        return cls(charge, lease, lease_seconds, purses, body, canonical_body(body))

    @property
    def needs(self) -> Needs:
        """The account, the purses, and whatever was done under the same key."""
        return Needs(
            populations=frozenset({self.charge.population, *self.charge.overlaps}),
            purses=_purses_to_read(self.charge.population, self.purses),
            keys=frozenset({self.charge.key}),
            datasets=frozenset({self.charge.dataset}),
        )

    def decide(self, draft: Draft) -> Reservation:
        """The reservation; its lease is empty where a stored release answers."""
        row = draft.state.charges.get(self.charge.key)
        if row is not None:
            return self._again(draft, row)
        self._check(draft)
        charge = self.charge
        entry = draft.emit("charge", population=charge.population, by=charge.analyst, body=self.body, text=self.text)
        self._take(draft, draft.state.charges[self.charge.key])
        return self._reservation(entry.name, self.lease)

    def _reservation(self, entry: str, lease: str) -> Reservation:
        return Reservation(
            entry=entry,
            lease=lease,
            head="",
            key=self.charge.key,
            analyst=self.charge.analyst,
            fingerprint=self.charge.fingerprint,
            plan_digest=self.charge.plan_digest,
        )

    def _take(self, draft: Draft, row: ChargeRow) -> None:
        draft.state.charges[row.key] = row._replace(lease=self.lease, lease_until=draft.now + self.lease_seconds)

    def _again(self, draft: Draft, row: ChargeRow) -> Reservation:
        charge = self.charge
        if (row.population, row.dataset, row.version, row.definition) != (
            charge.population,
            charge.dataset,
            charge.version,
            charge.definition,
        ):
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
            # The connection was lost after the charge was written; this is the same caller asking again.
            return self._reservation(row.entry, self.lease)
        if row.lease_until > draft.now:
            raise Busy
        if (row.fingerprint, row.plan_digest) != (charge.fingerprint, charge.plan_digest):
            raise Conflict(
                "This request was charged and never completed. It can be completed only on the same data and plan; "
                "the file or the plan has changed since.",
                entry=row.entry,
            )
        draft.emit(
            "takeover",
            population=row.population,
            by=charge.analyst,
            body={"entry": row.entry, "key": row.key, "until": round(row.lease_until, 3)},
        )
        self._take(draft, row)
        return self._reservation(row.entry, self.lease)

    def _check(self, draft: Draft) -> None:
        """Every reason to refuse, before anything is spent."""
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
                f"Data set {charge.dataset!r} belongs to population {registered.population!r}, "
                f"not to {charge.population!r}."
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
        relation = relation_on(charge.page, terms.relation)
        if relation is not charge.relation:
            raise LedgerMismatch(
                f"The account of {charge.population!r} is kept under {relation}; a charge under "
                f"{charge.relation} is never added to it. Ask for the release under {relation}.",
                account=str(relation),
                charge=str(charge.relation),
            )
        self._check_overlaps(draft)
        # An analyst's own quota speaks first, so that a refusal says nothing of what is left to others, and nobody is
        # asked to approve what the asker cannot pay.
        own = [key for key in self.purses if key.kind == ANALYST]
        for key in own:
            self._check_purse(draft, key)
        self._check_approval(draft)
        for key in self.purses:
            if key not in own:
                self._check_purse(draft, key)

    def _check_approval(self, draft: Draft) -> None:
        """A second person's approval, where any account that pays asks for it at this cost."""
        charge = self.charge
        if self._is_approved:
            return
        for population in (charge.population, *charge.overlaps):
            above = draft.state.terms[population].approval_above
            if above is not None and charge.units.rho > above:
                raise ApprovalRequired(
                    f"A cost of this size needs the approval of a second person{_account_phrase(population, charge)}.",
                    cost=charge.cost.to_dict(),
                )

    def _check_overlaps(self, draft: Draft) -> None:
        """Every population that was declared to share persons pays, and no other; all are kept under one relation."""
        charge = self.charge
        if not names_overlaps(draft.state, charge.population, charge.overlaps):
            raise Conflict(
                "This request names other populations than those that are declared to share persons with "
                f"{charge.population!r}: one was"
                " declared while it was prepared; ask again, so that each of their accounts pays."
            )

    def _check_purse(self, draft: Draft, key: PurseKey) -> None:
        """Whether one purse pays, and is not silent on this page where it speaks on another."""
        charge, state = self.charge, draft.state
        purse = state.purse(key)
        if key.kind == WAVE and state.terms[charge.population].is_scheduled and not purse.is_limited:
            raise BudgetExhausted(
                f"Version {charge.version!r} is not in the schedule declared for this population.",
                version=charge.version,
            )
        # A page to which nothing was granted has no purse at all; that is no limit, and pays nothing.
        is_granted = key.kind != TOTAL or purse.is_limited
        if not is_granted or not purse.pays(charge.units):
            raise _refusal(purse, charge)
        if not purse.is_limited and any(state.purse(other).is_limited for other in _elsewhere(key)):
            raise _unlimited_here(key, charge)

    @property
    def _is_approved(self) -> bool:
        return bool(self.charge.approved_by) and self.charge.approved_by != self.charge.analyst


@lru_cache(maxsize=1 << 12)
def _purses_to_read(population: str, paying: tuple[PurseKey, ...]) -> frozenset[PurseKey]:
    others = {key.population for key in paying} - {population}
    declared = [overlaps_of(population), *(overlap_with(population, other) for other in others)]
    return frozenset({*paying, *declared}).union(*map(_elsewhere, paying))


def _elsewhere(key: PurseKey) -> list[PurseKey]:
    """The same analyst's quota, or the same variable's cap, on the other pages."""
    if key.kind not in (ANALYST, VARIABLE):
        return []
    return [key._replace(page=page) for page in PAGES if page != key.page]


def _unlimited_here(key: PurseKey, charge: Charge) -> Exception:
    """Who is held to a limit on one page is not let through where nobody wrote it down again."""
    what = "quota of" if key.kind == ANALYST else "cap of variable"
    where = _account_phrase(key.population, charge)
    message = (
        f"The {what} {key.name!r}{where} says nothing about the {key.page} page, so nothing is charged there; the "
        "custodian"
        " sets one on that page."
    )
    kind = QuotaExhausted if key.kind == ANALYST else BudgetExhausted
    return kind(message, cost=charge.cost.to_dict(), page=key.page)


def _refusal(purse: Purse, charge: Charge) -> Exception:
    """Says what was asked and which rule refused; the remainder is shown to its owner only."""
    cost = charge.cost.to_dict()
    if purse.key.kind == ANALYST:
        return QuotaExhausted(_own_quota(purse, charge), cost=cost, quota=purse.to_dict())
    asked = _amounts(charge.cost.rho, charge.cost.delta)
    reason = {
        TOTAL: f"The account of population {purse.key.population!r} cannot pay {asked}.",
        OTHERS: f"What is left for {purse.key.population!r} is kept back for official tables; asked: {asked}.",
        VARIABLE: f"The cap of variable {purse.key.name!r}{_account_phrase(purse.key.population, charge)} cannot pay "
        f"{asked}.",
        WAVE: f"The part of the schedule for version {purse.key.name!r}, {_limit(purse)} in all, cannot pay {asked}.",
    }[purse.key.kind]
    return BudgetExhausted(reason, cost=cost, purse=purse.key.kind)


def _account_phrase(population: str, charge: Charge) -> str:
    """Which account refuses, where it is that of another population with the same persons."""
    return "" if population == charge.population else f" in the account of {population!r}"


def _limit(purse: Purse) -> str:
    """What a purse was given, which the custodian declared; not what is left of it."""
    return _amounts(purse.limit_rho * UNIT, purse.limit_delta * UNIT)


def _own_quota(purse: Purse, charge: Charge) -> str:
    """The owner of a quota reads what is left of it, and whether it lacks delta altogether."""
    where = _account_phrase(purse.key.population, charge)
    said = f"The quota of {charge.analyst!r}{where} cannot pay this request."
    rho, delta = purse.limit_rho - purse.spent_rho, purse.limit_delta - purse.spent_delta
    asked = _amounts(charge.cost.rho, charge.cost.delta)
    said += f" Left: {_amounts(rho * UNIT, delta * UNIT)}; asked: {asked}."
    if charge.units.delta and not purse.limit_delta:
        said += " The quota was set without delta, which this definition needs."
    return said


def _amounts(rho: Fraction, delta: Fraction) -> str:
    return f"rho {float(rho):.6g}, delta {float(delta):.3g}"
