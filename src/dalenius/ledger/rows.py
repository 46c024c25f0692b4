"""Rows of the store as the frozen types they hold, and back."""

from collections.abc import Sequence
from typing import Any

from dalenius.core.neighbours import Relation
from dalenius.errors import LedgerCorrupt
from dalenius.ledger.account import Purse, PurseKey, Terms
from dalenius.ledger.charge import Registration, StoredRelease
from dalenius.ledger.state import ChargeRow, ReleaseRow

Row = Sequence[Any]


def _flag(value: object) -> bool:
    """A column that holds 0 or 1 and nothing else."""
    if value not in (0, 1):
        raise LedgerCorrupt("A column of the ledger holds something that it cannot hold.")
    return bool(value)


def as_terms(row: Row) -> Terms:
    """What was agreed for a population."""
    return Terms(population=row[0], relation=Relation(row[1]), approval_above=row[2], is_scheduled=_flag(row[3]))


def as_purse(row: Row) -> Purse:
    """A purse as it stands."""
    return Purse(PurseKey(*row[:4]), *row[4:11])


def as_charge(row: Row) -> ChargeRow:
    """A charge with its lease."""
    return ChargeRow(
        seq=row[0],
        key=row[1],
        entry=row[2],
        population=row[3],
        dataset=row[4],
        version=row[5],
        definition=row[6],
        analyst=row[7],
        fingerprint=row[8],
        plan_digest=row[9],
        is_tainted=_flag(row[10]),
        is_public_data=_flag(row[11]),
        is_done=_flag(row[12]),
        lease=row[13],
        lease_until=float(row[14]),
    )


def as_registration(row: Row) -> Registration:
    """A registered file."""
    return Registration(
        dataset=row[0], version=row[1], population=row[2], fingerprint=row[3], domain_digest=row[4], entry=row[5]
    )


def as_release(row: Row) -> ReleaseRow:
    """What is known of a release without its document."""
    return ReleaseRow(seq=row[0], entry=row[1], key=row[2], digest=row[3], status=row[4])


def stored(row: Row) -> StoredRelease:
    """A release as it was read back; a document that was turned into text is told by its digest."""
    document = row[2].encode() if isinstance(row[2], str) else bytes(row[2])
    return StoredRelease(entry=row[0], key=row[1], document=document, status=row[3], population=row[4], analyst=row[5])


def of_terms(terms: Terms) -> Row:
    """Columns of what was agreed for a population."""
    return (terms.population, str(terms.relation), terms.approval_above, int(terms.is_scheduled))


def of_purse(purse: Purse) -> Row:
    """Columns of a purse."""
    return (*purse.key, *purse.numbers)


def of_charge(charge: ChargeRow) -> Row:
    """Columns of a charge with its lease."""
    return (
        *(charge.seq, charge.key, charge.entry, charge.population, charge.dataset, charge.version),
        *(charge.definition, charge.analyst, charge.fingerprint, charge.plan_digest),
        *(int(charge.is_tainted), int(charge.is_public_data), int(charge.is_done)),
        *(charge.lease, float(charge.lease_until)),
    )


def of_release(release: ReleaseRow) -> Row:
    """Columns of a release without its document."""
    return (release.seq, release.entry, release.key, release.digest, release.status)


def of_registration(one: Registration) -> Row:
    """Columns of a registered file."""
    return (one.dataset, one.version, one.population, one.fingerprint, one.domain_digest, one.entry)
