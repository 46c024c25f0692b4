"""Features of persons: functions of the multiset of a person's coded rows, one by one and for whole columns.

`feature_code` is the definition, in plain integers; `person_columns` is the same over columns, for engines that read
fast. The order of rows plays no part: what is first is decided by days and codes alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.conditions import Feature, Filter, Take
from dalenius.core.domain import DROP, Bounds, Domain, Variable
from dalenius.core.law import IntArray
from dalenius.engines._arrow import filled
from dalenius.engines._declared import row_report
from dalenius.engines._people import People
from dalenius.engines._tally import passes
from dalenius.spec.coding import DROPPED_CATEGORY, DROPPED_NUMBER, dropped_code, is_dropped

Codes = Mapping[str, int]
# After every day.
NEVER = _AFTER_ALL = 2**62
_HALF = 26


def feature_code(domain: Domain, variable: Variable, rows: Sequence[Codes]) -> int:
    """The code of a feature of one person, from the codes of the person's rows in the table that it is taken of."""
    feature = variable.feature
    assert feature is not None  # The callers' variables are features.
    conditions = [(f, domain.records[f.variable]) for f in feature.where]
    passing = [row for row in rows if all(code_passes(f, record, row[f.variable]) for f, record in conditions)]
    if feature.take is Take.ANY:
        return int(bool(passing))
    if feature.take is Take.ALL:
        return int(len(passing) == len(rows) > 0)
    if feature.take is Take.COUNT:
        return _clamped(variable, len(passing))
    record = domain.records[feature.of]
    present = [row for row in passing if not is_dropped(record, row[feature.of])]
    codes = [row[feature.of] for row in present]
    if feature.take is Take.SUM:
        return _clamped(variable, sum(codes))
    if not codes:
        return missing_code(variable)
    if feature.take is Take.FIRST:
        code = min((_day(feature, row), row[feature.of]) for row in present)[1]
    else:
        code = min(codes) if feature.take is Take.MINIMUM else max(codes)
    return _clamped(variable, code)


def _day(feature: Feature, row: Codes) -> int:
    if not feature.by:
        return 0
    return NEVER if row[feature.by] == DROPPED_NUMBER else row[feature.by]


def code_passes(condition: Filter, variable: Variable, code: int) -> bool:
    if is_dropped(variable, code):
        return False
    if not variable.is_numeric:
        return code in condition.codes
    is_low = condition.low is not None and code < condition.low
    return not (is_low or (condition.high is not None and code > condition.high))


def _clamped(variable: Variable, code: int) -> int:
    if isinstance(variable.domain, Bounds):
        return max(variable.domain.low, min(variable.domain.high, code))
    return code


def missing_code(variable: Variable) -> int:
    """What a person becomes whose rows do not tell."""
    declared = variable.domain
    if isinstance(declared, Bounds):
        return DROPPED_NUMBER if declared.missing_code is None else declared.missing_code
    return DROPPED_CATEGORY if declared.missing == DROP else declared.code(declared.missing)


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfPersons:
    columns: Mapping[str, NDArray[Any]]
    people: People


def person_columns(domain: Domain, tables: Mapping[str, RowsOfPersons]) -> dict[str, IntArray]:
    """The codes of every feature, one place for each person who has a row in the own table."""
    own = _PersonsOfTable(tables[""])
    columns: dict[str, IntArray] = {}
    for name in ("", *domain.tables):
        grouped = own if not name else _PersonsOfTable(tables[name])
        places = None if not name else _matched(own, grouped)
        for variable in domain.variables.values():
            if variable.feature is None or variable.feature.table != name:
                continue
            codes = grouped.feature(domain, variable)
            if places is not None:
                nobody = feature_code(domain, variable, ())
                codes = np.where(places < 0, nobody, np.append(codes, nobody)[places])
            columns[variable.name] = codes.astype(np.int64)
    return {name: columns[name] for name in domain.variables}


