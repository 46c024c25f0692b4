"""Rows of the store as the frozen types they hold, and back: fields stand in the order of `schema`'s columns."""

from collections.abc import Sequence
from typing import Any

from dalenius.core.neighbours import Relation
from dalenius.errors import LedgerCorrupt
from dalenius.ledger.account import Balance, BalanceKey, Terms

Row = Sequence[Any]


def flag(value: object) -> bool:
    """Return a column that holds 0 or 1 and nothing else."""
    if value not in (0, 1):
        raise LedgerCorrupt("A column of the ledger holds something that it cannot hold.")
    return bool(value)


def as_terms(row: Row) -> Terms:
    return Terms(row[0], Relation(row[1]), row[2], flag(row[3]))


def as_balance(row: Row) -> Balance:
    return Balance(BalanceKey(*row[:4]), *row[4:11])


def of_terms(terms: Terms) -> Row:
    return (terms.population, str(terms.relation), terms.approval_above, int(terms.is_scheduled))
