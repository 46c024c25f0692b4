"""The head of the chain, signed and kept in a second file, so that a shortened or replaced store is noticed.

Every segment appends a line with the head it ends in and an Ed25519 signature of that line; the store keeps the same
signature beside its head, so that nobody without the key can add lines to a store that is ahead of its anchor. The
secret key is kept outside the store; the public one stands in the ledger's first line, so that an auditor can check
what only the custodian can sign. The file is synchronised to disk whenever the segment holds a release. Lines of
several writers may stand in another order than the chain.
"""

import errno
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hmac import compare_digest
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dalenius.errors import ParameterError
from dalenius.ledger.draft import Head
from dalenius.ledger.entry import canonical

_BEGINNING = '{"at":"'
_TAIL = 1 << 16
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class AnchorLine:
    """One anchored head, and whether its signature holds; a line that was cut short has no head."""

    seq: int
    head: str
    is_signed: bool
    is_cut: bool = False
    ledger: str = ""


class AnchorFile:
    """The second file, with the key that checks its lines and, where it may be written, the one that signs them."""

    def __init__(self, path: Path, public: Ed25519PublicKey, secret: Ed25519PrivateKey | None = None) -> None:
        self.path = path
        self._public = public
        self._secret = secret

    @classmethod
    def signed_with(cls, path: Path, key: bytes) -> "AnchorFile":
        secret = Ed25519PrivateKey.from_private_bytes(key)
        return cls(path, secret.public_key(), secret)

    @classmethod
    def checked_with(cls, path: Path, public_key: str) -> "AnchorFile":
        try:
            return cls(path, Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)))
        except ValueError as error:
            raise ParameterError("A public key has 64 hexadecimal digits.") from error

    @property
    def public_key(self) -> str:
        """The public key in hexadecimal, which the ledger's first line names."""
        return self._public.public_bytes_raw().hex()

    def at(self, path: Path | None) -> "AnchorFile":
        return self if path is None else AnchorFile(path, self._public, self._secret)

    def _is_signed(self, body: dict[str, object], signature: str) -> bool:
        try:
            self._public.verify(bytes.fromhex(signature), canonical(body).encode())
        except (InvalidSignature, ValueError):
            return False
        return True

    def sign(self, ledger: str, head: Head, at: str) -> str:
        assert self._secret is not None, "a ledger that cannot sign does not write"
        return self._secret.sign(f"{_text(ledger, head, at)}}}".encode()).hex()

    def has_signed(self, ledger: str, head: Head, at: str, signature: str) -> bool:
        """Whether a signature is this key's. Signing again gives the same one and takes less time than checking it."""
        if self._secret is not None:
            return compare_digest(self.sign(ledger, head, at).encode(), signature.encode())
        return self._is_signed({"ledger": ledger, "seq": head.seq, "head": head.digest, "at": at}, signature)

    def append(self, ledger: str, head: Head, at: str, signature: str = "", *, is_release: bool) -> None:
        """Append a head, signed here unless it comes with a signature, in one write so that processes do not mix."""
        signature = signature or self.sign(ledger, head, at)
        # The line break comes first: a line that a power failure cut short does not spoil the next one.
        line = f'\n{_text(ledger, head, at)},"signature":"{signature}"}}'
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if os.write(descriptor, line.encode()) != len(line):
                raise OSError(errno.ENOSPC, "the anchor's line was cut short")
            if is_release:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lines(self, ledger: str) -> list[AnchorLine]:
        """Return every line of the file; one that cannot be read, or names another ledger, is not signed."""
        if not self.path.exists():
            return []
        heads = []
        for text in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            if not text:
                continue
            if _is_cut(text):
                heads.append(AnchorLine(0, "", False, is_cut=True))
                continue
            line = self._checked(text)
            heads.append(line if line.ledger == ledger else replace(line, is_signed=False))
        return heads

    def last_lines(self) -> tuple[str, ...]:
        return last_lines(self.path)

    def furthest(self, texts: Iterable[str]) -> AnchorLine | None:
        """Return the line furthest along the chain that this key signed, for whichever ledger, or None."""
        for text in sorted(texts, key=_place, reverse=True):
            line = self._checked(text)
            if line.is_signed:
                return line
        return None

    def _checked(self, text: str) -> AnchorLine:
        try:
            document = json.loads(text)
            signature = str(document.pop("signature"))
            good = self._is_signed(document, signature)
            return AnchorLine(int(document["seq"]), str(document["head"]), good, ledger=str(document["ledger"]))
        except _UNREADABLE:
            return AnchorLine(0, "", False)


def _text(ledger: str, head: Head, at: str) -> str:
    """Return the canonical text of what is signed, without its last brace: the names are in order."""
    return f'{{"at":{_quoted(at)},"head":{_quoted(head.digest)},"ledger":{_quoted(ledger)},"seq":{head.seq}'


def last_lines(path: Path) -> tuple[str, ...]:
    """Return the end of an anchor as text, without lines that were cut short."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _TAIL, 0))
            texts = file.read().decode("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ()
    # A line that began before the part that was read is left out.
    return tuple(text for text in texts[size > _TAIL :] if text and not _is_cut(text))


def _is_cut(text: str) -> bool:
    """Whether a line begins like one and does not end, as after a power failure."""
    return _BEGINNING.startswith(text) or (text.startswith(_BEGINNING) and not text.endswith("}"))


def _place(text: str) -> int:
    try:
        return int(json.loads(text)["seq"])
    except _UNREADABLE:
        return 0
