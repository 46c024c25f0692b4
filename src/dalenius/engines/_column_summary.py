"""What one column holds, as the engine reads it: the material of a draft, for the custodian alone.

Every distinct value goes through the scalar reader that also counts it later, so that a drafted list of categories has
no unseen value and drafted bounds no unreadable one.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from dalenius.spec.coding import canonical_text, exact_number
from dalenius.spec.declared_variable import fitting_step

MOST_CATEGORIES = 400
_MOST_CODES = 20
_MOST_PLACES = 12
_LEAST_ROWS_OF_AN_IDENTIFIER = 20
_IDENTIFIER = re.compile(r"(^|[_. -])(u?uid|guid|id|pid|key|nr|no|number)$|[a-z]Id$|ID$", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_DIGITS = re.compile(r"(\d+)")
# Whole numbers that questionnaires use for "does not apply", "refused" and "not known".
_USUAL_CODES = frozenset(
    [-code for code in (*range(1, 10), 66, 77, 88, *range(95, 100), 777, 888, *range(995, 1000))]
    + [
        code
        for nines in range(2, 9)
        for code in (*range(10**nines - 6, 10**nines), 7 * (10**nines // 9), 8 * (10**nines // 9))
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """Distinct values of a column (`texts` is None where there are too many), and its range if it holds numbers.

    Numbers that look like codes of missing values are `missing_codes`, and among the missing values in all else.
    """

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
    missing_codes: tuple[Fraction, ...] = ()

    @property
    def is_unique(self) -> bool:
        """Whether no value comes twice, in a column long enough for that to mean something."""
        return self.distinct == self.rows and self.rows >= _LEAST_ROWS_OF_AN_IDENTIFIER

    @property
    def repeats(self) -> bool:
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
    def grid(self) -> Fraction:
        """The grid that the values are written on: whole numbers, or tenths, cents and so on."""
        return Fraction(1, 10**self.places)

    @property
    def step(self) -> Fraction:
        """The step that fits the bounds, no finer than the values are written."""
        return fitting_step(*self._ends(Fraction(0)), self.grid)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """Lowest and highest value, rounded outward to one leading digit; zero where the column holds no number."""
        return self._ends(self.step)

    def _ends(self, step: Fraction) -> tuple[Fraction, Fraction]:
        lowest, highest = self.lowest or Fraction(0), self.highest or Fraction(0)
        return -_outward(-lowest, step), _outward(highest, step)


def is_called_identifier(name: str) -> bool:
    return _IDENTIFIER.search(name) is not None


def summarise(
    name: str,
    contents: Iterable[tuple[object, int]],
    *,
    is_boolean: bool = False,
    labelled: Collection[str] = (),
    codes: Collection[str] | None = None,
) -> ColumnSummary:
    """One pass over the distinct values of a column and their counts.

    Where a number has many values and few of them are `labelled`, these are codes of missing values, but for 0. `codes`
    are so in any case, and then nothing else is.
    """
    values, is_number = _Values(), not is_boolean
    listed, stated = _numbers(labelled), _numbers(codes or ())
    watched = _USUAL_CODES | listed if codes is None else stated
    usual: dict[Fraction, _Values] = {}
    missing = 0
    for value, count in contents:
        text = canonical_text(value)
        if text is None:
            missing += count
            continue
        number = exact_number(value) if is_number and not _LEADING_ZERO.match(text) else None
        is_number = is_number and number is not None
        is_watched = isinstance(number, Fraction) and number in watched
        held = usual.setdefault(Fraction(number or 0), _Values()) if is_watched else values
        held.add(value, text, count, number)
    missing_codes = {code for code, held in usual.items() if values.are_apart_from(code, held.rows)}
    missing_codes = missing_codes if codes is None else set(stated)
    if values.distinct <= len(listed):
        missing_codes = missing_codes - listed
    elif values.distinct > _MOST_CODES:
        missing_codes = missing_codes | (listed - {0})
    missing_codes = missing_codes & usual.keys() if is_number else set()
    for code, held in usual.items():
        if code in missing_codes:
            missing += held.rows
        else:
            values.join(held)
    return ColumnSummary(
        name=name,
        rows=values.rows,
        missing=missing,
        distinct=values.distinct,
        texts=None if values.texts is None else tuple(sorted(values.texts, key=natural_order)),
        lowest=values.lowest,
        highest=values.highest,
        places=values.places,
        is_number=is_number and values.lowest is not None,
        is_whole=values.is_whole,
        missing_codes=tuple(sorted(missing_codes)),
    )


def _numbers(texts: Collection[str]) -> frozenset[Fraction]:
    return frozenset(number for text in texts if isinstance(number := exact_number(text), Fraction))


@dataclass(slots=True, kw_only=True)
class _Values:
    rows: int = 0
    distinct: int = 0
    texts: set[str] | None = field(default_factory=set)
    lowest: Fraction | None = None
    highest: Fraction | None = None
    places: int = 0
    is_whole: bool = True

    def add(self, value: object, text: str, count: int, number: Fraction | float | None) -> None:
        """Take in one distinct value; `number` is None where it is none."""
        # A whole number that is written as 40.0 is an amount, not a code.
        is_plain = not (isinstance(value, str) and "." in value)
        if isinstance(number, Fraction):
            is_plain = is_plain and number.denominator == 1
            one = _Values(lowest=number, highest=number, places=_decimal_places(number), is_whole=is_plain)
        else:
            one = _Values()
        one.rows, one.distinct, one.texts = count, 1, {text}
        self.join(one)

    def join(self, other: "_Values") -> None:
        self.rows += other.rows
        self.distinct += other.distinct
        if self.texts is not None:
            self.texts |= other.texts or set()
            self.texts = self.texts if len(self.texts) <= MOST_CATEGORIES else None
        if other.lowest is not None and other.highest is not None:
            self.lowest = other.lowest if self.lowest is None else min(self.lowest, other.lowest)
            self.highest = other.highest if self.highest is None else max(self.highest, other.highest)
        self.places = max(self.places, other.places)
        self.is_whole = self.is_whole and other.is_whole

    def are_apart_from(self, code: Fraction, count: int) -> bool:
        """Whether a number that so many rows hold looks like a code beside these values.

        It does if it alone is negative, if it lies far beyond the others, or if far more rows hold it than another.
        """
        if self.lowest is None or self.highest is None:
            return False
        if code < 0:
            return self.lowest >= 0
        usual = Fraction(self.rows, self.distinct)
        if code > self.highest:
            return count > usual or 10 * (code - self.highest) > self.highest - self.lowest
        return count >= 5 and count > 3 * usual


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
    return next((p for p in range(_MOST_PLACES) if (number * 10**p).denominator == 1), _MOST_PLACES)


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
