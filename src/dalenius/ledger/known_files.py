"""Files that were digested before: a later process that finds the same stamp need not read them again.

For each registration one small file lies in the folder of keys. It holds a keyed hash of the fingerprint and of the
stamp under which the file had it, and nothing else: without the population's secret nobody can make one or learn
anything from it. Where it is missing, damaged or about another stamp, the file is digested.
"""

import hmac
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from dalenius.core.randomness import SystemRandomness

# A change within the resolution of a file system's clock leaves the same time; two seconds is the coarsest in use.
SETTLED_SECONDS = 3.0


class KnownFiles:
    def __init__(self, folder: Path, secret: bytes, *, may_write: bool) -> None:
        self._folder, self._may_write = folder, may_write
        self._key = hmac.digest(secret, b"dalenius known files 1", sha256)

    def holds(self, fingerprint: str, stamp: tuple[object, ...]) -> bool:
        try:
            stored = self._path(fingerprint).read_text("ascii")
        except (OSError, ValueError):
            return False
        return hmac.compare_digest(stored, self._line(fingerprint, stamp))

    def keep(self, fingerprint: str, stamp: tuple[object, ...]) -> None:
        """Remember the fingerprint; where nothing can be written, the next process reads the data again."""
        if not self._may_write or not self._folder.is_dir():
            return
        path = self._path(fingerprint)
        draft = path.with_suffix(f".{os.getpid()}.{SystemRandomness().bytes(4).hex()}")
        with suppress(OSError):
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as stream:
                stream.write(self._line(fingerprint, stamp))
            draft.replace(path)

    def _path(self, fingerprint: str) -> Path:
        name = hmac.digest(self._key, b"name\0" + fingerprint.encode(), sha256).hex()[:24]
        return self._folder / f"{name}.seen"

    def _line(self, fingerprint: str, stamp: tuple[object, ...]) -> str:
        content = f"stamp\0{fingerprint}\0{stamp!r}"
        return hmac.digest(self._key, content.encode("utf-8", "surrogateescape"), sha256).hex()
