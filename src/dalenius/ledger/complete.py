"""The second command of a release: store its document, and decide who is served it again."""

from dataclasses import dataclass

from dalenius.core.release import Status
from dalenius.errors import Conflict, LedgerMismatch, NotAllowed, NotPublic
from dalenius.ledger.charge import Reservation
from dalenius.ledger.draft import Draft, Needs
from dalenius.ledger.entry import digest_of
from dalenius.ledger.state import ChargeRow, ReleaseRow


def is_served(release: ReleaseRow, row: ChargeRow, analyst: str) -> bool:
    """Whether a stored release may be served: published to everybody, earlier only to whom it was charged."""
    if release.status == Status.PUBLISHED:
        return True
    return release.status in (Status.DRAFT, Status.EMBARGOED) and row.analyst == analyst


@dataclass(frozen=True, slots=True)
class OfReservation:
    reservation: Reservation

    @property
    def needs(self) -> Needs:
        return Needs(keys=frozenset({self.reservation.key}))


@dataclass(frozen=True, slots=True)
class Complete(OfReservation):
    """Store the release of a reservation, if absent; returns the entry under which one is stored."""

    document: bytes
    status: str
    is_tainted: bool = False

    def decide(self, draft: Draft) -> str:
        row = draft.state.charges.get(self.reservation.key)
        if row is None or row.entry != self.reservation.entry:
            raise LedgerMismatch("This reservation does not belong to this ledger.")
        if row.is_done:
            release = draft.state.releases[row.entry]
            if not is_served(release, row, self.reservation.analyst):
                raise NotPublic(f"The release of this request is {release.status}.", status=release.status)
            return row.entry
        if row.lease != self.reservation.lease:
            raise Conflict("Another process has taken over this request and will store its release.", entry=row.entry)
        if (row.fingerprint, row.plan_digest) != (self.reservation.fingerprint, self.reservation.plan_digest):
            raise Conflict("A charge is completed only on the data and plan it was made for.", entry=row.entry)
        if (row.is_tainted or self.is_tainted) and not row.is_public_data:
            raise NotAllowed("A release made with recorded randomness is refused: the data are not public.")
        body = {"entry": row.entry, "key": row.key, "digest": digest_of(self.document), "bytes": len(self.document)}
        body["status"] = str(Status(self.status))
        draft.emit("release", population=row.population, by=self.reservation.analyst, body=body)
        draft.documents[row.entry] = self.document
        return row.entry


class Abandon(OfReservation):
    """Give up a lease after a failure, so that nobody waits for it to end; the charge stands. Whether there was one."""

    def decide(self, draft: Draft) -> bool:
        row = draft.state.charges.get(self.reservation.key)
        if row is None or row.is_done or not row.lease or row.lease != self.reservation.lease:
            return False
        body = {"entry": row.entry, "key": row.key}
        draft.emit("abandon", population=row.population, by=self.reservation.analyst, body=body)
        draft.state.charges[row.key] = row._replace(lease="", lease_until=0.0)
        return True
