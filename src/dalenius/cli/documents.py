"""Documents that a verb is given: a path, or `-` for standard input."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from dalenius.errors import DocumentError

if TYPE_CHECKING:
    from dalenius.core.release import Release

STANDARD_INPUT = "-"
ReleasePath = Annotated[Path, Argument(help="release.json, the directory that holds it, or - for standard input.")]


def written(document: Path) -> Path | str:
    """A document as it is loaded: its path, or the text on standard input, whose relative paths start here."""
    if str(document) != STANDARD_INPUT:
        return document
    text = sys.stdin.read()
    if not text.strip():
        raise DocumentError("There is no document on standard input.")
    # A line end tells a text from a path.
    return text + "\n"


def read_release(document: Path) -> "Release":
    """Read a release document, the directory that holds it, or standard input; `FILE#2` is the second of a batch."""
    from dalenius.publish import from_json, load

    if str(document) == STANDARD_INPUT:
        return from_json(sys.stdin.buffer.read())
    place, sign, number = str(document).rpartition("#")
    if not sign or not number.isdigit() or document.exists():
        return load(document)
    release = load(place)
    if not 1 <= int(number) <= len(release.members):
        raise DocumentError(
            f"{place!r} has no table {number}: "
            + (f"it is a batch of {len(release.members)} tables." if release.members else "it is no batch.")
        )
    return release.members[int(number) - 1]
