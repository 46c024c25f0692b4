"""The ledger as the curator sees it: open, quote, reserve, commit.

Order of a release: reserve the worst case (charged, on disk), measure, commit the document, return what is read back. A
crash may waste a charge. Nothing is ever refunded.
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
from dalenius.ledger.charge import Charge, Reservation, StoredRelease
from dalenius.ledger.complete import Abandon, Complete
from dalenius.ledger.continuity import RESTORE_HINT, Break, check_lines, find_break, refuse_new_beside
from dalenius.ledger.declarations import Declarations
from dalenius.ledger.draft import Command, Draft, Head, Needs
from dalenius.ledger.entry import Entry
from dalenius.ledger.keys import KeyFolder, secret_of
from dalenius.ledger.known_files import KnownFiles
from dalenius.ledger.reader import LedgerReader
from dalenius.ledger.reserve import Busy, Reserve, new_lease
from dalenius.ledger.seal import Witness
from dalenius.ledger.store import ConnectionLost, Store, load, read_back, read_head
from dalenius.ledger.writer import ReadOnly, Writer
from dalenius.rendering import two_lines

LEASE_SECONDS = 900.0
WAIT_SECONDS = 30.0
_MOMENT = 1.0
# After these lines nothing leaves the process yet: its release, which is read back, follows them in the chain.
_BEFORE_RELEASE = frozenset({"charge", "takeover", "abandon"})


def connect(location: str, *, may_write: bool = True) -> Store:
    """Open the store at a location; without the right to write, nothing is created."""
    if location.startswith(("postgresql://", "postgres://")):
        from dalenius.ledger.postgres_store import PostgresStore

        return PostgresStore(location, may_write=may_write)
    from dalenius.ledger.sqlite_store import SqliteStore

    return SqliteStore(Path(location), may_write=may_write)


def places(location: str | Path, anchor: str | Path | None, keys: str | Path | None) -> dict[str, Any]:
    """Return where anchor and keys lie: as given, beside a file, or in the user's state folder for a database.

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

    `reader` reads (accounts, entries, releases, statements, the odometer, `verify`); `declarations` writes what the
    custodian decides (grants, quotas, caps, notes).
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
        self._location, self._clock, self._keys = location, clock, keys
        self._lease_seconds, self._wait_seconds = lease_seconds, wait_seconds
        may_write = may_write and public_key is None
        self._store = self._read_store = connect(location, may_write=may_write)
        try:
            signed = self._find_anchor(anchor, public_key, may_write)
            self._read_store = connect(location, may_write=may_write)
            self.reader: LedgerReader = LedgerReader(self._read_store, signed, wait_seconds)
            witness = Witness(signed, lambda: self.reader.name)
            self._writer = Writer(self._store, clock, witness, self._anchor_segment) if may_write else ReadOnly()
            self.declarations: Declarations = Declarations(self.submit)
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

        `anchor` is the second file for signed heads, best on another disk; `keys` the private folder for secrets. By
        default both lie next to a SQLite file, and in the user's state folder for a database. With `public_key` instead
        of the keys, or without `may_write`, a ledger can be read and verified, and nothing is written. Raises
        `AnchorMismatch` if it may be written and the store is not the one recorded by the anchor.
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

    def _refuse_break(self) -> None:
        deadline = time.monotonic() + _MOMENT
        gap = self.find_break()
        while gap is not None and gap.is_anchor_missing and time.monotonic() < deadline:
            # Whoever opened the ledger first may be about to write its first heads.
            time.sleep(0.02)
            gap = self.find_break()
        if gap is not None:
            raise gap.error()

    def _refuse_changes(self, witness: Witness) -> None:
        """Raise `LedgerCorrupt` if a line or a row of the state was changed outside the ledger."""

        def compare() -> None:
            with self._store.snapshot():
                witness.check_all(self._store.query)
                check_lines(self._store)

        self.reader.retry(compare)

    def find_break(self) -> Break | None:
        """Return the first difference between store and anchor, or None."""
        name, anchor = self.reader.name, self.reader.anchor
        texts = anchor.last_lines()
        return self.reader.read(lambda store: find_break(store, name, anchor, texts))

    def _find_anchor(self, path: Path, public_key: str | None, may_write: bool) -> AnchorFile:
        """Return the anchor with the key this ledger was opened with first; only a new ledger gets a new key."""
        if public_key is not None:
            return AnchorFile.checked_with(path, public_key)
        # Read before the store: a ledger that somebody else begins meanwhile is not taken for a lost one.
        is_used = bool(last_lines(path))
        try:
            is_new = read_head(self._store).seq == 0
        except ConnectionLost as error:
            raise StorageError("The ledger's database cannot be reached.") from error
        if is_new and is_used and may_write:
            raise refuse_new_beside(path)
        secret = self._keys.get_or_make("anchor") if is_new and may_write else self._keys.find("anchor")
        if secret is None:
            raise LedgerMismatch(
                "The key that signs this ledger is not in its folder of keys. Restore the folder, or give the ledger's "
                "public key to read and verify it."
            )
        return AnchorFile.signed_with(path, secret)

    @property
    def public_key(self) -> str:
        """The key that checks the signatures of heads; publish it where it cannot be replaced with the ledger."""
        return self.reader.anchor.public_key

    @property
    def head(self) -> Head:
        return self.reader.head

    @property
    def left(self) -> dict[str, Cost]:
        """What every population may still spend of its master account."""
        return {name: self.reader.account(name).left for name in self.reader.populations()}

    def __repr__(self) -> str:
        # An address may hold a password.
        place = "in a PostgreSQL database" if "://" in self._location else f"at {self._location!r}"
        return two_lines(f"Ledger {place}", f"public key {self.public_key[:16]}…")

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store. Does nothing in a forked child."""
        if os.getpid() != self._pid:  # pragma: no cover - true in forked children only
            return
        self._store.close()
        self._read_store.close()

    def _open(self) -> None:
        if self.head.seq == 0:
            nonce = SystemRandomness().bytes(16).hex()
            body = {"nonce": nonce, "public_key": self.public_key}
            self.submit(Note(kind="open", population="", body=body, by=""))
        # The name is read once, before anybody else reads over the same connection.
        if self.reader.name and Entry.read(self.reader.first_line()[4]).body.get("public_key") != self.public_key:
            raise LedgerMismatch(
                "The key is not the one named in this ledger's first line. Restore the ledger's own folder of keys; if "
                "that is the one in use, the first line was changed."
            )

    def _anchor_segment(self, draft: Draft, signature: str) -> None:
        """Check that others see the segment, then append its head to the anchor.

        Called under the write lock, after the segment is durable and before the caller gets a reply.
        """
        self._store.check()
        last, self._last = self._last, draft.tip
        if last is not None and last != draft.head:
            rows = self.reader.retry(lambda: self._store.query(schema.DIGESTS, (last.seq, last.seq)))
            if [tuple(row) for row in rows] != [(last.seq, last.digest)]:
                self._last = last
                raise LedgerCorrupt(
                    "The last line that this process knew is no longer in the store: an older copy was put back while "
                    f"the ledger was open. Nothing is released. {RESTORE_HINT}"
                )
        if any(line.kind not in _BEFORE_RELEASE for line in draft.lines):
            self.reader.retry(lambda: read_back(self._store, draft.lines))
        name = draft.lines[0].digest if draft.lines[0].seq == 1 else self.reader.name
        is_release = any(line.kind == "release" for line in draft.lines)
        self.reader.anchor.append(name, draft.tip, draft.lines[-1].at, signature, is_release=is_release)

    def submit(self, command: Command) -> Any:
        """Write what one command decides. After a lost connection it is not repeated, as a grant would count twice."""
        try:
            return self._writer.submit(command)[0]
        except ConnectionLost as error:
            raise StorageError(
                "The connection to the ledger's database was lost while this was written. Look at the statement before "
                "you repeat it."
            ) from error

    def together(self, declare: Callable[[Declarations], None], *, is_trial: bool = False) -> None:
        """Write all that `declare` declares as one segment, or nothing; a trial writes nothing and refuses the same."""
        parts: list[Command] = []
        declare(Declarations(parts.append))
        self.submit(OneSegment(parts=tuple(parts), is_trial=is_trial))

    def secret(self, population: str) -> bytes:
        """Return the population's 32 secret bytes, made once; the ledger holds only a value to recognise them by."""

        def record(check: str) -> str:
            return str(self.submit(Note(kind="secret", population=population, body={"check": check}, by="")))

        recorded, may_make = self.reader.check_value(population), not isinstance(self._writer, ReadOnly)
        return secret_of(population, self._keys, recorded, record, may_make=may_make)

    def known_files(self, population: str) -> KnownFiles:
        """Return the files of a population that earlier processes have digested."""
        may_write = not isinstance(self._writer, ReadOnly)
        return KnownFiles(self._keys.folder, self.secret(population), may_write=may_write)

    def quota_in_every_account(
        self, population: str, analyst: str, rho: object, delta: object, by: str
    ) -> tuple[Entry, ...]:
        """Set the same quota in each account that has a budget; where an account has none the analyst is refused."""
        accounts = self.reader.account(population).granted
        return tuple(self.declarations.quota(population, analyst, rho, delta, by, account) for account in accounts)

    def set_status(self, entry: str, status: str, by: str) -> StoredRelease:
        """Publish, embargo or withdraw; the charge stands."""
        return self.reader.release(self.submit(SetStatus(entry=entry, status=str(status), by=by)))

    def quote(self, charge: Charge, first: Sequence[Command] = ()) -> Cost:
        """Return what a reservation would be charged now, zero where a stored release is served. Writes nothing.

        Refuses as `reserve` would. `first` holds what a release would declare before, such as a default quota.
        """
        commands = (*first, Reserve.of(charge))

        def read(store: Store) -> Draft:
            with store.snapshot():
                needs = Needs.of_all(command.needs for command in commands)
                state, head, _ = load(store, needs, self.reader.witness)
                return Draft(state, head, self._clock())

        draft = self.reader.read(read)
        try:
            for command in commands:
                command.decide(draft)
        except Busy:
            return charge.cost
        if any(line.kind == "charge" for line in draft.lines):
            return charge.cost
        return replace(charge.cost, rho=Fraction(0), delta=Fraction(0), epsilon=Fraction(0))

    def reserve(self, charge: Charge, lease: str = "") -> Reservation:
        """Charge the worst case and take the lease, or find the release that was charged before.

        Raises `BudgetExhausted`, `QuotaExhausted` or `ApprovalRequired` before anything is spent. Waits up to
        `wait_seconds` while the same request is completed elsewhere, then raises `Conflict`. A caller that names the
        lease (by `new_lease`) can give it up even if this call is interrupted.
        """
        command = Reserve.of(charge, lease or new_lease(), self._lease_seconds)
        deadline = time.monotonic() + self._wait_seconds
        pause = 0.005
        while True:
            try:
                result, head = self.reader.retry(lambda: self._writer.submit(command))
                break
            except Busy:
                if time.monotonic() > deadline:
                    raise Conflict(
                        "The same request is being completed elsewhere. Repeat it later to get its release.",
                        key=charge.key,
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, 0.25)
        reservation: Reservation = result
        stored = None if reservation.lease else self.reader.release(reservation.entry)
        return replace(reservation, head=head.digest, stored=stored)

    def commit(
        self, reservation: Reservation, document: bytes, status: str = Status.PUBLISHED, *, is_tainted: bool = False
    ) -> StoredRelease:
        """Store the document if no release is stored under the key, and return what is read back."""
        if reservation.stored is not None:
            return reservation.stored
        if status not in list(Status):
            raise UnknownName.among("status", str(status), list(Status))
        command = Complete(reservation, document, str(status), is_tainted)
        entry, _ = self.reader.retry(lambda: self._writer.submit(command))
        stored = self.reader.release(entry)
        if stored.status != Status.PUBLISHED and stored.analyst != reservation.analyst:
            # Completed for the analyst who was charged: stored, and not shown here.
            raise NotPublic(f"The release of this request is {stored.status}.", status=stored.status)
        return stored

    def abandon(self, reservation: Reservation) -> bool:
        """Give up the lease when nothing was stored and nothing left the process; the charge stands."""
        was_held, _ = self.reader.retry(lambda: self._writer.submit(Abandon(reservation)))
        return bool(was_held)
