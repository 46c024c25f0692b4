"""Releases as files: every `publish/to_*.py` is a format, found and never listed."""

import hashlib
import importlib
import mimetypes
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from dalenius.core import registry
from dalenius.core.release import Release, Status
from dalenius.errors import RequestError
from dalenius.ledger import StoredRelease
from dalenius.publish.to_json import from_json
from dalenius.server.errors import NotAcceptable
from dalenius.server.views import Download


@cache
def formats() -> Mapping[str, str]:
    """Name of each format and its media type: the module's own `MEDIA_TYPE`, or what the ending usually means."""
    found = {}
    for module in registry.names("publish"):
        if module.startswith("to_"):
            name = module.removeprefix("to_")
            loaded = importlib.import_module(f"dalenius.publish.{module}")
            guess = mimetypes.guess_type(f"x.{name}")[0] or "application/octet-stream"
            found[name] = str(getattr(loaded, "MEDIA_TYPE", guess))
    return MappingProxyType(found)


def read(stored: StoredRelease) -> Release:
    """A stored release as the library's own type."""
    return from_json(stored.document).with_(status=Status(stored.status))


def render(release: Release, name: str, *, is_public: bool) -> Download:
    """A release in one format."""
    if name not in formats():
        raise NotAcceptable(f"There is no format {name[:20]!r}.", known=sorted(formats()))
    if not release.tables and name != "json":
        raise RequestError(
            "This release has no table: the outcome was 'no reply'. Its JSON document says so."
        )
    made = registry.get("publish", f"to_{name}")(release)
    content = made.encode() if isinstance(made, str) else bytes(made)
    entry = release.provenance.ledger_entry or release.provenance.digest
    kind = formats()[name]
    return Download(
        content=content,
        media_type=f"{kind}; charset=utf-8" if kind.startswith("text/") else kind,
        filename=f"{_safe(release.provenance.dataset)}-{_safe(entry[:12])}.{name}",
        etag=f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        is_public=is_public,
    )


def _safe(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in text)[:80]


def negotiate(accept: str) -> str:
    """The format that an Accept header prefers; JSON where it takes anything."""
    by_type = {kind: name for name, kind in formats().items()}
    best, weight = "", 0.0
    for part in accept.split(",")[:32]:
        kind, _, rest = part.strip().partition(";")
        quality = _quality(rest)
        name = (
            "json" if kind.strip() in ("*/*", "application/*", "") else by_type.get(kind.strip().lower(), "")
        )
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
