"""Going on from a store that lost its last lines: a deliberate act, a line of the ledger, and never a new budget.

Guarantee
    After a restore no population has anything left of what the store knows to be granted: whatever the lost lines
    charged was charged to it. The custodian grants anew, by a line of their own, what they can answer for.
Requires
    No grant is among the lost lines; nobody can know what was spent of one that is not in the store.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

from dalenius.errors import ParameterError
from dalenius.ledger.account import TOTAL, Balance, BalanceKey, exact_text
from dalenius.ledger.anchor import AnchorFile
from dalenius.ledger.continuity import Break
from dalenius.ledger.draft import Draft, Needs
from dalenius.ledger.entry import Entry
from dalenius.ledger.ledger import WAIT_SECONDS, Ledger, connect, places


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Record that lines were lost, and count what is left of these balances as spent.

    Returns one line for the ledger, and one for each account that had something left.
    """

    body: Mapping[str, Any]
    balances: frozenset[BalanceKey]
    by: str

    @property
    def needs(self) -> Needs:
        return Needs(populations=frozenset(key.population for key in self.balances), balances=frozenset(self.balances))

    def decide(self, draft: Draft) -> tuple[Entry, ...]:
        lines = [draft.emit("restore", population="", by=self.by, body=self.body)]
        for population, account in sorted({key[:2] for key in self.balances}):
            kept = [draft.state.balance(key) for key in sorted(self.balances) if key[:2] == (population, account)]
            left = [balance for balance in kept if balance.left != (0, 0)]
            if left:
                lines.append(draft.emit("forfeit", population=population, by=self.by, body=_forfeit(account, left)))
        return tuple(lines)


def _forfeit(account: str, left: list[Balance]) -> dict[str, Any]:
    total = next((balance.left for balance in left if balance.key.kind == TOTAL), (0, 0))
    return {
        "account": account,
        "cost": exact_text(*total),
        "balances": [[balance.key.kind, balance.key.name, *balance.left] for balance in left],
    }


def restore(
    location: str | Path, *, by: str, note: str, anchor: str | Path | None = None, keys: str | Path | None = None
) -> tuple[Entry, ...]:
    """Continue with the store as it is and return the lines that record it; refused where store and anchor agree.

    The anchor that knew more is kept beside the new one. Where only the anchor was lost nothing is forfeited: the store
    may be whole, and the custodian states so by this line.
    """
    if not note.strip():
        raise ParameterError("A restore needs a `note` with the reason; it is written to the ledger.")
    connect(str(location), may_write=False).close()
    where = places(location, anchor, keys)
    times: dict[str, Any] = {"clock": time, "lease_seconds": 0.0, "wait_seconds": WAIT_SECONDS}
    with Ledger(str(location), **where, **times, is_checked=False) as ledger:
        fault = ledger.find_break()
        if fault is None:
            raise ParameterError("The store goes on where its anchor ends; there is nothing to restore.")
        if fault.is_other_anchor:
            raise fault.error()
        lines = _write_lines(ledger, fault, by, note)
        if not fault.is_anchor_missing:
            _set_aside(ledger.reader.anchor, ledger, lines[-1], fault)
    return lines


def _write_lines(ledger: Ledger, gap: Break, by: str, note: str) -> tuple[Entry, ...]:
    last, head = gap.anchored, ledger.head
    body = {
        "store": {"seq": head.seq, "head": head.digest},
        "anchored": None if last is None else {"seq": last.seq, "head": last.head, "ledger": last.ledger},
        "note": note,
    }
    forfeited = [] if gap.is_anchor_missing else [b.key for b in ledger.reader.balances() if b.is_limited]
    lines: tuple[Entry, ...] = ledger.submit(Restore(body=body, balances=frozenset(forfeited), by=by))
    return lines


def _set_aside(anchor: AnchorFile, ledger: Ledger, line: Entry, gap: Break) -> None:
    """Rename the old anchor once the new one is complete; after a crash in between, the restore is repeated."""
    assert gap.anchored is not None
    fresh = anchor.path.with_name(f"{anchor.path.name}.new")
    fresh.unlink(missing_ok=True)
    anchor.at(fresh).append(ledger.reader.name, ledger.head, line.at, is_release=True)
    aside = anchor.path.with_name(f"{anchor.path.name}.until-{gap.anchored.seq}-{gap.anchored.head[:8]}")
    os.replace(anchor.path, aside)
    os.replace(fresh, anchor.path)
