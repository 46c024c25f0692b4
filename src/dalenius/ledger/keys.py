"""Private keys in private files, outside the store: made once, never overwritten, never shown."""

import hashlib
import os
from pathlib import Path

from dalenius.core.randomness import SystemRandomness
from dalenius.errors import LedgerMismatch

SIZE = 32


class KeyFolder:
    """A folder that only its owner reads, with one file for each secret."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, name: str) -> Path:
        return self.folder / (hashlib.sha256(name.encode()).hexdigest()[:24] + ".key")

    def find(self, name: str) -> bytes | None:
        """The secret, if there is one."""
        try:
            content = self._path(name).read_bytes()
        except FileNotFoundError:
            return None
        if len(content) != SIZE:
            raise LedgerMismatch("A key file is damaged; restore it from the backup.")
        return content

    def get_or_make(self, name: str) -> bytes:
        """The secret; of several processes that make one at the same moment, the first wins."""
        known = self.find(name)
        if known is not None:
            return known
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(name)
        draft = path.with_suffix(f".{os.getpid()}.{SystemRandomness().bytes(4).hex()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if os.write(descriptor, SystemRandomness().bytes(SIZE)) != SIZE:
                raise LedgerMismatch("There is no room for the ledger's keys.")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            # A link fails where the name exists, and shows the file only when it is complete.
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return path.read_bytes()
