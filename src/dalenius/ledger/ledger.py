"""The ledger as the curator sees it: open, quote, reserve, commit.

Order of a release: reserve the worst case (charged, on disk), measure, commit the document, answer what is read
back. A crash may waste a charge. Nothing is ever refunded.
"""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dalenius.core.budget import Cost
from dalenius.core.randomness import SystemRandomness
from dalenius.core.release import Status
from dalenius.errors import Conflict, LedgerCorrupt, LedgerMismatch, NotPublic, StorageError, UnknownName
from dalenius.ledger import schema
from dalenius.ledger.administer import Note, OneSegment, SetStatus
from dalenius.ledger.anchor import AnchorFile, last_lines
from dalenius.ledger.books import Books
from dalenius.ledger.charge import Charge, Reservation, StoredRelease
from dalenius.ledger.complete import Abandon, Complete
from dalenius.ledger.continuity import Break, check_lines, find_break, refuse_new_beside
from dalenius.ledger.declarations import Declarations
from dalenius.ledger.draft import Command, Draft, Head, Needs
from dalenius.ledger.entry import Entry
from dalenius.ledger.keys import KeyFolder, secret_of
from dalenius.ledger.known_files import KnownFiles
from dalenius.ledger.reserve import Busy, Reserve, new_lease
from dalenius.ledger.seal import Witness
from dalenius.ledger.store import Lost, Store, load, read_back, read_head
from dalenius.ledger.writer import ReadOnly, Writer
from dalenius.rendering import two_lines

LEASE_SECONDS = 900.0
WAIT_SECONDS = 30.0
_MOMENT = 1.0
# After these lines nothing leaves the process yet: its release, which is read back, follows them in the chain.
_BEFORE_RELEASE = frozenset({"charge", "takeover", "abandon"})


def connect(location: str, *, may_write: bool = True) -> Store:
    """The store that a location names; without the right to write, nothing is made."""
    if location.startswith(("postgresql://", "postgres://")):
        from dalenius.ledger.postgres_store import PostgresStore

        return PostgresStore(location, may_write=may_write)
    from dalenius.ledger.sqlite_store import SqliteStore

    return SqliteStore(Path(location), may_write=may_write)


def places(location: str | Path, anchor: str | Path | None, keys: str | Path | None) -> dict[str, Any]:
    """Where anchor and keys lie: where they were said to, beside a file, or in the user's state folder.

    Whole paths without links, so that a process which changes its folder goes on with the same files.
    """
    beside = str(location)
    if "://" in beside:
        name = hashlib.sha256(beside.rsplit("@", 1)[-1].encode()).hexdigest()[:16]
        beside = str(Path.home() / ".local" / "state" / "dalenius" / name / "ledger")
    else:
        beside = str(Path(location).resolve())
    return {
        "anchor": Path(anchor or f"{beside}.anchor").resolve(),
        "keys": KeyFolder(Path(keys or f"{beside}.keys").resolve()),
    }


