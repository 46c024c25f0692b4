"""One line of the ledger: canonical JSON, chained to the line before it by digest.

A line records what was done and is never edited. Its digest covers every field, so that a change anywhere breaks the
chain at that place. The last line of a segment is sealed: it also names the state that the segment leaves behind. The
public name of a line is the beginning of its digest before it was sealed, which tells nobody how many lines there are.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

from dalenius.errors import LedgerCorrupt, ParameterError

FORMAT = "dalenius-ledger/1"
GENESIS = "0" * 64
NAME_LENGTH = 32
_MOST_NESTED = 64
_SEAL = ',"state":"{}"}}'
_SEAL_SIZE = len(_SEAL.format("0" * 64))
_SCALARS, _TEXT = frozenset({str, int, float, bool, type(None)}), frozenset({str})

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(document: object) -> str:
    """Return the only text of a document: sorted names, no blanks, ASCII.

    >>> canonical({"b": 1, "a": ["é"]})
    '{"a":["\\\\u00e9"],"b":1}'
    """
    return _ENCODER.encode(document)


def canonical_body(body: object) -> str:
    """Return the canonical text of what a caller wrote; refuses what would not read back as the same text."""
    try:
        if _is_plain(body, _MOST_NESTED):
            return canonical(body)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"A ledger line holds plain JSON values only: {error}.") from error
    raise ParameterError(
        f"A ledger line holds plain JSON values only: names are text, nested at most {_MOST_NESTED} deep."
    )


def _is_plain(value: object, depth: int) -> bool:
    """Whether a value reads back as it was written: names that are not text would be sorted by another rule."""
    if isinstance(value, dict):
        if not _TEXT.issuperset(map(type, value)) and not all(isinstance(name, str) for name in value):
            return False
        parts: Iterable[object] = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    else:
        return True
    if depth <= 0:
        return False
    # Most often there is nothing to go down into.
    return _SCALARS.issuperset(map(type, parts)) or not [
        part for part in parts if type(part) not in _SCALARS and not _is_plain(part, depth - 1)
    ]


def check_text(*texts: str) -> None:
    """Refuse names that some store cannot hold: no NUL, no half of a character."""
    text = "".join(texts)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ParameterError("A name holds half of a character.")
    if "\0" in text:
        raise ParameterError("A name holds a NUL.")


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def without_seal(line: str) -> str:
    return line[:-_SEAL_SIZE] + "}"


def public_name(line: str, digest: str, *, is_sealed: bool) -> str:
    """Return the public name of a stored line: how its digest began before it was sealed."""
    return (digest_of(without_seal(line).encode()) if is_sealed else digest)[:NAME_LENGTH]


def stamp(seconds: float) -> str:
    """Return a time in seconds since 1970 as lines hold it: UTC, whole milliseconds.

    >>> stamp(0)
    '1970-01-01T00:00:00.000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


@dataclass(frozen=True, slots=True)
class Entry:
    seq: int
    kind: str
    population: str
    at: str
    by: str
    body: Mapping[str, Any]
    previous: str
    line: str
    digest: str
    name: str
    state: str = ""

    @classmethod
    def write(
        cls,
        seq: int,
        kind: str,
        population: str,
        at: str,
        by: str,
        body: Mapping[str, Any],
        previous: str,
        text: str = "",
    ) -> "Entry":
        """Return the line that follows `previous`; `text` is the body's canonical text where it is known."""
        # The names are in sorted order, so the parts put together are the canonical text of the whole.
        line = (
            f'{{"at":"{at}","body":{text or canonical(body)},"by":{_quoted(by)},"format":"{FORMAT}","kind":"{kind}",'
            f'"population":{_quoted(population)},"previous":"{previous}","seq":{seq}}}'
        )
        digest = digest_of(line.encode())
        return cls(seq, kind, population, at, by, body, previous, line, digest, name=digest[:NAME_LENGTH])

    def sealed(self, state: str) -> "Entry":
        """Return the line under the same name, with the state that its segment leaves behind."""
        line = self.line[:-1] + _SEAL.format(state)
        return replace(self, line=line, digest=digest_of(line.encode()), state=state)

    @classmethod
    def read(cls, line: str) -> "Entry":
        """Parse a stored line; its digest is computed, never taken from the store."""
        try:
            document = json.loads(line)
            digest, state = digest_of(line.encode()), str(document.get("state", ""))
            texts: Any = {key: str(document[key]) for key in ("kind", "population", "at", "by", "previous")}
            seq, body = int(document["seq"]), dict(document["body"])
            name = public_name(line, digest, is_sealed=bool(state))
            return cls(seq=seq, body=body, line=line, digest=digest, name=name, state=state, **texts)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise LedgerCorrupt("A ledger line is not of the ledger's format.") from error

    def to_line(self) -> dict[str, Any]:
        return dict(json.loads(self.line))

    def to_dict(self) -> dict[str, Any]:
        return self.to_line() | {"entry": self.name, "digest": self.digest}
