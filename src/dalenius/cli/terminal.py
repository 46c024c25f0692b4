"""The one way to the terminal: texts are shown letter by letter, and only our own words carry a style.

Labels, titles, notes and messages come from documents and releases. None of them is markup, a picture's name or a
command to the terminal: brackets and colons are printed as they stand, control characters as a replacement sign.
"""

import unicodedata
from errno import EPIPE
from os import strerror
from typing import Any

from rich.console import Console
from rich.text import Text

# Joiners and the soft hyphen belong to words; every other format or control character could rearrange a line.
_KEPT = "\n\u200c\u200d\u00ad"


def printable(text: str) -> str:
    """A text without anything that a terminal would obey.

    >>> printable("[unknown] :x: \\x1b[31mred")
    '[unknown] :x: �[31mred'
    """
    if text.isprintable():
        return text
    kept = (c.isprintable() or c in _KEPT or unicodedata.category(c) == "Zs" for c in text)
    return "".join(c if is_kept else "\N{REPLACEMENT CHARACTER}" for c, is_kept in zip(text, kept, strict=True))


def styled(*parts: str | tuple[str, str]) -> Text:
    line = Text()
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        line.append(printable(text), style or None)
    return line


class Terminal(Console):
    """A terminal that knows its width and takes every text literally, also in tables, headings and titles."""

    def __init__(self, *, is_error: bool = False) -> None:
        super().__init__(stderr=is_error, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Nobody reads on: the caller decides what that means."""
        raise BrokenPipeError(EPIPE, strerror(EPIPE))

    def render_str(self, text: str, **options: Any) -> Text:
        literal = {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(printable(text), **options | literal)
