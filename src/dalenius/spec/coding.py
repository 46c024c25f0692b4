"""How one raw value is read against its declaration (docs/reference/documents.md): what every engine must equal.

Nothing here raises for any value, and each value is read by itself, so that one row never changes how another is read.
A float is the decimal that it prints as.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import inf, isinf, isnan

from dalenius.core.domain import BETWEEN, DROP, Bounds, Categories, Lookup, Variable, day_number

DROPPED_CATEGORY = -1
DROPPED_NUMBER = -(2**63)
_NUMBER = re.compile(r"[ \t]*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,6})?[ \t]*", re.ASCII)
_LONGEST_TEXT = 400
_LARGEST_EXPONENT = 400


class Remark(StrEnum):
    """What was odd about a value, for the custodian's report."""

    VALID = "valid"
    MISSING = "missing"
    UNSEEN = "unseen"
    OUTSIDE = "outside"
    UNREADABLE = "unreadable"


Reading = tuple[int, Remark]
Reader = Callable[[object], Reading]


def plain_value(value: object) -> object:
    """A NumPy scalar as the Python value it stands for; everything else unchanged."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def canonical_text(value: object) -> str | None:
    """The text by which a value is matched with categories; None if it is missing.

    >>> [canonical_text(x) for x in (1, 1.0, True, "1", Decimal("1.00"), 0.5, None, float("nan"))]
    ['1', '1', 'true', '1', '1', '0.5', None, None]
    """
    value = plain_value(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Python refuses to print integers of thousands of digits; no category is that long.
        return str(value) if value.bit_length() < 10_000 else "an integer of many digits"
    if isinstance(value, float):
        if isnan(value):
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    text = str(value)
    return None if text in ("NaT", "<NA>") else text


def _decimal_text(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    if value.is_infinite():
        return "inf" if value > 0 else "-inf"
    if abs(value.adjusted()) > _LARGEST_EXPONENT:
        return str(value)
    if value == value.to_integral_value():
        return str(int(value))
    return format(value.normalize(), "f")


def exact_number(value: object) -> Fraction | float | None:
    """The rational that a raw value stands for, an infinity, NaN for a missing one, None for what is no number.

    >>> exact_number("0.1"), exact_number(0.1), exact_number("one") is None
    (Fraction(1, 10), Fraction(1, 10), True)
    """
    value = plain_value(value)
    if value is None:
        return float("nan")
    if isinstance(value, bool | int):
        return Fraction(int(value))
    if isinstance(value, float):
        return value if isnan(value) or isinf(value) else Fraction(repr(value))
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT or not _NUMBER.fullmatch(value):
            return _special(value)
        value = Decimal(value.strip())
    if isinstance(value, Decimal):
        if value.is_nan():
            return float("nan")
        if value.is_infinite() or value.adjusted() > _LARGEST_EXPONENT:
            return inf if value > 0 else -inf
        return Fraction(0) if value.adjusted() < -_LARGEST_EXPONENT else Fraction(value)
    return float("nan") if str(value) in ("NaT", "<NA>") else None


def _special(text: str) -> float | None:
    if len(text) > 20:
        return None
    word = text.strip().lower()
    if word in ("", "nan"):
        return float("nan")
    return {"inf": inf, "+inf": inf, "infinity": inf, "-inf": -inf, "-infinity": -inf}.get(word)


def category_reader(categories: Categories) -> Reader:
    codes = {text: code for code, text in enumerate(categories.texts)}
    missing = DROPPED_CATEGORY if categories.missing == DROP else categories.code(categories.missing)
    unseen = DROPPED_CATEGORY if categories.unseen == DROP else categories.code(categories.unseen)
    missing_codes = frozenset(categories.missing_codes)

    def read(value: object) -> Reading:
        text = canonical_text(value)
        if text is None or text in missing_codes:
            return missing, Remark.MISSING
        code = codes.get(text)
        return (unseen, Remark.UNSEEN) if code is None else (code, Remark.VALID)

    return read


def number_reader(bounds: Bounds) -> Reader:
    missing = DROPPED_NUMBER if bounds.missing_code is None else bounds.missing_code
    clamps, missing_codes = bounds.outside != DROP, frozenset(bounds.missing_codes)

    def read(value: object) -> Reading:
        number = exact_number(value)
        if number is None:
            return missing, Remark.UNREADABLE
        if (isinstance(number, float) and isnan(number)) or number in missing_codes:
            return missing, Remark.MISSING
        if number < bounds.lower:
            return (bounds.low if clamps else DROPPED_NUMBER), Remark.OUTSIDE
        if number > bounds.upper:
            return (bounds.high if clamps else DROPPED_NUMBER), Remark.OUTSIDE
        return round(Fraction(number) / bounds.step), Remark.VALID

    return read


def reader(variable: Variable) -> Reader:
    declared = variable.domain
    plain = number_reader(declared) if isinstance(declared, Bounds) else category_reader(declared)
    if variable.is_date:
        # A day is read as the number of its digits; what is no day is missing.
        return _meaning_reader(plain, day_number, (plain(None)[0], Remark.UNREADABLE))
    if variable.lookup is None:
        return plain
    # A key is read as what it stands for in a public table, and one without a match by the declared rule.
    return _meaning_reader(plain, variable.lookup.value, (_unmatched(variable, variable.lookup, plain), Remark.UNSEEN))


def _meaning_reader(plain: Reader, meaning: Callable[[str], object], otherwise: Reading) -> Reader:
    """Reads a text as what it means, and one that means nothing in another way."""

    def read(value: object) -> Reading:
        text = canonical_text(value)
        if text is None:
            return plain(None)
        meant = meaning(text)
        return otherwise if meant is None else plain(meant)

    return read


def _unmatched(variable: Variable, lookup: Lookup, plain: Reader) -> int:
    if lookup.unmatched == DROP:
        return dropped_code(variable)
    return plain(lookup.unmatched)[0] if variable.is_numeric else variable.categories.code(lookup.unmatched)


def paired(key: object, day: object) -> str | None:
    """A key and a day as the one value that is looked up by both; None where one of them is missing."""
    texts = [canonical_text(value) for value in (key, day)]
    return None if None in texts else BETWEEN.join(text for text in texts if text is not None)


def dropped_code(variable: Variable) -> int:
    """The code of a row that is outside everything that uses the variable."""
    return DROPPED_NUMBER if variable.is_numeric else DROPPED_CATEGORY


def is_dropped(variable: Variable, code: int) -> bool:
    return code == dropped_code(variable)
