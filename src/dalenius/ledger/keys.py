"""Private keys in private files, outside the store: created once, never overwritten, never shown."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from dalenius.core.randomness import SystemRandomness
from dalenius.errors import LedgerMismatch
from dalenius.ledger.entry import digest_of

SIZE = 32
_CHECK = b"dalenius/secret-check/1\0"


class KeyFolder:
    """A folder that only its owner reads, with one file for each secret."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        return self.folder / (hashlib.sha256(name.encode()).hexdigest()[:24] + ".key")

    def find(self, name: str) -> bytes | None:
        try:
            content = self.path(name).read_bytes()
        except FileNotFoundError:
            return None
        if len(content) != SIZE:
            raise LedgerMismatch("A key file is damaged; restore it from the backup.")
        return content

    def get_or_make(self, name: str) -> bytes:
        """Return the secret, created if missing; of several processes that create one, the first wins."""
        key = self.find(name)
        if key is not None:
            return key
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.path(name)
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


def secret_of(
    population: str, keys: KeyFolder, recorded: str | None, record: Callable[[str], str], *, may_make: bool
) -> bytes:
    """Return a population's secret bytes, created once; the ledger records only a value to recognise them by."""
    name = f"population/{population}"
    secret = keys.find(name)
    if secret is None and recorded is not None:
        raise LedgerMismatch(
            f"The secret of population {population!r} is missing; restore its key file from the backup.",
            population=population,
        )
    if secret is None and not may_make:
        raise LedgerMismatch(f"The secret of population {population!r} is not in this folder of keys.")
    secret = secret or keys.get_or_make(name)
    check = digest_of(_CHECK + secret)
    if (record(check) if recorded is None else recorded) != check:
        raise LedgerMismatch(f"The key file of {population!r} does not belong to this ledger.")
    return secret
