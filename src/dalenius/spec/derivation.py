"""Derived columns of a dataset document: lookups in public tables, and features of persons' rows."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from dalenius.core.conditions import Feature, Take
from dalenius.core.domain import DROP, Bounds, Categories, Domain, Lookup, LookupEntry, Variable, day_number
from dalenius.core.neighbours import Neighbours
from dalenius.core.rationals import rational
from dalenius.errors import DocumentError, UnknownName
from dalenius.spec.axis import ConditionPart, condition_filter
from dalenius.spec.document import Category, Name, Part, Text, usual

_CHOICES = (Take.ANY, Take.ALL)
_NO_AND_YES = ("no", "yes")


class LookupPart(Part, section="lookup"):
    """lookup = { … }: a public table in which the values of a column are keys."""

    file: Text = usual("", "CSV with a header, relative to this document; it is read in.")
    key: Name = usual("key", "Column of the file that holds the keys.")
    value: Name = usual("value", "Column of the file that holds what they stand for.")
    valid_from: Name | None = usual(None, "Column of the file: first day of validity.")
    valid_until: Name | None = usual(None, "Column of the file: first day after the validity; empty for ever.")
    at: Name | None = usual(None, "The day as of which keys are looked up, as 2024-12-31.")
    by: Name | None = usual(None, "Column of the data with the day as of which each row is looked up.")
    unmatched: Category = Field(
        description="What a key without a match becomes: a declared category, a number inside the bounds, or drop."
    )
    entries: tuple[tuple[Category, ...], ...] = usual(
        (), "The rows themselves: key, value, first day, first day after."
    )

    @model_validator(mode="after")
    def _is_dated_alike(self) -> Self:
        has_days = bool(self.valid_from or self.valid_until) or any(len(row) > 2 for row in self.entries)
        if has_days != bool(self.at or self.by) or (self.at and self.by):
            raise DocumentError(
                "A lookup with days of validity says as of which day keys are looked up: at (one day for all rows) or "
                "by (a column of days); one without says neither."
            )
        if not self.file and not self.entries:
            raise DocumentError("A lookup needs a file, or its entries.")
        if any(not 2 <= len(row) <= 4 for row in self.entries):
            raise DocumentError("An entry of a lookup is a key, a value, and at will two days.")
        return self

    def lookup(self, domain: Categories | Bounds) -> Lookup:
        """The table, with the rule for keys that it does not hold."""
        if self.file:
            raise DocumentError(f"The lookup {self.file!r} was not read; load the document from its file.")
        if self.unmatched != DROP and isinstance(domain, Categories):
            domain.code(self.unmatched)
        if self.unmatched != DROP and isinstance(domain, Bounds):
            value = rational(self.unmatched, "unmatched")
            if not domain.lower <= value <= domain.upper or (value / domain.step).denominator != 1:
                raise DocumentError(
                    "The number for keys without a match must lie inside the bounds, on the grid of steps."
                )
        entries = [_entry(row) for row in self.entries]
        if self.at is not None:
            day = _day(self.at, "at")
            entries = [
                LookupEntry(key=entry.key, value=entry.value) for entry in entries if entry.first <= day < entry.until
            ]
        return Lookup(entries=tuple(entries), unmatched=self.unmatched, by=self.by or "")


def _entry(row: tuple[str, ...]) -> LookupEntry:
    days = {name: _day(text, "lookup") for name, text in zip(("first", "until"), row[2:], strict=False) if text}
    return LookupEntry(key=row[0], value=row[1], **days)


def _day(text: str, where: str) -> int:
    day = day_number(text)
    if day is None:
        raise DocumentError(f"A day in {where} is written as 2024-12-31; received {text!r:.40}.")
    return day


def record_range(dates: tuple[str, str]) -> Bounds:
    """The days that a record may hold; any other is missing."""
    first, last = (_day(text, "dates") for text in dates)
    if first > last:
        raise DocumentError("dates must be [first, last].")
    return Bounds(lower=Fraction(first), upper=Fraction(last), outside=DROP)


class TableOfRecordsPart(Part, section="[tables.…]"):
    """[tables.X]: a further table of the same persons."""

    source: Text = usual("", "File, relative to this document, or address; of a database the same one.")
    table: Text = usual("", "Table inside a DuckDB file or a database.")
    id: Name | None = usual(None, "Column that names the person, if it has another name.")


class FeaturePart(Part, section="feature"):
    """feature = { … }: what is taken of the rows of a person."""

    take: Literal["any", "all", "min", "max", "count", "sum", "first"]
    of: Name | None = usual(None, "The record that it is taken of; the variable's own name.")
    where: dict[Name, Category | tuple[Category, ...] | ConditionPart] = Field(default_factory=dict)
    by: Name | None = usual(None, "The record of dates that says which row is first.")
    table: Name | None = usual(None, "The further table whose rows are meant.")


def feature_variable(part: Any, name: str, records: Mapping[str, Variable]) -> Variable:
    """A variable whose values are taken of the rows of persons; `part` is its section, and the record's fills it."""
    stated: FeaturePart = part.feature
    take = Take(stated.take)
    if take in (*_CHOICES, Take.COUNT):
        if stated.of is not None:
            raise DocumentError(f"take = {stated.take!r} is of rows: say which by where, and leave of out.")
        if take in _CHOICES and not stated.where:
            raise DocumentError(f"take = {stated.take!r} needs a condition: where = {{ … }}.")
    if stated.by is not None and take is not Take.FIRST:
        raise DocumentError('by belongs to take = "first".')
    of = None if take in (*_CHOICES, Take.COUNT) else _record(stated.of or name, records)
    by = None if stated.by is None else _record(stated.by, records)
    if by is not None and not by.is_date:
        raise DocumentError(f"by names a record of dates; {by.name!r} is none: dates = [first, last].")
    if of is not None and of.is_date:
        raise DocumentError(f"{of.name!r} is a record of dates: it says which row is first, and is not counted.")
    domain = Domain(name="", population="", version="", variables=records, neighbours=Neighbours())
    where = tuple(
        condition_filter(record, condition, domain)
        for record, condition in stated.where.items()
        if _record(record, records)
    )
    feature = Feature(
        take=take,
        of="" if of is None else of.name,
        where=where,
        by="" if by is None else by.name,
        table=_table(stated, [records[f.variable] for f in where] + [r for r in (of, by) if r is not None]),
    )
    declared: Variable = _declared(part, take, of).variable(name)
    return replace(declared, feature=feature)


