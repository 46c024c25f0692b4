"""Numbers, amounts and times as a reader of each language writes them."""

import re
from datetime import UTC, datetime
from fractions import Fraction
from math import isfinite

from dalenius.server.messages import translate

_GROUP = {"en": (",", "."), "de": (".", ",")}
_PLAIN = re.compile(r"[+-]?\d*\.?\d*([eE][+-]?\d+)?")
MINUS = "\u2212"
_THIN = "\u202f"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: object, language: str = "en", digits: int | None = None) -> str:
    """A number with grouped thousands; whole numbers without decimals unless `digits` says otherwise.

    >>> number(1234567.0), number(-1234.56, "de", 1), number(None)
    ('1,234,567', '−1.234,6', '–')
    """
    if value is None or not isfinite(float(value)):  # type: ignore[arg-type]
        return "–"
    amount = float(value)  # type: ignore[arg-type]
    if digits is None:
        digits = 0 if amount.is_integer() or abs(amount) >= 1000 else 1 if abs(amount) >= 10 else 2
    text = f"{abs(amount):,.{digits}f}"
    group, point = _GROUP.get(language, _GROUP["en"])
    text = text.replace(",", "\x00").replace(".", point).replace("\x00", group)
    return (MINUS if amount < 0 and text.strip("0.,") else "") + text


def percent(value: float, language: str = "en", digits: int = 1) -> str:
    """A share of one as a percentage.

    >>> [percent(0.1234).split(), percent(0.5, "de", 0).split()]
    [['12.3', '%'], ['50', '%']]
    """
    return f"{number(value * 100, language, digits)}{_THIN}%"


def percent_digits(half: float, most: int = 4) -> int:
    """Decimals of a percentage that show at least one digit of its margin of error, which is a share of one.

    >>> [percent_digits(half) for half in (0.12, 0.0095, 0.009, 0.0004, 0.00003, 1e-9)]
    [1, 1, 2, 2, 3, 4]
    """
    if half >= 0.0095:
        return 1
    return next((n for n in range(2, most) if half >= 0.95 * 10.0 ** (-2 - n)), most)


def amount(value: object, language: str = "en", digits: int = 4) -> str:
    """A privacy amount for readers: a few significant digits; the exact value is in the documents.

    >>> amount("0.0125"), amount("1/3", "de"), amount(None), amount("0"), amount("1e-6")
    ('0.0125', '0,3333', '–', '0', '10⁻⁶')
    """
    if value is None or value == "":
        return "–"
    exact = Fraction(str(value))
    text = f"{float(exact):.{digits}g}"
    if "e" in text:
        mantissa, _, power = text.partition("e")
        tens = "10" + str(int(power)).translate(_RAISED)
        text = tens if mantissa == "1" else f"{mantissa}\u202f×\u202f{tens}"
    return text.replace(".", _GROUP.get(language, _GROUP["en"])[1])


def typed(text: object, language: str = "en") -> str:
    """An exact number as a reader of the language would type it; anything else as it is.

    >>> typed("0.5", "de"), typed("1e-9", "de"), typed("0.5"), typed("a.b", "de")
    ('0,5', '1e-9', '0.5', 'a.b')
    """
    written = str(text)
    return written.replace(".", _GROUP.get(language, _GROUP["en"])[1]) if _PLAIN.fullmatch(written) else written


def read(text: str, language: str = "en") -> str:
    """A number that a reader typed, as documents write it; anything else is left for the document to refuse.

    A group of thousands is accepted where it cannot be a decimal.

    >>> [read(text, "de") for text in ("0,5", "1.234,5", "12.000", "0.125", "1e-9", "1,5e-9", "a,b")]
    ['0.5', '1234.5', '12000', '0.125', '1e-9', '1.5e-9', 'a,b']
    >>> read("0,5")
    '0,5'
    """
    group, point = _GROUP.get(language, _GROUP["en"])
    written = text.strip()
    if point == ".":
        return written
    if re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}(\{group}\d{{3}})+({point}\d+)?", written):
        written = written.replace(group, "")
    if group not in written and written.count(point) == 1 and _PLAIN.fullmatch(written.replace(point, ".")):
        return written.replace(point, ".")
    return written


def moment(value: object, language: str = "en") -> str:
    """A time, given as seconds or as ISO text, to the minute and in UTC.

    >>> moment(0.0), moment("2026-03-01T10:05:00Z", "de")
    ('1 Jan 1970, 00:00 UTC', '1. März 2026, 10:05 UTC')
    """
    if value in (None, ""):
        return "–"
    if isinstance(value, int | float):
        when = datetime.fromtimestamp(value, UTC)
    else:
        try:
            when = datetime.fromisoformat(str(value))
        except ValueError:
            return str(value)
    month = translate(language, "date.months").split()[when.month - 1]
    return translate(language, "date.moment", day=when.day, month=month, year=when.year, time=f"{when:%H:%M}")
