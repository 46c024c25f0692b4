"""Whether a store goes on where its anchor ends, checked whenever a ledger is opened to be written.

Guarantee
    A store that lacks a line which the anchor's end knows is not written: an older copy put back, an empty store in
    the place of a lost one, a chain written anew, another ledger's anchor. Both stores are held to it alike.
Requires
    The anchor is read before the store. It is written after the store, so the store is then at least as far. A crash
    between the two leaves the store ahead, which is no break: the next segment's head covers what was not anchored.
Cost
    The last lines of the anchor, one signature and two lines of the store. `check_lines` hashes every line without
    parsing it: about 10 microseconds per line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dalenius.errors import AnchorMismatch
from dalenius.ledger.anchor import AnchorFile, AnchorLine
from dalenius.ledger.entry import GENESIS, canonical, digest_of, public_name, without_seal
from dalenius.ledger.rows import Row
from dalenius.ledger.seal import changed_outside
from dalenius.ledger.store import Store, read_head, stored_lines

_COUNT = "SELECT COUNT(*) FROM entries"
_DIGEST = "SELECT digest FROM entries WHERE seq = ?"
RESTORE_HINT = (
    "Put the newest store back; if its last lines are lost, `dalenius ledger restore` goes on from what there is and "
    "counts every budget as spent."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A difference between store and anchor: what happened, the anchored line, and what is missing or wrong."""

    message: str
    anchored: AnchorLine | None = None
    is_anchor_missing: bool = False
    is_other_anchor: bool = False

    def error(self) -> AnchorMismatch:
        seq = self.anchored.seq if self.anchored else None
        return AnchorMismatch(self.message, anchored=seq)


def refuse_new_beside(path: Path) -> AnchorMismatch:
    """Return the refusal of an empty store beside a used anchor, which would be a new budget."""
    return AnchorMismatch(
        f"The store is empty, and {path.name!r} beside it was used by a ledger: that store was moved, removed or not "
        "reached. Put it back; a new ledger takes another place for its store, anchor and keys."
    )


def find_break(store: Store, name: str, anchor: AnchorFile, texts: Sequence[str]) -> Break | None:
    """Return the first difference between the store and `texts`, the anchor's last lines read before it, or None."""
    head = read_head(store)
    if not texts:
        # The first line of a ledger may be written and not yet anchored.
        return None if head.seq <= 1 else _anchor_missing(anchor, head.seq)
    last = anchor.furthest(texts)
    if last is None:
        return Break(
            message=f"Nothing at the end of {anchor.path.name!r} was signed with this ledger's key: it is not this "
            "ledger's anchor. Name the ledger's own.",
            is_other_anchor=True,
        )
    if last.ledger != name:
        return Break(
            message=f"{anchor.path.name!r} belongs to another ledger of the same key, which ended at line {last.seq}: "
            f"this store was begun anew. {RESTORE_HINT}",
            anchored=last,
        )
    if last.seq > head.seq:
        return Break(
            message=f"The anchor knows line {last.seq}, the store ends at line {head.seq}: an older copy was put back. "
            + RESTORE_HINT,
            anchored=last,
        )
    for seq, digest in ((last.seq, last.head), (head.seq, head.digest)):
        if [tuple(row) for row in store.query(_DIGEST, (seq,))] != [(digest,)]:
            return Break(
                message=f"Line {seq} of the store is not the one that was written there: the chain was replaced. "
                f"{RESTORE_HINT}",
                anchored=last,
            )
    return None


def check_lines(store: Store) -> None:
    """Raise `LedgerCorrupt` unless every line follows the one before it, up to the head, under its own columns."""
    head, previous, count = read_head(store), GENESIS, 0
    for row in stored_lines(store):
        count += 1
        if not _follows(row, count, previous):
            raise changed_outside("entries")
        previous = row[6]
    if (head.seq, head.digest) != (count, previous) or store.query(_COUNT)[0][0] != count:
        raise changed_outside("entries")


def _follows(row: Row, place: int, previous: str) -> bool:
    """Whether a stored line belongs at this place of the chain; the end of its text repeats its columns."""
    seq, name, kind, population, line, before, digest = row
    try:
        end = f'"kind":"{kind}","population":{canonical(population)},"previous":"{before}","seq":{place}'
        is_sealed = not line.endswith(end + "}")
        return bool(
            (seq, before, digest) == (place, previous, digest_of(line.encode()))
            and name == public_name(line, digest, is_sealed=is_sealed)
            and (not is_sealed or without_seal(line).endswith(end + "}"))
        )
    except (AttributeError, TypeError, ValueError):
        return False


def _anchor_missing(anchor: AnchorFile, lines: int) -> Break:
    return Break(
        message=f"The store holds {lines} lines, and its anchor is not at {str(anchor.path)!r}. Name the place where "
        "the anchor is kept (--anchor, or anchor = …); if it is lost, `dalenius ledger restore` begins another.",
        is_anchor_missing=True,
    )
