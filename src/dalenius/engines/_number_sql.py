"""How a database reads a number against its declaration: the code where it is beyond doubt, nothing where it is not.

Databases differ in how they round, overflow and compare odd values. So a statement decides only what every one of them
decides alike: whole numbers on a grid of ones, and doubles that lie safely inside a step or safely outside the bounds.
Whatever is left comes back as it stands in the table, and the scalar reader of `spec.coding` decides it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dalenius.core.domain import DROP, Bounds
from dalenius.spec.coding import DROPPED_NUMBER

_LARGEST = 2**63 - 1
_SMALLEST_DOUBLE = 1e-200


Template = Callable[..., str]


class Dialect(ABC):
    """The few words in which one database differs from another; columns and expressions are SQL texts.

    Kinds are the database's names of types: of whole numbers, floats, Booleans and texts. Of `bare` kinds, texts are
    compared byte by byte as they are.
    """

    double: ClassVar[str]
    bigint: ClassVar[str]
    fence: ClassVar[str] = ""
    wholes: ClassVar[tuple[str, ...]]
    floats: ClassVar[tuple[str, ...]]
    truth: ClassVar[str]
    texts: ClassVar[tuple[str, ...]]
    bare: ClassVar[tuple[str, ...]] = ()
    sorts_with_nan: ClassVar[tuple[str, ...]] = ("real",)

    nearest: Template
    """A double rounded to a whole number."""
    wide: Template
    """A 64-bit integer in a type that holds the product of two."""
    halved: Template
    """A 64-bit integer, divided by a power of two and rounded down."""
    total: Template
    """The sum of integers below 2^62, taken in a type that 2^31 of them do not fill."""
    text: Template
    """A value as text."""
    digits: Template
    """The 64-bit integer of a text of eight digits; only asked of such."""
    is_nan: Template
    """Whether a value of such a kind is NaN, which is equal to itself."""
    truth_number: Template
    """A Boolean as a number, to be cast to one of another type."""
    decimal_double: Template
    """A decimal as a double, NULL where there is none."""
    text_double: Template
    """The double of a text of at most 15 signs that is a plain number: the decimal is what the double prints as."""

    @abstractmethod
    def is_nested(self, kind: str) -> bool:
        """Whether a column of this kind holds more than plain values."""

    @abstractmethod
    def is_decimal(self, kind: str) -> bool:
        """Whether it holds exact decimals, which engines compare differently."""

    @abstractmethod
    def name(self, column: str) -> str:
        """A quoted identifier."""

    @abstractmethod
    def place(self, expression: str, edges: tuple[int, ...]) -> str | None:
        """How many of the rising edges an integer has reached; None where there are too many to ask."""

    @abstractmethod
    def literal(self, content: str) -> str:
        """A text as SQL."""

    @abstractmethod
    def first(self, day: str, code: str, condition: str) -> str:
        """The aggregate: the smallest code of the rows of the earliest day, among those that meet a condition."""

    def sort(self, kind: str) -> str:
        """What a plain value is: "text", "whole", "truth", "real" or, where engines compare it differently, "other".

        Whatever is neither a number nor a Boolean is read as text.
        """
        if kind in self.wholes:
            return "whole"
        if kind in self.floats:
            return "real"
        return "truth" if kind == self.truth else "other" if self.is_decimal(kind) else "text"

    def plain(self, column: str, kind: str) -> str:
        """The value as it is fetched and grouped: values with different canonical texts are never equal."""
        sort = self.sort(kind)
        if sort in ("whole", "real"):
            return f"CAST({column} AS {'BIGINT' if sort == 'whole' else self.double})"
        return self.text(column) if sort == "text" and kind not in self.bare else column

    def is_missing(self, column: str, kind: str) -> str:
        is_nan = f" OR {self.is_nan(column)}" if self.sort(kind) in self.sorts_with_nan else ""
        return f"({column} IS NULL{is_nan})"

    def whole(self, column: str, kind: str) -> str | None:
        """The 64-bit integer that it is, for types that hold nothing else."""
        number = self.truth_number(column) if kind == self.truth else column
        return f"CAST({number} AS BIGINT)" if self.sort(kind) in ("whole", "truth") else None

    def real(self, column: str, kind: str) -> tuple[str, bool]:
        """A double within one part in 2^52, NULL where there is none; whether it prints as the decimal meant."""
        sort = self.sort(kind)
        if sort == "text":
            return self.text_double(self.plain(column, kind)), True
        if sort == "other":
            return self.decimal_double(column), False
        number = self.truth_number(column) if sort == "truth" else column
        return f"CAST({number} AS {self.double})", sort != "whole"


@dataclass(frozen=True, slots=True)
class NumberSQL:
    """Expressions of one numeric variable: its value, its double (if it needs one), and its code in terms of both."""

    value: str
    real: str | None
    code: str
    may_be_undecided: bool


def number(code: int) -> str:
    return f"CAST('{code}' AS BIGINT)"


def number_sql(dialect: Dialect, bounds: Bounds, column: str, kind: str, *, value: str, real: str) -> NumberSQL:
    """How a column of this kind is read; `value` and `real` are the names of the two earlier expressions."""
    plain = dialect.plain(column, kind)
    whole = dialect.whole(column, kind)
    if whole is not None and bounds.step == 1:
        return NumberSQL(whole, None, _of_whole(bounds, value), False)
    expression, is_exact = dialect.real(column, kind)
    missing = f"WHEN {dialect.is_missing(value, kind)} THEN {missing_number(bounds)}"
    # A number that is no double, or so small that some databases refuse to divide it.
    doubtful = f"WHEN {real} IS NULL OR ({real} <> 0 AND abs({real}) < {_SMALLEST_DOUBLE}) THEN NULL"
    cases = [missing, doubtful, *_codes(dialect, bounds, real), *_outside(dialect, bounds, real)]
    cases += _ends(dialect, bounds, real) if is_exact else []
    cases += _inside(dialect, bounds, real)
    if bounds.step == 1 and is_exact:
        cases.append(
            f"WHEN {real} = {dialect.nearest(real)} AND {real} >= {bounds.low} AND {real} <= {bounds.high}"
            f" THEN CAST({real} AS BIGINT)"
        )
    return NumberSQL(plain, expression, f"CASE {' '.join(cases)} END", True)


def missing_number(bounds: Bounds) -> str:
    return number(DROPPED_NUMBER if bounds.missing_code is None else bounds.missing_code)


def _beyond(bounds: Bounds, code: int) -> str:
    return number(DROPPED_NUMBER if bounds.outside == DROP else code)


def _of_whole(bounds: Bounds, value: str) -> str:
    """Every whole number is decided: it is missing, outside, or its own code."""
    low, high = number(max(bounds.low, -_LARGEST)), number(min(bounds.high, _LARGEST))
    codes = ", ".join(number(int(code)) for code in bounds.missing_codes if code.denominator == 1)
    is_code = f" OR {value} IN ({codes})" if codes else ""
    return (
        f"CASE WHEN {value} IS NULL{is_code} THEN {missing_number(bounds)} WHEN {value} < {low} THEN "
        f"{_beyond(bounds, bounds.low)} WHEN {value} > {high} THEN {_beyond(bounds, bounds.high)} ELSE {value} END"
    )


def double(dialect: Dialect, content: float) -> str:
    text = repr(content).replace("inf", "Infinity")
    return f"CAST('{text}' AS {dialect.double})"


def _codes(dialect: Dialect, bounds: Bounds, real: str) -> list[str]:
    """Close to a declared code of missing values, where the reader decides."""
    cases = []
    for code in bounds.missing_codes:
        margin = (abs(float(code)) + float(bounds.step)) * 2.0**-40
        ends = (double(dialect, float(code) + sign * margin) for sign in (-1, 1))
        cases.append(f"WHEN {real} BETWEEN {' AND '.join(ends)} THEN NULL")
    return cases


def _outside(dialect: Dialect, bounds: Bounds, real: str) -> list[str]:
    cases = []
    for bound, sign, relation in ((bounds.lower, -1, "<"), (bounds.upper, 1, ">")):
        margin = (abs(float(bound)) + float(bounds.step)) * 2.0**-40
        edge = double(dialect, float(bound) + sign * margin)
        code = bounds.low if sign < 0 else bounds.high
        cases.append(f"WHEN {real} {relation} {edge} THEN {_beyond(bounds, code)}")
    return cases


def _ends(dialect: Dialect, bounds: Bounds, real: str) -> list[str]:
    """Exactly at a bound that a double can hold."""
    return [
        f"WHEN {real} = {double(dialect, float(bound))} THEN {number(code)}"
        for bound, code in ((bounds.lower, bounds.low), (bounds.upper, bounds.high))
        if Fraction(repr(float(bound))) == bound
    ]


def _inside(dialect: Dialect, bounds: Bounds, real: str) -> list[str]:
    """Safely away from the middle between two steps and from the bounds, as `_columns.code_floats` has it."""
    steps = f"({real} / {double(dialect, float(bounds.step))})"
    near = dialect.nearest(steps)
    slack = f"(abs({steps}) * {double(dialect, 2.0**-48)} + {double(dialect, 2.0**-40)})"
    return [
        f"WHEN abs({steps} - {near}) + {slack} < {double(dialect, 0.5)} AND {steps} > {bounds.low} + {slack}"
        f" AND {steps} < {bounds.high} - {slack} THEN CAST({near} AS BIGINT)"
    ]


def date_sql(dialect: Dialect, bounds: Bounds, column: str, kind: str, *, value: str, real: str) -> NumberSQL:
    """A day as the number of its digits; what is no day, or outside the declared ones, is missing."""
    plain = dialect.plain(column, kind)
    if dialect.sort(kind) in ("real", "other"):
        return NumberSQL(plain, None, f"CASE WHEN {value} IS NULL THEN {missing_number(bounds)} END", True)
    text = dialect.text(column)
    digits = f"concat(substr({text}, 1, 4), substr({text}, 6, 2), substr({text}, 9, 2))"
    is_day = (
        f"translate(substr({text}, 1, 10), '0123456789', '0000000000') = '0000-00-00'"
        f" AND (length({text}) = 10 OR substr({text}, 11, 1) IN (' ', 'T'))"
    )
    are_digits = f"translate({text}, '0123456789', '0000000000') = '00000000'"
    day = f"CASE WHEN {is_day} THEN {dialect.digits(digits)} WHEN {are_digits} THEN {dialect.digits(text)} END"
    is_inside = f"{real} >= {bounds.low} AND {real} <= {bounds.high}"
    return NumberSQL(plain, day, f"CASE WHEN {is_inside} THEN {real} ELSE {missing_number(bounds)} END", False)
