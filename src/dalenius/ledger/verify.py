"""Verification: recompute the chain, the balances and the digests of stored releases; state what cannot be known."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dalenius.core.budget import Cost
from dalenius.errors import LedgerCorrupt
from dalenius.ledger import schema
from dalenius.ledger.account import balances_elsewhere
from dalenius.ledger.anchor import AnchorLine
from dalenius.ledger.charge import Units
from dalenius.ledger.entry import GENESIS, Entry, canonical, digest_of
from dalenius.ledger.seal import Witness
from dalenius.ledger.state import State, charged_balances, names_overlaps, past_of
from dalenius.ledger.store import ConnectionLost, Store, load_all, read_head, stored_lines

_MOST_PROBLEMS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What was found; `unknown` lists what this verification could not have noticed."""

    is_ok: bool
    lines: int
    head: str
    charges: int
    releases: int
    unfinished: int
    anchored: int | None
    problems: tuple[str, ...]
    unknown: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"problems": list(self.problems), "unknown": list(self.unknown)}


class _Findings(list[str]):
    def add(self, message: str) -> None:
        if len(self) < _MOST_PROBLEMS:
            self.append(message)


def verify_store(
    store: Store, anchored: list[AnchorLine] | None, public_key: str, heads: Iterable[str], witness: Witness
) -> VerifyReport:
    """Check everything against everything. The anchor must have been read before."""
    problems = _Findings()
    wanted = {line.seq for line in anchored or ()}
    with store.snapshot():
        state, digests = State(), {}
        missing = set(heads)
        previous, count = GENESIS, 0
        for row in stored_lines(store):
            count += 1
            entry = _check_line(row, count, previous, problems)
            previous = str(row[6])
            missing.discard(previous)
            if count in wanted:
                digests[count] = previous
            if entry is not None:
                _replay(state, entry, problems)
                if count == 1 and entry.body.get("public_key") != public_key:
                    problems.add("The first line names another key than the one that signs this ledger.")
        try:
            # What stands at no place of the chain is not read above, and would be shown in statements.
            stray = store.query("SELECT COUNT(*) FROM entries")[0][0] - count
            if stray:
                problems.add(f"{stray} lines stand outside the chain.")
            head = read_head(store)
            if (head.seq, head.digest) != (count, previous):
                problems.add(f"The head names line {head.seq}; the chain ends with line {count}.")
            _compare(state, load_all(store), problems)
            _check_documents(store, state, problems)
            witness.check_all(store.query)
        except LedgerCorrupt as error:
            problems.add(error.message)
        except ConnectionLost:
            raise
        except Exception:
            # Whatever somebody put there, the answer is a report.
            problems.add("A table of the ledger holds something that it cannot hold.")
    last = _check_anchor(anchored, digests, count, problems)
    for published in sorted(missing):
        problems.add(f"The head {published[:16]}… that was kept elsewhere is not in the chain.")
    done = len(state.releases)
    return VerifyReport(
        is_ok=not problems,
        lines=count,
        head=previous,
        charges=len(state.charges),
        releases=done,
        unfinished=len(state.charges) - done,
        anchored=last,
        problems=tuple(problems),
        unknown=tuple(_unknown(last, count, anchored)),
    )


def _check_line(row: Any, place: int, previous: str, problems: _Findings) -> Entry | None:
    try:
        entry = Entry.read(row[4])
        is_canonical = canonical(entry.to_line()) == entry.line
    except Exception:
        problems.add(f"Line {place} cannot be read.")
        return None
    stated = (row[0], row[1], row[2], row[3], row[5], row[6])
    if stated != (place, entry.name, entry.kind, entry.population, entry.previous, entry.digest):
        problems.add(f"Line {place} does not agree with its columns and digest.")
    if entry.previous != previous or entry.seq != place:
        problems.add(f"Line {place} does not follow the line before it.")
    if not is_canonical:
        problems.add(f"Line {place} is not in canonical form.")
    return entry


