"""What the data may hold, as declared by the custodian: variables, categories, bounds, hierarchies, cells.

Nothing here is ever read from confidential rows. A table's cells come from declared categories, so that an empty
cell is a cell like any other; only a declared structural zero is not perturbed.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from dalenius.core.cells import Axis, CellSpace
from dalenius.core.conditions import Feature
from dalenius.core.estimate import Draws
from dalenius.core.neighbours import Neighbours
from dalenius.errors import DocumentError, ParameterError, TooLarge, UnknownName

__all__ = ["BETWEEN", "DROP", "Axis", "Bounds", "Categories", "CellSpace", "Domain", "Hierarchy", "Lookup"]
__all__ += ["LookupEntry", "Variable", "day_number"]

# Between the key and the day, in the text of a value that is looked up by both; no declared name can hold it.
BETWEEN = "\x1f"
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T].*)?", re.DOTALL)
_DIGITS = re.compile(r"[0-9]{8}")
_FIRST_DAY, _LAST_DAY = 0, 10**8
DROP = "drop"


@dataclass(frozen=True, kw_only=True)
class Categories:
    """Declared categories in declared order.

    `missing` and `unseen` say what becomes of NULLs and of values that were not declared: a declared category,
    or "drop". `values` says what the file holds for each label, where that is not the label itself. A value among
    `missing_codes` is read as NULL is.
    """

    labels: tuple[str, ...]
    missing: str = DROP
    unseen: str = DROP
    values: tuple[str, ...] = ()
    missing_codes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.labels:
            raise DocumentError("A list of categories must not be empty.")
        if self.values and len(self.values) != len(self.labels):
            raise DocumentError("A code list must give one label to each code.")
        for texts in (self.labels, self.values):
            for text, times in Counter(texts).items():
                if times > 1:
                    raise DocumentError(f"The category {text!r} is declared twice.", received=text)
        for code, label in enumerate(self.labels):
            if self._codes[label] != code:
                raise DocumentError(f"{label!r} is the code of one category and the label of another.")
        for rule in (self.missing, self.unseen):
            if rule != DROP:
                self.code(rule)
        _check_different(self.missing_codes)
        for text in self.missing_codes:
            if text in self.texts:
                raise DocumentError(
                    f"`missing_codes` names {text!r}, which is a category. Leave it out of one of them.", received=text
                )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def texts(self) -> tuple[str, ...]:
        """What the file holds for each label."""
        return self.values or self.labels

    @cached_property
    def _codes(self) -> Mapping[str, int]:
        """Positions of all values and labels; no value is the label of another category."""
        return {text: code for texts in (self.labels, self.values) for code, text in enumerate(texts)}

    def code(self, label: str) -> int:
        """Position of a declared label, or of the value that stands for it in the file."""
        code = self._codes.get(label)
        if code is not None:
            return code
        raise UnknownName.among("category", label, self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Declared range of a numeric variable, on a declared grid.

    A value x is read as the integer round-half-even(x / step), after clamping (or dropping) what lies outside.
    `missing` is "drop" or a number inside the bounds. A value among `missing_codes`, inside the bounds or not, is read
    as NULL is.
    """

    lower: Fraction
    upper: Fraction
    step: Fraction = Fraction(1)
    missing: str = DROP
    outside: str = "clamp"
    missing_codes: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise ParameterError(f"step must be positive; received {self.step}.")
        if self.lower > self.upper:
            raise ParameterError(f"bounds must be [lower, upper]; received [{self.lower}, {self.upper}].")
        if (self.lower / self.step).denominator != 1 or (self.upper / self.step).denominator != 1:
            raise ParameterError("bounds must be whole multiples of step")
        if max(abs(self.lower), abs(self.upper)) / self.step > 2**52:
            raise TooLarge("bounds divided by step must stay below 2^52")
        if self.outside not in ("clamp", DROP):
            raise DocumentError(f"outside must be 'clamp' or 'drop'; received {self.outside!r}.")
        if self.missing != DROP:
            value = Fraction(self.missing)
            if not self.lower <= value <= self.upper:
                raise ParameterError("the value for missing must lie inside the bounds")
        _check_different(self.missing_codes)
        if any(abs(code) > 2**52 for code in self.missing_codes):
            raise TooLarge("`missing_codes` of a number must stay below 2^52.")

    @property
    def low(self) -> int:
        return int(self.lower / self.step)

    @property
    def high(self) -> int:
        return int(self.upper / self.step)

    @property
    def keeps_every_value(self) -> bool:
        """Whether a value that is missing or outside becomes one inside the bounds."""
        return self.missing != DROP and self.outside == "clamp"

    @property
    def missing_code(self) -> int | None:
        """What a missing value becomes, in steps; None if it is dropped."""
        return None if self.missing == DROP else round(Fraction(self.missing) / self.step)


def _check_different(codes: tuple[object, ...]) -> None:
    if len(set(codes)) < len(codes):
        raise DocumentError("`missing_codes` names a code twice.")


