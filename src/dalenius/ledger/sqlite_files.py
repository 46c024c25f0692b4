"""The files of a SQLite database: created before any connection, and compared with what a connection has open.

Guarantee
    Nothing here opens a file that a connection of this process may have open. Closing *any* descriptor of a file drops
    all POSIX locks that the process holds on it; SQLite then takes another process for the last user and deletes the
    log.
    A file that was replaced or removed all the same is noticed by its device and inode.
References
    "How To Corrupt An SQLite Database File" (sqlite.org), sections 2.2, 2.4 and 2.6.
"""

import os
import stat
import threading
from pathlib import Path

from dalenius.errors import LedgerCorrupt, LedgerMismatch

Identity = tuple[int, int]
_ENDINGS = ("", "-wal", "-shm")
_creating = threading.Lock()


def create_private(path: Path) -> None:
    """Create an empty file that only its owner reads, if there is none; an existing file is not opened."""
    # Another thread connects only after the descriptor of a new file is closed.
    with _creating:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return
        os.close(descriptor)


# A process is forked while nobody creates a file, so that the lock is free in the child.
os.register_at_fork(before=_creating.acquire, after_in_parent=_creating.release, after_in_child=_creating.release)


def identity_of(path: Path | str) -> Identity | None:
    """Return device and inode of a file, or None where there is none; the file is not opened."""
    status = _status_of(path)
    return None if status is None else (status.st_dev, status.st_ino)


def _status_of(path: Path | str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


class OpenFiles:
    """The store, its log and its index as they were when a connection had opened them."""

    def __init__(self, path: Path) -> None:
        self._path, self._store = path, str(path)
        self._opened = {name: identity for ending in _ENDINGS if (identity := identity_of(name := f"{path}{ending}"))}

    @property
    def identity(self) -> Identity | None:  # pragma: no cover - asked for in forked children only
        return self._opened.get(self._store)

    def check(self) -> None:
        """Raise `LedgerCorrupt` where a file is not the one that was opened, `LedgerMismatch` for a hard link."""
        for name, identity in self._opened.items():
            status = _status_of(name)
            if status is None or (status.st_dev, status.st_ino) != identity:
                raise LedgerCorrupt(
                    f"The file {Path(name).name!r} was replaced or removed while the ledger was open: what is written "
                    "to its log would be lost, so nothing is released. Let only Dalenius and SQLite open the store, "
                    "and open the ledger again; `dalenius ledger verify` compares it with its anchor."
                )
            if name == self._store:
                refuse_second_name(self._path, status)


def refuse_second_name(path: Path, status: os.stat_result) -> None:
    """SQLite names the log after the store: under two names one store would have two logs."""
    if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
        raise LedgerMismatch(
            f"{path.name!r} has a second name (a hard link), and SQLite keeps a log for each name: lines would be "
            "lost. Remove the other name, or copy the file; a symbolic link is accepted."
        )
