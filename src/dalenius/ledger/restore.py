"""Going on from a store that lost its last lines: a deliberate act, a line of the ledger, and never a new budget.

Guarantee
    After a restore no population has anything left of what the store knows to be granted: whatever was sold in the
    lost lines was sold out of it. The custodian grants anew, by a line of their own, what they can answer for.
Requires
    No grant is among the lost lines; nobody can know what was spent of one that is not in the store.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

from dalenius.core.budget import UNIT
from dalenius.core.rationals import plain
from dalenius.errors import ParameterError
from dalenius.ledger.account import TOTAL, Purse, PurseKey
from dalenius.ledger.anchor import AnchorFile
from dalenius.ledger.continuity import Break
from dalenius.ledger.draft import Draft, Needs
from dalenius.ledger.entry import Entry
from dalenius.ledger.ledger import WAIT_SECONDS, Ledger, connect, places


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Say that lines were lost, and count what is left of every budget as spent; `purses` empty forfeits nothing."""

    body: Mapping[str, Any]
    purses: frozenset[PurseKey]
    by: str

    @property
    def needs(self) -> Needs:
        """Every purse that has a limit."""
        return Needs(populations=frozenset(key.population for key in self.purses), purses=frozenset(self.purses))

    def decide(self, draft: Draft) -> tuple[Entry, ...]:
        """One line for the ledger, and one for each page that had something left."""
        lines = [draft.emit("restore", population="", by=self.by, body=self.body)]
        for population, page in sorted({key[:2] for key in self.purses}):
            kept = [draft.state.purse(key) for key in sorted(self.purses) if key[:2] == (population, page)]
            left = [purse for purse in kept if _left(purse) != (0, 0)]
            if left:
                lines.append(draft.emit("forfeit", population=population, by=self.by, body=_forfeit(page, left)))
        return tuple(lines)


def _left(purse: Purse) -> tuple[int, int]:
    return purse.limit_rho - purse.spent_rho, purse.limit_delta - purse.spent_delta


def _forfeit(page: str, left: list[Purse]) -> dict[str, Any]:
    rho, delta = next((_left(purse) for purse in left if purse.key.kind == TOTAL), (0, 0))
    return {
        "page": page,
        "amounts": {"rho": plain(rho * UNIT), "delta": plain(delta * UNIT)},
        "purses": [[purse.key.kind, purse.key.name, *_left(purse)] for purse in left],
    }


def restore(
    location: str | Path, *, by: str, note: str, anchor: str | Path | None = None, keys: str | Path | None = None
) -> tuple[Entry, ...]:
    """Go on from the store as it is; its lines say so. Refused where store and anchor agree, or nothing is there.

    The anchor that knew more is kept beside the new one. Where only the anchor was lost nothing is forfeited: the store
    may be whole, and the custodian says so by this line.
    """
    if not note.strip():
        raise ParameterError("A restore says why; it is written to the ledger.")
    connect(str(location), may_write=False).close()
    ledger = Ledger(
        str(location),
        **places(location, anchor, keys),
        clock=time,
        lease_seconds=0.0,
        wait_seconds=WAIT_SECONDS,
        is_checked=False,
    )
    with ledger:
        fault = ledger.find_break()
        if fault is None:
            raise ParameterError("The store goes on where its anchor ends; there is nothing to restore.")
        if fault.is_other_anchor:
            raise fault.error()
        lines = _written(ledger, fault, by, note)
        if not fault.is_anchor_missing:
            _set_aside(ledger.books.anchor, ledger, lines[-1], fault)
    return lines


def _written(ledger: Ledger, gap: Break, by: str, note: str) -> tuple[Entry, ...]:
    last, head = gap.anchored, ledger.head
    body = {
        "store": {"seq": head.seq, "head": head.digest},
        "anchored": None if last is None else {"seq": last.seq, "head": last.head, "ledger": last.ledger},
        "note": note,
    }
    purses = ledger.books.purses()
    spent = frozenset(p.key for p in purses if p.is_limited and not gap.is_anchor_missing)
    lines: tuple[Entry, ...] = ledger.submit(Restore(body=body, purses=spent, by=by))
    return lines


def _set_aside(anchor: AnchorFile, ledger: Ledger, line: Entry, gap: Break) -> None:
    """The new anchor is complete before the old one steps aside; a crash in between is a restore to be repeated."""
    assert gap.anchored is not None
    fresh = anchor.path.with_name(f"{anchor.path.name}.new")
    fresh.unlink(missing_ok=True)
    anchor.at(fresh).append(ledger.books.name, ledger.head, line.at, is_release=True)
    aside = anchor.path.with_name(f"{anchor.path.name}.until-{gap.anchored.seq}-{gap.anchored.head[:8]}")
    os.replace(anchor.path, aside)
    os.replace(fresh, anchor.path)