def _record(name: str, records: Mapping[str, Variable]) -> Variable:
    UnknownName.check("record", name, records)
    return records[name]


def _table(stated: FeaturePart, read: list[Variable]) -> str:
    tables = {record.table for record in read} | ({stated.table} if stated.table else set())
    if len(tables) > 1:
        raise DocumentError("A feature is taken of the rows of one table; its records stand in several.")
    return tables.pop() if tables else ""


def _declared(part: Any, take: Take, of: Variable | None) -> Any:
    """The part without its feature, and with what the feature decides."""
    own: dict[str, Any] = {"feature": None}
    has_own = part.categories is not None or part.bounds is not None
    if take in _CHOICES:
        own |= {} if has_own else {"categories": _NO_AND_YES}
        labels = own.get("categories", part.categories)
        if labels is None or len(labels) != len(_NO_AND_YES):
            raise DocumentError(f"take = {str(take)!r} has two categories, that of no and that of yes.")
        return part.model_copy(update=own)
    if of is None or (take is Take.SUM and part.bounds is None):
        if part.bounds is None:
            raise DocumentError(f"take = {str(take)!r} needs bounds = [lower, upper] for one person.")
        return _with_step(part, own, Fraction(1))
    if isinstance(of.domain, Bounds):
        if part.categories is not None:
            raise DocumentError(f"{of.name!r} is a number, and so is what is taken of it: bounds, not categories.")
        own |= {} if part.bounds is not None else {"bounds": (of.domain.lower, of.domain.upper)}
        return _with_step(part, own, of.domain.step)
    if take is Take.SUM or part.bounds is not None:
        raise DocumentError(f"{of.name!r} has categories; a sum or bounds need a number.")
    labels = of.domain.labels
    if part.categories is not None:
        own_labels = part.categories.values() if isinstance(part.categories, Mapping) else part.categories
        if tuple(own_labels) != labels:
            raise DocumentError(f"The categories are those of the record {of.name!r}: leave them out.")
    return part.model_copy(update=own | {"categories": labels})


def _with_step(part: Any, own: dict[str, Any], step: Fraction) -> Any:
    if part.step is not None and part.step != step:
        raise DocumentError(f"step is that of what is taken: {step}; leave it out.")
    return part.model_copy(update=own | {"step": step})
