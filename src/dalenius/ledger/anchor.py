"""The head of the chain, signed and kept in a second file, so that a shortened or replaced store is noticed.

Every segment appends a line with the head it ends in and a keyed digest (HMAC-SHA256) of that line; the key is kept
outside the store. The file is synchronised to disk whenever the segment holds a release. Lines of several writers
may stand in another order than the chain: each line speaks for itself.
"""

import hashlib
import hmac
import json
import os
from dataclasses import dataclass
from pathlib import Path

from dalenius.ledger.draft import Head
from dalenius.ledger.entry import canonical


@dataclass(frozen=True, slots=True)
class AnchorLine:
    """One anchored head, and whether its signature holds."""

    seq: int
    head: str
    is_signed: bool


class Anchor:
    """The second file."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = key

    def at(self, path: Path | None) -> "Anchor":
        """The same key for another copy of the file."""
        return self if path is None else Anchor(path, self._key)

    def _sign(self, body: dict[str, object]) -> str:
        return hmac.new(self._key, canonical(body).encode(), hashlib.sha256).hexdigest()

    def append(self, ledger: str, head: Head, at: str, *, is_release: bool) -> None:
        """Add a head; one write, so that lines of several processes do not mix."""
        body: dict[str, object] = {"ledger": ledger, "seq": head.seq, "head": head.digest, "at": at}
        # The line break comes first: a line that a power failure cut short does not spoil the next one.
        line = "\n" + canonical(body | {"signature": self._sign(body)})
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
            if is_release:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lines(self, ledger: str) -> list[AnchorLine]:
        """Every line of the file; one that cannot be read, or speaks of another ledger, is not signed."""
        if not self.path.exists():
            return []
        found = []
        for text in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            if not text:
                continue
            try:
                document = json.loads(text)
                signature = str(document.pop("signature"))
                good = hmac.compare_digest(signature, self._sign(document)) and document["ledger"] == ledger
                found.append(AnchorLine(int(document["seq"]), str(document["head"]), good))
            except (ValueError, KeyError, TypeError, AttributeError):
                found.append(AnchorLine(0, "", False))
        return found