class Ledger:
    """An open ledger. Threads share one; a forked process opens its own.

    It holds two nouns, whose answers are its own: the `books`, which read (accounts, entries, releases, statements, the
    odometer, `verify`), and the `declarations`, which write what the custodian decides (grants, quotas, caps, notes).
    """

    def __init__(
        self,
        location: str,
        *,
        anchor: Path,
        keys: KeyFolder,
        clock: Callable[[], float],
        lease_seconds: float,
        wait_seconds: float,
        public_key: str | None = None,
        may_write: bool = True,
        is_checked: bool = True,
    ) -> None:
        self._pid = os.getpid()
        self.location = location
        self.clock = clock
        self._lease_seconds, self._wait_seconds = lease_seconds, wait_seconds
        self._keys = keys
        may_write = may_write and public_key is None
        self._store = self._reader = connect(location, may_write=may_write)
        try:
            signed = self._find_anchor(anchor, public_key, may_write)
            self._reader = connect(location, may_write=may_write)
            self.books = Books(self._reader, signed, wait_seconds)
            witness = Witness(signed, lambda: self.books.name)
            self._writer = Writer(self._store, clock, witness, self._anchor_segment) if may_write else ReadOnly()
            self.declarations = Declarations(self.submit)
            self._answer_for_both()
            self._last: Head | None = None
            self._open()
            if may_write and is_checked:
                self._refuse_break()
            if may_write:
                self._refuse_changes(witness)
            self._last = self.head
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        anchor: str | Path | None = None,
        clock: Callable[[], float] | None = None,
        keys: str | Path | None = None,
        lease_seconds: float = LEASE_SECONDS,
        wait_seconds: float = WAIT_SECONDS,
        public_key: str | None = None,
        may_write: bool = True,
    ) -> "Ledger":
        """Open the SQLite file or PostgreSQL database; a missing ledger is created.

        `anchor` is the second file for signed heads, best on another disk; `keys` the private folder for secrets. Both
        lie next to a SQLite file unless told otherwise, and in the user's state folder for a database. With
        `public_key` instead of the keys a ledger can be read and verified, and nothing is written; so too with the keys
        if it may not be written. `AnchorMismatch` if it may, and the store is not the one that its anchor knows.
        """
        return cls(
            str(location),
            **places(location, anchor, keys),
            clock=clock or time.time,
            lease_seconds=lease_seconds,
            wait_seconds=wait_seconds,
            public_key=public_key,
            may_write=may_write,
        )

    def _answer_for_both(self) -> None:
        books, declarations = self.books, self.declarations
        self.account, self.populations, self.entries = books.account, books.populations, books.entries
        self.registration, self.release, self.releases = books.registration, books.release, books.releases
        self.find, self.is_stored = books.find, books.is_stored
        self.statement, self.odometer, self.export = books.statement, books.odometer, books.export
        self.verify, self.notes, self.is_registered = books.verify, books.notes, books.is_registered
        self.register, self.grant, self.quota = declarations.register, declarations.grant, declarations.quota
        self.cap, self.share, self.schedule = declarations.cap, declarations.share, declarations.schedule
        self.approval, self.note = declarations.approval, declarations.note
        self.overlap, self.overlaps = declarations.overlap, books.overlaps

    def _refuse_break(self) -> None:
        """A store that its anchor does not know is not sold from."""
        patience = time.monotonic() + _MOMENT
        gap = self.find_break()
        while gap is not None and gap.is_anchor_missing and time.monotonic() < patience:
            # Whoever opened the ledger first may be about to write its first heads.
            time.sleep(0.02)
            gap = self.find_break()
        if gap is not None:
            raise gap.error()

    def _refuse_changes(self, witness: Witness) -> None:
        """Raise `LedgerCorrupt` if a line or a row of the state was changed outside the ledger."""

        def compare() -> None:
            with self._store.snapshot():
                witness.check_all(self._store.ask)
                check_lines(self._store)

        self.books.patiently(compare)

    def find_break(self) -> Break | None:
        """Where store and anchor part, if they do."""
        name, anchor = self.books.name, self.books.anchor
        texts = anchor.last_lines()
        return self.books.look(lambda reader: find_break(reader, name, anchor, texts))

    def _find_anchor(self, path: Path, public_key: str | None, may_write: bool) -> AnchorFile:
        """The keys this ledger was opened with first; new ones are made for a new ledger only."""
        if public_key is not None:
            return AnchorFile.checked_with(path, public_key)
        # Read before the store: a ledger that somebody else begins meanwhile is not taken for a lost one.
        is_used = bool(last_lines(path))
        try:
            is_new = read_head(self._store).seq == 0
        except Lost as error:
            raise StorageError("The ledger's database cannot be reached.") from error
        if is_new and is_used and may_write:
            raise refuse_new_beside(path)
        secret = self._keys.get_or_make("anchor") if is_new and may_write else self._keys.find("anchor")
        if secret is None:
            raise LedgerMismatch(
                "The key that signs this ledger is not in its folder of keys. Restore the folder, or give the "
                "ledger's public key to read and verify it."
            )
        return AnchorFile.signed_with(path, secret)

    @property
    def public_key(self) -> str:
        """The key that checks the signatures of heads; publish it where it cannot be replaced with the ledger."""
        return self.books.anchor.public_key

    @property
    def head(self) -> Head:
        """The last line of the chain."""
        return self.books.head

    @property
    def left(self) -> dict[str, Cost]:
        """What every population may still spend on its master account."""
        return {name: self.books.account(name).left for name in self.books.populations()}

    def __repr__(self) -> str:
        # An address may hold a password.
        place = "in a PostgreSQL database" if "://" in self.location else f"at {self.location!r}"
        return two_lines(f"Ledger {place}", f"public key {self.public_key[:16]}…")

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store; a forked process leaves it to the one that opened it."""
        if os.getpid() != self._pid:  # pragma: no cover - true in forked children only
            return
        self._store.close()
        self._reader.close()

    def _open(self) -> None:
        if self.head.seq == 0:
            nonce = SystemRandomness().bytes(16).hex()
            body = {"nonce": nonce, "public_key": self.public_key}
            self.submit(Note(kind="open", population="", body=body, by=""))
        # The name is read once, before anybody else reads over the same connection.
        if self.books.name and Entry.read(self.books.first_line()[4]).body.get("public_key") != self.public_key:
            raise LedgerMismatch(
                "The key is not the one named in this ledger's first line. Restore the ledger's own folder of keys; "
                "if that is the one in use, the first line was changed."
            )

    def _anchor_segment(self, draft: Draft, signature: str) -> None:
        """Check that others see the segment, then append its head to the anchor.

        Called under the write lock, after the segment is durable and before the caller gets a reply.
        """
        self._store.check()
        self._check_continued(draft)
        if any(line.kind not in _BEFORE_RELEASE for line in draft.lines):
            self.books.patiently(lambda: read_back(self._store, draft.lines))
        name = draft.lines[0].digest if draft.lines[0].seq == 1 else self.books.name
        is_release = any(line.kind == "release" for line in draft.lines)
        self.books.anchor.append(name, draft.tip, draft.lines[-1].at, signature, is_release=is_release)

    def _check_continued(self, draft: Draft) -> None:
        """Raise `LedgerCorrupt` where the last line that this process knew is no longer in the store."""
        last, self._last = self._last, draft.tip
        if last is None or last == draft.head:
            return
        rows = self.books.patiently(lambda: self._store.ask(schema.DIGESTS, (last.seq, last.seq)))
        if [tuple(row) for row in rows] != [(last.seq, last.digest)]:
            self._last = last
            raise LedgerCorrupt(
                "The last line that this process knew is no longer in the store: an older copy was put back while "
                "the ledger was open. Nothing is"
                " released. Put the newest store back; if its last lines are lost, `dalenius ledger restore` goes on "
                "from what"
                " there is and counts every budget as spent."
            )

    def submit(self, command: Command) -> Any:
        """Write one line. What was lost on the way is not repeated blindly: a grant would be granted twice."""
        try:
            return self._writer.submit(command)[0]
        except Lost as error:
            raise StorageError(
                "The connection to the ledger's database was lost while this was written. "
                "Look at the statement before you repeat it."
            ) from error

    def open_account(self, population: str, declare: Callable[[Declarations], None]) -> bool:
        """Write all that `declare` declares as one segment; False, and nothing, if the account is open already."""
        return Declarations(self.submit).open_account(population, declare)

    def together(self, declare: Callable[[Declarations], None], *, is_trial: bool = False) -> None:
        """Write all that `declare` declares as one segment, or nothing; a trial writes nothing and refuses the same."""
        parts: list[Command] = []
        declare(Declarations(parts.append))
        self.submit(OneSegment(parts=tuple(parts), is_trial=is_trial))

    def secret(self, population: str) -> bytes:
        """The population's 32 secret bytes, made once; the ledger holds only a value to recognise them by."""

        def record(check: str) -> str:
            return str(self.submit(Note(kind="secret", population=population, body={"check": check}, by="")))

        recorded, may_make = self.books.check_value(population), not isinstance(self._writer, ReadOnly)
        return secret_of(population, self._keys, recorded, record, may_make=may_make)

    def known_files(self, population: str) -> KnownFiles:
        """Which files of a population earlier processes have digested."""
        may_write = not isinstance(self._writer, ReadOnly)
        return KnownFiles(self._keys.folder, self.secret(population), may_write=may_write)

    def quota_on_every_page(
        self, population: str, analyst: str, rho: object, delta: object, by: str
    ) -> tuple[Entry, ...]:
        """Set the same quota on each page that has a budget; on a page without one the analyst is refused."""
        pages = self.books.account(population).pages
        return tuple(self.declarations.quota(population, analyst, rho, delta, by, page) for page in pages)

    def set_status(self, entry: str, status: str, by: str) -> StoredRelease:
        """Publish, embargo or withdraw; the charge stands."""
        return self.books.release(self.submit(SetStatus(entry=entry, status=str(status), by=by)))

    def quote(self, charge: Charge, first: Sequence[Command] = ()) -> Cost:
        """What a reservation would pay now, zero where a stored release answers; refuses as `reserve` would.

        `first` holds what a release would declare before it is charged, such as a default quota. Nothing is written.
        """
        commands = (*first, Reserve.of(charge))

        def look(reader: Store) -> Draft:
            with reader.snapshot():
                needs = Needs.of_all(command.needs for command in commands)
                state, head, _ = load(reader, needs, self.books.witness)
                return Draft(state, head, self.clock())

        draft = self.books.look(look)
        try:
            for command in commands:
                command.decide(draft)
        except Busy:
            return charge.cost
        if any(line.kind == "charge" for line in draft.lines):
            return charge.cost
        return replace(charge.cost, rho=Fraction(0), delta=Fraction(0), epsilon=Fraction(0))

    def reserve(self, charge: Charge, lease: str = "") -> Reservation:
        """Pay the worst case and take the lease, or find the release that was paid for before.

        Raises `BudgetExhausted`, `QuotaExhausted` or `ApprovalRequired` before anything is spent. Waits for a
        while if the same request is being completed elsewhere, then raises `Conflict`. Who names the lease (by
        `new_lease`) can let go of it even if this call is interrupted.
        """
        command = Reserve.of(charge, lease or new_lease(), self._lease_seconds)
        patience = time.monotonic() + self._wait_seconds
        pause = 0.005
        while True:
            try:
                answer, head = self.books.patiently(lambda: self._writer.submit(command))
                break
            except Busy:
                if time.monotonic() > patience:
                    raise Conflict(
                        "The same request is being completed elsewhere; ask again later for its release.",
                        key=charge.key,
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, 0.25)
        reservation: Reservation = answer
        stored = None if reservation.lease else self.books.release(reservation.entry)
        return reservation.under(head.digest, stored)

    def commit(
        self, reservation: Reservation, document: bytes, status: str = Status.PUBLISHED, *, is_tainted: bool = False
    ) -> StoredRelease:
        """Store the document if no release is stored under the key, and answer what is read back."""
        if reservation.stored is not None:
            return reservation.stored
        if status not in list(Status):
            raise UnknownName.among("status", str(status), list(Status))
        command = Complete(reservation, document, str(status), is_tainted)
        entry, _ = self.books.patiently(lambda: self._writer.submit(command))
        stored = self.books.release(entry)
        if stored.status != Status.PUBLISHED and stored.analyst != reservation.analyst:
            # Completed for somebody else, who asked first and paid: stored, and not shown here.
            raise NotPublic(f"The release of this request is {stored.status}.", status=stored.status)
        return stored

    def abandon(self, reservation: Reservation) -> bool:
        """Let go of the lease when nothing was stored and nothing left the process; nothing is given back."""
        let_go, _ = self.books.patiently(lambda: self._writer.submit(Abandon(reservation)))
        return bool(let_go)