def _replay(state: State, entry: Entry, problems: _Findings) -> None:
    try:
        if entry.kind == "charge":
            body = entry.body
            if body["key"] in state.charges:
                problems.add(f"Line {entry.seq} charges a request that was charged before.")
            if asdict(Units.of(Cost.from_dict(body["cost"]))) != body["units"]:
                problems.add(f"Line {entry.seq}: the units are not the exact cost rounded up.")
            if ["total", ""] not in body["balances"]:
                problems.add(f"Line {entry.seq} charges no account.")
            if not names_overlaps(state, entry.population, body.get("overlaps", ())):
                problems.add(f"Line {entry.seq} does not charge exactly the populations that share persons.")
        if entry.kind == "release" and entry.body["entry"] in state.releases:
            problems.add(f"Line {entry.seq} completes a charge that was completed before.")
        if entry.kind == "overlap" and entry.body["past"] != past_of(state, entry.population, entry.body["with"]):
            problems.add(
                f"Line {entry.seq} does not charge what earlier releases about the other population had spent."
            )
        state.fold(entry)
        past = entry.body["past"] if entry.kind == "overlap" else ()
        charged = [key for payer, account, *_ in past for key in balances_elsewhere((payer,), account)]
        if entry.kind == "charge":
            charged += charged_balances(entry.population, entry.body)
        for key in charged:
            balance = state.balances[key]
            if balance.spent_rho > balance.limit_rho or balance.spent_delta > balance.limit_delta:
                problems.add(f"Line {entry.seq} spends more than the limit of {key.kind} {key.name}".rstrip() + ".")
    except Exception:
        problems.add(f"Line {entry.seq} lacks what its kind needs.")


def _compare(replayed: State, tables: State, problems: _Findings) -> None:
    """Compare the tables with what the lines add up to; leases are in no line, and bound by the sealed state."""
    tables.charges = {k: c._replace(lease="", lease_until=0.0) for k, c in tables.charges.items()}
    for name in schema.STATE:
        left, right = getattr(replayed, name), getattr(tables, name)
        for key in sorted(left.keys() | right.keys(), key=str):
            if left.get(key) != right.get(key):
                shown = " ".join(part for part in key if part) if isinstance(key, tuple) else str(key)[:16]
                problems.add(f"The table of {name} disagrees with the lines at {shown}.")


def _check_documents(store: Store, state: State, problems: _Findings) -> None:
    after = ""
    stored = set()
    while rows := store.query(f"{schema.DOCUMENTS} WHERE r.entry > ? ORDER BY r.entry LIMIT 100", (after,)):
        for row in rows:
            stored.add(row[0])
            release = state.releases.get(row[0])
            if release is None or not isinstance(row[2], bytes) or digest_of(row[2]) != release.digest:
                problems.add(f"The stored release {row[0]} is not the one that the ledger recorded.")
        after = rows[-1][0]
    for entry in sorted(set(state.releases) - stored):
        problems.add(f"The release {entry} is recorded and not stored.")


def _check_anchor(
    anchored: list[AnchorLine] | None, digests: dict[int, str], count: int, problems: _Findings
) -> int | None:
    if anchored is None:
        return None
    last = 0
    for line in anchored:
        if line.is_cut:
            continue
        if not line.is_signed:
            problems.add("A line of the anchor is damaged, forged, or belongs to another ledger.")
        elif line.seq > count:
            problems.add(f"The anchor knows line {line.seq}; the ledger ends at line {count}: lines were removed.")
        elif digests.get(line.seq) != line.head:
            problems.add(f"Line {line.seq} is not the one that the anchor knows: the chain was rewritten.")
        else:
            last = max(last, line.seq)
    if count and not last:
        problems.add("The anchor knows no line of this ledger.")
    return last


def _unknown(last: int | None, count: int, anchored: list[AnchorLine] | None) -> Iterator[str]:
    if anchored is None:
        yield (
            "Without the anchor: whether lines at the end were removed (an older copy put back), or the whole chain "
            "was written anew with consistent digests."
        )
    else:
        yield (
            "Whether the anchor itself lost its last lines together with the store. Compare the head with one that was "
            "kept elsewhere, or with the heads printed in published releases."
        )
        cut = sum(line.is_cut for line in anchored)
        if cut:
            yield f"What {cut} lines of the anchor held that were cut short, as by a power failure."
        first = min((line.seq for line in anchored if line.is_signed), default=1)
        if first > 1:
            yield f"Whether an older anchor was removed: this one begins at line {first}."
        if last is not None and last < count:
            yield f"Whether lines {last + 1} to {count}, written after the last anchored head, are complete."
    yield "Whether a release was computed as its line states, and what happened outside this ledger."
