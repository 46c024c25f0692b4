"""The append-only record of what was spent."""

from dalenius.ledger.account import Account
from dalenius.ledger.charge import Charge, Registration, Reservation, StoredRelease
from dalenius.ledger.entry import Entry
from dalenius.ledger.ledger import Ledger

__all__ = ["Account", "Charge", "Entry", "Ledger", "Registration", "Reservation", "StoredRelease"]
