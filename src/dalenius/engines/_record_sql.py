"""Declared codes, and what is made of them, as a database works them out.

An expression is NULL where the database cannot decide beyond doubt; the reader of all engines then decides.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import isnan
from typing import Any

from dalenius.core.conditions import Filter
from dalenius.core.domain import Domain, Variable
from dalenius.core.query import LIMIT, Power, TableQuery
from dalenius.engines._number_sql import Dialect, double, number
from dalenius.spec.coding import DROPPED_NUMBER, canonical_text, exact_number, reader

# A statement with more texts than this takes longer to plan than to fetch the rows.
_MOST_TEXTS = 4096


def code_sql(pushed: Any, variable: Variable) -> tuple[str, bool]:
    """The code of a variable in terms of what `_coded` names, NULL where it is in doubt, and whether it can be."""
    place = pushed._place(variable.name)
    if variable.is_numeric:
        return f"c{place}", pushed._may_be_undecided(variable.name)
    column, kind = f"k{place}", pushed.column(variable)[1]
    sort, read = pushed.dialect.sort(kind), reader(variable)
    missing = f"WHEN {pushed.dialect.is_missing(column, kind)} THEN {read(None)[0]}"
    texts: tuple[str, ...] = variable.lookup.keys if variable.lookup is not None else ()
    if variable.lookup is None:
        texts = (*variable.categories.texts, *variable.categories.missing_codes)
    is_pair = len(variable.source_columns) > 1
    if sort == "other" or is_pair or len(texts) > _MOST_TEXTS:
        return f"CAST(CASE {missing} END AS BIGINT)", True
    rest = read("\0no text of a database")[0]
    values = {text: _literal(pushed.dialect, text, sort) for text in texts}
    codes = {text: read(text)[0] for text, value in values.items() if value is not None}
    cases = _runs(column, codes) if sort == "whole" else []
    by_code: dict[int, list[str]] = {}
    for text, code in codes.items():
        by_code.setdefault(code, []).append(str(values[text]))
    if not cases or len(cases) >= len(by_code):
        others = ((code, ", ".join(listed)) for code, listed in by_code.items() if code != rest)
        cases = [f"WHEN {column} IN ({listed}) THEN {code}" for code, listed in others]
    return f"CAST(CASE {missing} {' '.join(cases)} ELSE {rest} END AS BIGINT)", False


def _runs(column: str, codes: Mapping[str, int]) -> list[str]:
    """A case for each run of whole numbers with codes in a row: most often one, where many keep a database busy.

    What is reckoned stays within the run, so that it cannot overflow, whether its case is taken or not.
    """
    return [
        f"WHEN {column} BETWEEN {number(first)} AND {number(last)} THEN {_shifted(column, first, last, shift)}"
        for first, last, shift in shifted_runs((int(text), code) for text, code in codes.items())
    ]


def shifted_runs(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """First and last number of each run whose partners follow one another too, and by how much those are larger.

    >>> shifted_runs([(4, 0), (3, 9), (5, 1)])
    [(3, 3, 6), (4, 5, -4)]
    """
    runs: list[tuple[int, int, int]] = []
    for value, partner in sorted(pairs):
        if runs and runs[-1][1:] == (value - 1, partner - value):
            runs[-1] = (runs[-1][0], value, partner - value)
        else:
            runs.append((value, value, partner - value))
    return runs


def _shifted(column: str, first: int, last: int, shift: int) -> str:
    if first == last:
        return str(first + shift)
    distance = f"least(greatest({column}, {number(first)}), {number(last)}) - {number(first)}"
    return f"{distance} + {first + shift}"


def _literal(dialect: Dialect, text: str, sort: str) -> str | None:
    """A declared text as a value of the column; None if no value prints so."""
    if sort == "truth":
        return text if text in ("true", "false") else None
    if sort == "whole":
        is_whole = text.lstrip("-").isdecimal() and text.isascii() and len(text) < 20
        is_whole = is_whole and str(int(text)) == text and -(2**63) <= int(text) < 2**63
        return number(int(text)) if is_whole else None
    if sort == "real":
        # Different doubles print differently, so that a declared text is that of one double, or of none.
        value = exact_number(text)
        real = None if value is None or isnan(value) else _as_double(value)
        return double(dialect, real) if real is not None and canonical_text(real) == text else None
    return None if "\0" in text else dialect.literal(text)


def _as_double(value: Fraction | float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def passes_sql(variable: Variable, value: str, condition: Filter) -> str:
    if not variable.is_numeric:
        return f"{value} IN ({', '.join(map(str, condition.codes)) or 'NULL'})"
    parts = [f"{value} <> {number(DROPPED_NUMBER)}"]
    parts += [] if condition.low is None else [f"{value} >= {number(condition.low)}"]
    parts += [] if condition.high is None else [f"{value} <= {number(condition.high)}"]
    return " AND ".join(parts)


def row_sql(dialect: Dialect, query: TableQuery, domain: Domain, codes: Mapping[str, str]) -> str:
    """What a row adds, from the codes of its variables; NULL where one is dropped or in doubt.

    Whole numbers of 64 bits, unless a product of powers may reach 2^62.
    """
    function, is_wide = query.function, query.largest(domain) >= LIMIT
    terms = [] if function.multiple == 1 else [number(function.multiple)]
    for power in function.powers:
        terms += [_base_sql(dialect, power, codes[power.variable])] * power.exponent
    terms = terms or [number(1)]
    if is_wide:
        terms[0] = dialect.wide(terms[0])
    added = " * ".join(terms)
    if query.shift:
        added += " - " + (dialect.wide(f"'{query.shift}'") if is_wide else number(query.shift))
    present = [f"{codes[n]} IS NOT NULL AND {codes[n]} <> {number(DROPPED_NUMBER)}" for n in function.variables]
    return f"CASE WHEN {' AND '.join(present)} THEN {added} END" if present else added


def _base_sql(dialect: Dialect, power: Power, code: str) -> str:
    if power.cut is not None:
        code = f"least(greatest({code}, {number(power.cut[0])}), {number(power.cut[1])})"
    if power.slope != 1:
        code = f"{code} * {number(power.slope)}"
    code = f"({code} + {number(power.offset + (1 << power.halvings) // 2)})"
    return dialect.halved(code, power.halvings) if power.halvings else code