def day_number(text: str) -> int | None:
    """A day as the number of its digits, which come in the order of time; None for what is no day.

    >>> day_number("2024-02-29"), day_number("20240229"), day_number("2024-02-29 12:00:00"), day_number("soon")
    (20240229, 20240229, 20240229, None)
    """
    match = _DAY.fullmatch(text)
    if match:
        return int("".join(match.groups()))
    return int(text) if _DIGITS.fullmatch(text) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupEntry:
    """One row of the table: what a key stands for, from a day on (itself included) until another (left out)."""

    key: str
    value: str
    first: int = _FIRST_DAY
    until: int = _LAST_DAY


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """Values by key, and by the day in the column `by` where there is one; `unmatched` is what other keys become."""

    entries: tuple[LookupEntry, ...]
    unmatched: str
    by: str = ""

    def __post_init__(self) -> None:
        for key, entries in self._by_key.items():
            ends = sorted((entry.first, entry.until) for entry in entries)
            is_empty = any(first >= until for first, until in ends)
            if is_empty or any(later[0] < earlier[1] for earlier, later in pairwise(ends)):
                raise DocumentError(
                    f"The lookup names the key {key!r} twice for one day, or for no day at all.", received=key
                )

    @cached_property
    def _by_key(self) -> Mapping[str, list[LookupEntry]]:
        by_key: dict[str, list[LookupEntry]] = {}
        for entry in self.entries:
            by_key.setdefault(entry.key, []).append(entry)
        return by_key

    def value(self, text: str) -> str | None:
        """What a text stands for: a key, or a key and a day; None without a match."""
        key, _, rest = text.rpartition(BETWEEN) if self.by else (text, "", "")
        day = day_number(rest) if self.by else _FIRST_DAY
        for entry in self._by_key.get(key, ()):
            if day is not None and entry.first <= day < entry.until:
                return entry.value
        return None

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._by_key)

    def to_dict(self) -> dict[str, object]:
        entries = [[e.key, e.value, e.first, e.until] for e in self.entries]
        return {"entries": entries, "unmatched": self.unmatched, "by": self.by}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy:
    """A declared grouping: each category belongs to exactly one group of each level."""

    level: str
    groups: tuple[str, ...]
    parent: tuple[int, ...]

    @classmethod
    def of(cls, level: str, groups: Mapping[str, tuple[str, ...]], categories: Categories) -> "Hierarchy":
        """From a mapping of group to member categories, which must cover every category once."""
        parent = [-1] * len(categories)
        for index, (group, members) in enumerate(groups.items()):
            for member in members:
                code = categories.code(member)
                if parent[code] != -1:
                    raise DocumentError(f"{member!r} is in two groups of {level!r}; {group!r} is the second.")
                parent[code] = index
        if -1 in parent:
            lost = categories.labels[parent.index(-1)]
            raise DocumentError(f"The level {level!r} does not say where {lost!r} belongs.")
        return cls(level=level, groups=tuple(groups), parent=tuple(parent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One column, categorical or numeric; `public_source` says where everybody can read everybody's value, if they can.

    Of an unlisted variable, texts that are not declared may be released by private selection. With a `lookup` the
    column holds keys of a public table, and with a `feature` there is no column: the value is taken of the rows of a
    person. A date (only a record can be one) is the number of its digits. `table` is the further table that a record
    stands in.
    """

    name: str
    domain: Categories | Bounds
    label: str = ""
    column: str = ""
    unit: str = ""
    hierarchies: tuple[Hierarchy, ...] = ()
    is_confirmed: bool = True
    is_sensitive: bool = False
    is_weight: bool = False
    public_source: str = ""
    is_unlisted: bool = False
    lookup: Lookup | None = None
    feature: Feature | None = None
    is_date: bool = False
    table: str = ""

    @property
    def is_numeric(self) -> bool:
        return isinstance(self.domain, Bounds)

    @property
    def may_drop(self) -> bool:
        """Whether a record can lack a declared value."""
        declared = self.domain
        if self.lookup is not None and self.lookup.unmatched == DROP:
            return True
        other = declared.outside if isinstance(declared, Bounds) else declared.unseen
        return DROP in (declared.missing, other)

    @property
    def categories(self) -> Categories:
        """Its categories, or a refusal for a numeric variable."""
        if isinstance(self.domain, Bounds):
            raise ParameterError(f"{self.name!r} is numeric; give cuts to use it as a classification.")
        return self.domain

    @property
    def bounds(self) -> Bounds:
        """Its bounds, or a refusal for a categorical variable."""
        if isinstance(self.domain, Categories):
            raise ParameterError(f"{self.name!r} has categories; a total or mean needs a numeric variable.")
        return self.domain

    @property
    def source_column(self) -> str:
        """Name of the column in the file; of a key and a day together the name under which engines keep both."""
        return BETWEEN.join(self.source_columns)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """Names of the columns in the file: one, or a key and the day at which it is looked up."""
        by = self.lookup.by if self.lookup is not None else ""
        return (self.column or self.name, by) if by else (self.column or self.name,)

    def shows_every_value(self, axis: Axis) -> bool:
        """Whether every declared value of this variable stands under a label of an axis."""
        if axis.has_rest or not isinstance(self.domain, Bounds):
            return axis.has_rest or axis.is_complete
        return bool(axis.cuts) and axis.cuts[0] <= self.domain.low and self.domain.high < axis.cuts[-1]

    def keeps_every_row(self, axis: Axis) -> bool:
        """Whether no row can fall outside an axis of this variable: no value is left out, and none is dropped."""
        return axis.has_rest or (self.shows_every_value(axis) and not self.may_drop)

    def as_codes(self) -> "Variable":
        """The same variable, in a column that holds its codes, and nothing where it is dropped."""
        declared = self.domain
        if isinstance(declared, Bounds):
            coded: Categories | Bounds = Bounds(lower=Fraction(declared.low), upper=Fraction(declared.high))
        else:
            coded = Categories(labels=tuple(map(str, range(len(declared)))))
        return replace(self, domain=coded, column=self.name, hierarchies=(), lookup=None, feature=None)

    def hierarchy(self, level: str) -> Hierarchy:
        for candidate in self.hierarchies:
            if candidate.level == level:
                return candidate
        raise UnknownName.among(f"level of {self.name!r}", level, [h.level for h in self.hierarchies])


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Everything declared about a data set that the planner may know.

    Where variables are features, a person is one row, made of the `records`: columns of the rows of persons, in the
    data set's own table or in further `tables`, of which the column that names the person is given. Whoever has a row
    in the own table counts.
    """

    name: str
    population: str
    version: str
    variables: Mapping[str, Variable]
    neighbours: Neighbours
    unit_id: str | None = None
    public_size: int | None = None
    is_public: bool = False
    structural_zeros: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    records: Mapping[str, Variable] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)
    overlaps: tuple[str, ...] = ()
    draws: Draws = Draws.UNSTATED

    @property
    def has_features(self) -> bool:
        """Whether a person is one row that is made of the person's rows."""
        return any(variable.feature is not None for variable in self.variables.values())

    def without_derivation(self) -> "Domain":
        """The same declaration over columns that hold what is declared: no features and no keys to look up."""
        if self.has_features:
            return self.table_of_persons()
        return replace(self, variables={n: replace(v, lookup=None) for n, v in self.variables.items()})

    @property
    def source_columns(self) -> tuple[str, ...]:
        """Names of all columns of the own table that are read."""
        columns = [name for v in self.variables.values() if v.feature is None for name in v.source_columns]
        columns += [self.unit_id] if self.unit_id is not None else []
        return tuple(dict.fromkeys(columns))

    def table_of_records(self, table: str = "") -> "Domain":
        """The rows of persons in one table as a data set of their own, with every row of a person."""
        records = {name: record for name, record in self.records.items() if record.table == table}
        own = self.unit_id if not table else self.tables[table]
        return replace(self, variables=records, unit_id=own, records={}, tables={}, structural_zeros=())

    def table_of_persons(self) -> "Domain":
        """The same persons as rows of codes: numbers are whole, and what stands for a category is its place."""

        def codes(name: str, labels: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(str(self.variable(name).categories.code(label)) for label in labels)

        zeros = tuple({name: codes(name, labels) for name, labels in zero.items()} for zero in self.structural_zeros)
        variables = {name: variable.as_codes() for name, variable in self.variables.items()}
        return replace(self, variables=variables, unit_id=None, records={}, tables={}, structural_zeros=zeros)

    @property
    def public_attributes(self) -> tuple[str, ...]:
        return tuple(name for name, variable in self.variables.items() if variable.public_source)

    @property
    def weights(self) -> tuple[str, ...]:
        return tuple(name for name, variable in self.variables.items() if variable.is_weight)

    def variable(self, name: str) -> Variable:
        """A declared variable, or a refusal that names the nearest."""
        try:
            return self.variables[name]
        except KeyError:
            raise UnknownName.among("variable", name, self.variables) from None

    def sensitive(self, used: Iterable[str], capped: Container[str] = ()) -> tuple[str, ...]:
        """Names of variables and records, marked as sensitive or listed in `capped`, whose values some variables hold.

        A mark on a column follows its values: into features, their conditions, lookups and other variables of the same
        column.
        """
        names = set(used)
        read = {column for name in names for column in self._columns(self.variable(name))}
        declared = [*self.records.items(), *((n, v) for n, v in self.variables.items() if v.feature is None)]
        marked = {n for n, v in declared if (v.is_sensitive or n in capped) and self._columns(v) & read}
        return tuple(sorted(marked | {n for n in names if self.variable(n).is_sensitive or n in capped}))

    def _columns(self, variable: Variable) -> frozenset[tuple[str, str]]:
        """Columns that a variable is read from, each with the further table that it stands in."""
        if variable.feature is None:
            return frozenset((variable.table, column) for column in variable.source_columns)
        return frozenset().union(*(self._columns(self.records[name]) for name in variable.feature.used))
