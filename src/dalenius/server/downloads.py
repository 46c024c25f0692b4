"""Releases as files: every format of `publish` is served, found and never listed."""

import hashlib
from collections.abc import Mapping

from dalenius.core.release import Release, Status
from dalenius.ledger import StoredRelease
from dalenius.publish import document, from_json
from dalenius.publish import formats as every_format
from dalenius.server.errors import NotAcceptable
from dalenius.server.views import Download
from dalenius.shown.speech import DEFAULT


def formats() -> Mapping[str, str]:
    return {name: form.media_type for name, form in every_format().items()}


def read(stored: StoredRelease) -> Release:
    return from_json(stored.document).with_(status=Status(stored.status))


def is_spoken(name: str) -> bool:
    return name in formats() and every_format()[name].is_spoken


def render(release: Release, name: str, *, is_public: bool = True, language: str = DEFAULT) -> Download:
    """A release in one format, in the reader's language where it has words."""
    if name not in formats():
        raise NotAcceptable(f"There is no format {name[:20]!r}.", known=sorted(formats()))
    form = every_format()[name]
    entry = release.provenance.ledger_entry or release.provenance.digest
    stem = f"{_safe(release.provenance.dataset)}-{_safe(entry[:12])}"
    described = every_format().get(form.describes)
    content = form.content(release, language=language, url=stem + described.suffixes[0] if described else "")
    kind = form.media_type
    return Download(
        content=content,
        media_type=f"{kind}; charset=utf-8" if kind.startswith("text/") else kind,
        filename=stem + form.suffixes[0],
        etag=f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        is_public=is_public,
    )


def _safe(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in text)[:80]


def negotiate(accept: str) -> str:
    """The format that an Accept header prefers; the document where it takes anything."""
    by_type = {kind: name for name, kind in formats().items()}
    best, weight = "", 0.0
    for part in accept.split(",")[:32]:
        kind, _, rest = part.partition(";")
        kind, quality = kind.strip().lower(), _quality(rest)
        name = document().name if kind in ("*/*", "application/*", "") else by_type.get(kind, "")
        if name and quality > weight:
            best, weight = name, quality
    if not best:
        raise NotAcceptable("None of the media types you accept is served.", known=sorted(by_type))
    return best


def _quality(parameters: str) -> float:
    for part in parameters.split(";"):
        name, _, value = part.strip().partition("=")
        if name == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
