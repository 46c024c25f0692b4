"""The two commands of a release: reserve its worst case, and store what came out."""

from dataclasses import dataclass, replace

from dalenius.core.exact import plain
from dalenius.core.release import Status
from dalenius.errors import (
    ApprovalRequired,
    BudgetExhausted,
    Conflict,
    DataChanged,
    LedgerMismatch,
    NotAllowed,
    NotPublic,
    NotRegistered,
    QuotaExhausted,
)
from dalenius.ledger.account import ANALYST, OTHERS, TOTAL, VARIABLE, WAVE, Purse, PurseKey, purses_of
from dalenius.ledger.charge import Charge, Reservation
from dalenius.ledger.draft import Draft, Needs
from dalenius.ledger.entry import digest_of
from dalenius.ledger.state import ChargeRow, ReleaseRow


class Busy(Exception):
    """Somebody else is completing the same request now."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """Pay for a request, find that it was paid before, or refuse. Looks at the charge and the ledger only."""

    charge: Charge
    lease: str
    lease_seconds: float

    @property
    def needs(self) -> Needs:
        """The account, the purses, and whatever was done under the same key."""
        return Needs(
            populations=frozenset({self.charge.population}),
            purses=frozenset(purses_of(self.charge)),
            keys=frozenset({self.charge.key}),
            datasets=frozenset({self.charge.dataset}),
        )

    def decide(self, draft: Draft) -> Reservation:
        """The reservation; its lease is empty where a stored release answers."""
        row = draft.state.charges.get(self.charge.key)
        if row is not None:
            return self._again(draft, row)
        keys = purses_of(self.charge)
        self._check(draft, keys)
        body = self.charge.body() | {"purses": [[key.kind, key.name] for key in keys]}
        entry = draft.emit("charge", population=self.charge.population, by=self.charge.analyst, body=body)
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
        draft.state.charges[row.key] = replace(
            row, lease=self.lease, lease_until=draft.now + self.lease_seconds
        )

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
        if row.lease == self.lease:
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

    def _check(self, draft: Draft, keys: tuple[PurseKey, ...]) -> None:
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
                f"not to {charge.population!r}.",
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
        if terms.relation is not charge.relation:
            raise LedgerMismatch(
                f"The account of {charge.population!r} is kept under {terms.relation}; a charge under "
                f"{charge.relation} is never added to it. Ask for the release under {terms.relation}.",
                account=str(terms.relation),
                charge=str(charge.relation),
            )
        units = charge.units
        if terms.approval_above is not None and units.rho > terms.approval_above and not self._is_approved:
            raise ApprovalRequired(
                "A cost of this size needs the approval of a second person.", cost=charge.cost.to_dict()
            )
        for key in keys:
            purse = state.purse(key)
            if key.kind == WAVE and terms.is_scheduled and not purse.is_limited:
                raise BudgetExhausted(
                    f"Version {charge.version!r} is not in the schedule declared for this population.",
                    version=charge.version,
                )
            if not purse.pays(units):
                raise _refusal(purse, charge)

    @property
    def _is_approved(self) -> bool:
        return bool(self.charge.approved_by) and self.charge.approved_by != self.charge.analyst


def is_served(release: ReleaseRow, row: ChargeRow, analyst: str) -> bool:
    """Published releases answer everybody; drafts and embargoed ones only who asked for them first."""
    if release.status == Status.PUBLISHED:
        return True
    return release.status in (Status.DRAFT, Status.EMBARGOED) and row.analyst == analyst


def _refusal(purse: Purse, charge: Charge) -> Exception:
    """Says what was asked and which rule refused; the remainder is shown to its owner only."""
    cost = charge.cost.to_dict()
    if purse.key.kind == ANALYST:
        return QuotaExhausted(
            f"The quota of {charge.analyst!r} cannot pay this request.", cost=cost, quota=purse.to_dict()
        )
    asked = f"rho {plain(charge.cost.rho)}, delta {plain(charge.cost.delta)}"
    reason = {
        TOTAL: f"The account of population {charge.population!r} cannot pay {asked}.",
        OTHERS: f"What is left for {charge.population!r} is kept back for official tables; asked: {asked}.",
        VARIABLE: f"The cap of variable {purse.key.name!r} cannot pay {asked}.",
        WAVE: f"The part of the schedule for version {purse.key.name!r} cannot pay {asked}.",
    }[purse.key.kind]
    return BudgetExhausted(reason, cost=cost, purse=purse.key.kind)


@dataclass(frozen=True, slots=True)
class Complete:
    """Store the release of a reservation, if absent; the answer is the entry under which one is stored."""

    reservation: Reservation
    document: bytes
    status: str
    is_tainted: bool = False

    @property
    def needs(self) -> Needs:
        """The charge and its release."""
        return Needs(keys=frozenset({self.reservation.key}))

    def decide(self, draft: Draft) -> str:
        """The entry to read back."""
        row = draft.state.charges.get(self.reservation.key)
        if row is None or row.entry != self.reservation.entry:
            raise LedgerMismatch("This reservation does not belong to this ledger.")
        if row.is_done:
            release = draft.state.releases[row.entry]
            if not is_served(release, row, self.reservation.analyst):
                raise NotPublic(f"The release of this request is {release.status}.", status=release.status)
            return row.entry
        if row.lease != self.reservation.lease:
            raise Conflict(
                "Another process has taken over this request; its release will be the answer.",
                entry=row.entry,
            )
        if (row.fingerprint, row.plan_digest) != (self.reservation.fingerprint, self.reservation.plan_digest):
            raise Conflict(
                "A charge is completed only on the data and plan it was made for.", entry=row.entry
            )
        if (row.is_tainted or self.is_tainted) and not row.is_public_data:
            raise NotAllowed("A release made with recorded randomness is refused: the data are not public.")
        body = {
            "entry": row.entry,
            "key": row.key,
            "digest": digest_of(self.document),
            "bytes": len(self.document),
            "status": str(Status(self.status)),
        }
        draft.emit("release", population=row.population, by=self.reservation.analyst, body=body)
        draft.documents[row.entry] = self.document
        return row.entry
