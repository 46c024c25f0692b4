"""Bounds the text of a document before it is parsed: a parser is a computation that strangers start.

One pass over the text, in time that grows with its length. Strings and comments are skipped as the grammars define
them, so that dots, brackets and commas inside them count for nothing. A quotation mark that opens no string ends the
pass: no parser reads on from there.
"""

import csv
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from dalenius.errors import DocumentError, DocumentLimit
from dalenius.limits import LOCAL, WORD, DocumentLimits

# A string of several lines may end in two more quotation marks, which belong to it. Possessive repeats never go back.
_TOML = re.compile(
    r'"""(?:[^"\\]++|\\[\s\S]|""?(?!"))*+"{3,5}'
    r"|'''(?:[^']++|''?(?!'))*+'{3,5}"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"'
    r"|'[^'\n]*+'"
    r"|\#[^\n]*+"
    r"|(?P<sign>[\[\]{},.=\n])"
    r"|(?P<word>[0-9A-Za-z_-]++)"
    r"|(?P<open>[\"'])"
)
_JSON = re.compile(r'"(?:[^"\\]++|\\[\s\S])*+"|(?P<sign>[\[\]{},])|(?P<open>")')


def check_size(size: int, kind: str, limits: DocumentLimits) -> None:
    """Raise `DocumentLimit` for more bytes than are read."""
    if size > limits.size:
        raise _refusal(kind, "size", limits.size, "bytes")


def read_text(path: Path, kind: str, limits: DocumentLimits = LOCAL) -> str:
    """Return the text of a file; raises `DocumentLimit` before a large one is read."""
    try:
        check_size(path.stat().st_size, kind, limits)
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DocumentError(f"There is no {kind}.", received=str(path)) from None
    except (OSError, ValueError) as error:
        raise DocumentError(f"The {kind} could not be read as UTF-8 text ({type(error).__name__}).") from None


def read_rows(path: Path, kind: str, limits: DocumentLimits = LOCAL) -> list[list[str]]:
    """Return the header and the rows of a CSV file, at least one."""
    try:
        rows = [row for row in csv.reader(StringIO(read_text(path, kind, limits), newline="")) if row]
    except csv.Error as error:
        raise DocumentError(f"The {kind} could not be read ({type(error).__name__}).") from None
    if len(rows) < 2:
        raise DocumentError(f"The {kind} needs a header and at least one row.")
    return rows


def screen(text: str, kind: str, limits: DocumentLimits, *, is_json: bool) -> None:
    """Raise `DocumentLimit` for a text that is longer, deeper or fuller than is parsed."""
    check_size(len(text) if text.isascii() else len(text.encode("utf-8", "replace")), kind, limits)
    has_bounds = not (limits.depth is limits.items is limits.values is None)
    if has_bounds or (limits.dots is not None and not is_json):
        _check_signs(_signs(text, kind, _JSON if is_json else _TOML), kind, limits)


def _signs(text: str, kind: str, grammar: re.Pattern[str]) -> Iterator[str]:
    """Signs of the grammar outside of strings and comments, up to a string that does not end."""
    for match in grammar.finditer(text):
        if match.lastgroup == "sign":
            yield match.group()
        elif match.lastgroup == "word" and match.end() - match.start() > WORD:
            # Hexadecimal digits are read however many they are, and become a number that nobody can print.
            raise _refusal(kind, "word", WORD, "characters in one number or bare key")
        elif match.lastgroup == "open":
            return


def _check_signs(signs: Iterator[str], kind: str, limits: DocumentLimits) -> None:
    never = 1 << 62
    depth, items, values, dots = (
        never if most is None else most for most in (limits.depth, limits.items, limits.values, limits.dots)
    )
    commas, total, dotted = [0], 0, 0
    for sign in signs:
        if sign == ".":
            dotted += 1
            if dotted > dots:
                raise _refusal(kind, "dots", dots, "dots in one key")
            continue
        dotted = 0
        if sign == ",":
            commas[-1] += 1
            total += 1
            if commas[-1] >= items:
                raise _refusal(kind, "items", items, "entries in one list or table")
            if total >= values:
                raise _refusal(kind, "values", values, "entries in all")
        elif sign in "[{":
            commas.append(0)
            if len(commas) > depth + 1:
                raise _refusal(kind, "depth", depth, "lists and tables inside each other")
        elif sign in "]}" and len(commas) > 1:
            commas.pop()


def _refusal(kind: str, limit: str, most: int, what: str) -> DocumentLimit:
    return DocumentLimit(
        f"The {kind} is too large to be read: at most {most:,} {what} are accepted.", limit=limit, most=most
    )
