"""How many values of a declared column are odd, counted by the database where it can, at registration.

A number is outside its bounds exactly where it is beyond the last integer, or the last float, that is inside: the
decimals that floats print as come in the order of the floats. What the database does not decide is read value by value,
each distinct one once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import Any

from dalenius.core.domain import Bounds, Variable
from dalenius.spec.coding import Remark, reader

_WIDEST = 32
_LARGEST = 2**62

Stream = Callable[[str], Iterator[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedColumn:
    """A variable, the number that the database reads in its column ("" if none), and what is left to the reader."""

    variable: Variable
    number: str = ""
    is_float: bool = False
    rest: str = ""

    @property
    def conditions(self) -> tuple[str, str]:
        """Where the number is missing, and where it is outside the bounds."""
        c, bounds = self.number, self.variable.bounds
        if self.is_float:
            (lowest, highest), codes = _float_ends(bounds), _float_codes(bounds)
        else:
            lowest, highest = f"{ceil(bounds.lower)}::BIGINT", f"{floor(bounds.upper)}::BIGINT"
            codes = [f"{int(code)}::BIGINT" for code in bounds.missing_codes if code.denominator == 1]
        beyond = f"({c} < {lowest} OR {c} > {highest})"
        is_code = f"coalesce({c} IN ({', '.join(codes)}), false)" if codes else "false"
        if self.is_float:
            is_odd = f"({c} IS NOT NULL AND isnan({c}))"
            return f"({is_odd} OR {is_code})", f"({c} IS NOT NULL AND NOT {is_odd} AND {beyond} AND NOT {is_code})"
        return is_code, f"({beyond} AND NOT {is_code})"


def may_be_compared(variable: Variable) -> bool:
    """Whether the bounds of a variable are numbers of the database."""
    return variable.is_numeric and max(abs(variable.bounds.lower), abs(variable.bounds.upper)) < _LARGEST


def remark_counts(
    columns: Sequence[JudgedColumn], relation: str, stream: Stream, *, is_one_pass: bool
) -> dict[str, dict[str, int]]:
    """Remarks and their numbers for each variable; in one pass over all columns where a pass is what costs."""
    counts = {c.variable.name: {str(note): 0 for note in Remark} for c in columns}
    numbers = [c for c in columns if c.number]
    decided = _count_numbers(numbers, relation, stream, counts)
    rests = [c for c in columns if c.rest]
    width = _WIDEST if is_one_pass else 1
    for start in range(0, len(rests), width):
        _count_rests(rests[start : start + width], relation, stream, counts, decided)
    return counts


def _count_numbers(
    columns: Sequence[JudgedColumn], relation: str, stream: Stream, counts: dict[str, dict[str, int]]
) -> dict[str, int]:
    """Count what the database decides; returns for each variable how many values that were."""
    if not columns:
        return {}
    parts = []
    for i, column in enumerate(columns):
        missing, outside = column.conditions
        whole = f"count({column.number})" if column.rest else "count(*)"
        parts.append(f"{whole} AS n{i}, count({column.number}) AS c{i}")
        parts.append(f"count(*) FILTER (WHERE {missing}) AS m{i}, count(*) FILTER (WHERE {outside}) AS o{i}")
    decided = {}
    for batch in stream(f"SELECT {', '.join(parts)} FROM {relation}"):
        row = batch.to_pylist()[0]
        for i, column in enumerate(columns):
            own = counts[column.variable.name]
            empty = row[f"n{i}"] - row[f"c{i}"]
            own[Remark.MISSING] += empty + row[f"m{i}"]
            own[Remark.OUTSIDE] += row[f"o{i}"]
            own[Remark.VALID] += row[f"c{i}"] - row[f"m{i}"] - row[f"o{i}"]
            decided[column.variable.name] = row[f"n{i}"]
    return decided


def _count_rests(
    columns: Sequence[JudgedColumn],
    relation: str,
    stream: Stream,
    counts: dict[str, dict[str, int]],
    decided: dict[str, int],
) -> None:
    """Read each distinct value that is left; what the database decided stands in the group of NULL."""
    names = [f"v{i}" for i in range(len(columns))]
    chosen = ", ".join(f"{c.rest} AS {name}" for c, name in zip(columns, names, strict=True))
    sets = ", ".join(f"({name})" for name in names)
    statement = (
        f"SELECT GROUPING({', '.join(names)}) AS g, {', '.join(names)}, count(*) AS n"
        f" FROM (SELECT {chosen} FROM {relation}) GROUP BY GROUPING SETS ({sets})"
    )
    read = [reader(c.variable) for c in columns]
    for c in columns:
        counts[c.variable.name][Remark.MISSING] -= decided.get(c.variable.name, 0)
    for batch in stream(statement):
        groups, sizes = batch.column("g").to_pylist(), batch.column("n").to_pylist()
        values = [batch.column(name).to_pylist() for name in names]
        every = (1 << len(names)) - 1
        for row, (group, size) in enumerate(zip(groups, sizes, strict=True)):
            place = len(names) - (every - group).bit_length()
            counts[columns[place].variable.name][read[place](values[place][row])[1]] += size


def _float_ends(bounds: Bounds) -> tuple[str, str]:
    """First and last float that prints as a decimal inside."""
    lowest, highest = float(bounds.lower), float(bounds.upper)
    while Fraction(repr(lowest)) >= bounds.lower:
        lowest = nextafter(lowest, -inf)
    while Fraction(repr(highest)) <= bounds.upper:
        highest = nextafter(highest, inf)
    return f"'{nextafter(lowest, inf)!r}'::DOUBLE", f"'{nextafter(highest, -inf)!r}'::DOUBLE"


def _float_codes(bounds: Bounds) -> list[str]:
    """The float that prints as each code; a code that none prints as has none."""
    floats = [float(code) for code in bounds.missing_codes if Fraction(repr(float(code))) == code]
    return [f"'{code!r}'::DOUBLE" for code in floats]
