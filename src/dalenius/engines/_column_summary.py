"""What one column holds, as the engine reads it: the material of a draft, for the custodian alone.

Every distinct value goes through the scalar reader that also counts it later, so that a drafted list of categories has
no unseen value and drafted bounds no unreadable one.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isinf, isnan

from dalenius.spec.coding import canonical_text, exact_number

MOST_CATEGORIES = 400
_MOST_CODES = 20
_MOST_PLACES = 4
_MOST_STEPS = 2**52
_LEAST_ROWS_OF_AN_IDENTIFIER = 20
_IDENTIFIER = re.compile(r"(^|[_. -])(u?uid|guid|id|pid|key|nr|no|number)$|[a-z]Id$|ID$", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """Distinct values of a column (`texts` is None where there are too many), and its range if it holds numbers."""

    name: str
    rows: int
    missing: int
    distinct: int
    texts: tuple[str, ...] | None
    lowest: Fraction | None
    highest: Fraction | None
    places: int
    is_number: bool
    is_whole: bool

    @property
    def is_unique(self) -> bool:
        """Whether no value comes twice, in a column long enough for that to mean something."""
        return self.distinct == self.rows and self.rows >= _LEAST_ROWS_OF_AN_IDENTIFIER

    @property
    def repeats(self) -> bool:
        """Whether several rows share a value."""
        return self.distinct < self.rows

    @property
    def is_identifier(self) -> bool:
        """Whether it looks like an identifier: called so and with many values, or numbered without repetition."""
        if self.is_number and not self.is_whole:
            return False
        if is_called_identifier(self.name) and self.distinct > 3 * _MOST_CODES:
            return True
        return self.is_unique and (not self.is_number or self._is_close)

    @property
    def _is_close(self) -> bool:
        """Whether its numbers lie close together, as numbering does and amounts do not."""
        span = (self.highest or Fraction(0)) - (self.lowest or Fraction(0))
        return span < 5 * self.distinct

    @property
    def is_code(self) -> bool:
        """Whether its numbers look like codes: few, whole, not negative, close together, and each of them recurring."""
        if not (self.is_number and self.is_whole) or self.lowest is None or self.lowest < 0:
            return False
        return self.distinct <= _MOST_CODES and 2 * self.distinct <= self.rows and self._is_close

    @property
    def step(self) -> Fraction:
        """The grid that the values lie on: whole numbers, or tenths, cents and so on; coarser for very large values."""
        step = Fraction(1, 10**self.places)
        largest = 10 * max(abs(self.lowest or Fraction(0)), abs(self.highest or Fraction(0)))
        while largest / step > _MOST_STEPS:
            step *= 10
        return step

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """Lowest and highest value, rounded outward to one leading digit; zero where the column holds no number."""
        lowest, highest = self.lowest or Fraction(0), self.highest or Fraction(0)
        return -_outward(-lowest, self.step), _outward(highest, self.step)


def is_called_identifier(name: str) -> bool:
    return _IDENTIFIER.search(name) is not None


def summarise(name: str, contents: Iterable[tuple[object, int]], *, is_boolean: bool = False) -> ColumnSummary:
    """One pass over the distinct values of a column and their counts."""
    rows = missing = distinct = places = 0
    texts: set[str] | None = set()
    lowest: Fraction | None = None
    highest: Fraction | None = None
    is_number, is_whole = not is_boolean, True
    for value, count in contents:
        text = canonical_text(value)
        if text is None:
            missing += count
            continue
        rows += count
        distinct += 1
        if texts is not None:
            texts.add(text)
            texts = texts if len(texts) <= MOST_CATEGORIES else None
        number = exact_number(value) if is_number and not _LEADING_ZERO.match(text) else None
        if number is None:
            is_number = False
        elif isinstance(number, Fraction):
            lowest = number if lowest is None else min(lowest, number)
            highest = number if highest is None else max(highest, number)
            # A whole number that is written as 40.0 is an amount, not a code.
            is_whole = is_whole and number.denominator == 1 and not (isinstance(value, str) and "." in value)
            places = max(places, _decimal_places(number))
        elif not isnan(number) and not isinf(number):
            is_number = False
    return ColumnSummary(
        name=name,
        rows=rows,
        missing=missing,
        distinct=distinct,
        texts=None if texts is None else tuple(sorted(texts, key=natural_order)),
        lowest=lowest,
        highest=highest,
        places=places,
        is_number=is_number and lowest is not None,
        is_whole=is_whole,
    )


def natural_order(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts 1, 2, 10 and a2, a10 as people do.

    >>> sorted(["10", "2", "1", "a10", "a2", "-1"], key=natural_order)
    ['-1', '1', '2', '10', 'a2', 'a10']
    """
    if re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
        return ((-1, int(text), text),)
    parts = [part for part in _DIGITS.split(text) if part]
    return tuple((0, int(p), p) if p.isdecimal() and len(p) < 300 else (1, 0, p) for p in parts)


def _decimal_places(number: Fraction) -> int:
    """Digits behind the decimal point, up to the finest grid that a draft proposes."""
    for places in range(_MOST_PLACES):
        if (number * 10**places).denominator == 1:
            return places
    return _MOST_PLACES


def _outward(number: Fraction, step: Fraction) -> Fraction:
    """The least number of one digit, and so many zeros, that is not below; a multiple of `step`.

    >>> [int(_outward(Fraction(x), Fraction(1))) for x in (0, 7, 93, 713_000, -18, -10_000)]
    [0, 7, 100, 800000, -10, -10000]
    """
    if number == 0:
        return Fraction(0)
    size = abs(number)
    exponent = Decimal(size.numerator // size.denominator).adjusted() if size >= 1 else -_MOST_PLACES
    unit = Fraction(10) ** exponent
    if size < 1:
        while unit * 10 <= size:
            unit *= 10
    unit = max(unit, step)
    return -(-number // unit) * unit