class _PersonsOfTable:
    def __init__(self, rows: RowsOfPersons) -> None:
        self._rows, people = rows, rows.people
        present = slice(None) if people.present is None else np.flatnonzero(people.present)
        numbers = people.numbers[present]
        order = np.argsort(numbers, kind="stable")
        self._order = order if people.present is None else np.flatnonzero(people.present)[order]
        numbers = numbers[order]
        is_new = np.append(np.full(min(1, len(numbers)), True), numbers[1:] != numbers[:-1])
        self._starts = np.flatnonzero(is_new)
        self._owner = np.cumsum(is_new) - 1
        self.numbers = numbers[self._starts]

    def texts(self) -> Any:
        return self._rows.people.texts(self.numbers)

    def _codes(self, name: str) -> IntArray:
        return self._rows.columns[name][self._order].astype(np.int64)

    def feature(self, domain: Domain, variable: Variable) -> IntArray:
        feature = variable.feature
        assert feature is not None  # The callers' variables are features.
        mask = np.ones(len(self._order), dtype=bool)
        for condition in feature.where:
            mask &= passes(condition, domain.records[condition.variable], self._codes(condition.variable))
        if not len(self._starts):
            return np.empty(0, dtype=np.int64)
        if feature.take in (Take.ANY, Take.ALL):
            whether = np.logical_or if feature.take is Take.ANY else np.logical_and
            return whether.reduceat(mask, self._starts).astype(np.int64)
        if feature.take is Take.COUNT:
            return _within(variable, np.add.reduceat(mask.astype(np.int64), self._starts))
        record, codes = domain.records[feature.of], self._codes(feature.of)
        mask &= codes != dropped_code(record)
        if feature.take is Take.SUM:
            return self._sum(variable, np.where(mask, codes, 0))
        has_one = np.logical_or.reduceat(mask, self._starts)
        if feature.take is Take.FIRST:
            days = self._codes(feature.by) if feature.by else np.zeros(len(codes), dtype=np.int64)
            taken = self._first(mask, np.where(days == DROPPED_NUMBER, _AFTER_ALL, days), codes)
        elif feature.take is Take.MINIMUM:
            taken = np.minimum.reduceat(np.where(mask, codes, NEVER), self._starts)
        else:
            taken = np.maximum.reduceat(np.where(mask, codes, -NEVER), self._starts)
        return np.where(has_one, _within(variable, taken), missing_code(variable))

    def _first(self, mask: NDArray[np.bool_], days: IntArray, codes: IntArray) -> IntArray:
        """The code of the first row of each person; whatever it is where nobody passed."""
        earliest = np.minimum.reduceat(np.where(mask, days, NEVER + 1), self._starts)
        is_first = mask & (days == earliest[self._owner])
        return np.minimum.reduceat(np.where(is_first, codes, NEVER), self._starts)

    def _sum(self, variable: Variable, codes: IntArray) -> IntArray:
        """Sums in two halves, so that no number of rows below 2^36 leaves 64 bits; then clamped."""
        bounds = variable.bounds
        low = np.add.reduceat(codes & (2**_HALF - 1), self._starts)
        high = np.add.reduceat(codes >> _HALF, self._starts) + (low >> _HALF)
        edge = 2 ** (53 - _HALF)
        inside = np.clip(high, -edge, edge)
        total = (inside << _HALF) + (low & (2**_HALF - 1))
        clamped: IntArray = np.clip(total, bounds.low, bounds.high)
        return clamped


def _within(variable: Variable, codes: IntArray) -> IntArray:
    if isinstance(variable.domain, Bounds):
        return np.clip(codes, variable.domain.low, variable.domain.high)
    return codes


def _matched(own: _PersonsOfTable, other: _PersonsOfTable) -> IntArray:
    """For each person of the own table the place in the other one; -1 for none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    own_texts, other_texts = (texts.cast(pa.large_string()) for texts in (own.texts(), other.texts()))
    return filled(pc.index_in(own_texts, value_set=other_texts), -1).astype(np.int64)


def report_of_persons(
    tables: Mapping[str, Mapping[str, Any]], domain: Domain, in_structural_zeros: int
) -> dict[str, Any]:
    """The custodian's report on persons: sizes of the own table, and odd values of every record they are made of."""
    own, skipped = tables[""], sum(table["rows_skipped"] for table in tables.values())
    units, without = own["units"], own["rows_without_unit"]
    odd = {name: tables[record.table]["variables"][name] for name, record in domain.records.items()}
    counts = {"kept": units, "units": units, "without": without, "over": 0, "skipped": skipped}
    return row_report(own["rows"], **counts, zeros=in_structural_zeros, odd=odd)
