"""What DuckDB fetches of columns, by their types and the declaration alone, and how that becomes codes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalenius.core.domain import Domain, Variable
from dalenius.engines._arrow import code_array, code_by_dictionary, code_matched, nulls
from dalenius.engines._columns import Column, IntegerMap, expanded
from dalenius.engines._declared import check_pair
from dalenius.engines._relation import ReadableTable, name_of, text
from dalenius.engines._remark_counts import JudgedColumn, may_be_compared

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "BOOLEAN")
_COMMON = (*INTEGERS, "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "ENUM")
_NESTED = ("STRUCT", "MAP", "UNION", "[", "VARIANT", "GEOMETRY")
_PLAIN_NUMBER = r"[+-]?[0-9]+(\.[0-9]*)?"
_MATCHED_TEXTS = 200


@dataclass(frozen=True, slots=True, eq=False)
class FetchedColumns:
    domain: Domain
    relation: ReadableTable
    types: Mapping[str, str]

    @classmethod
    def of(cls, domain: Domain, relation: ReadableTable, types: Mapping[str, str]) -> "FetchedColumns":
        """Columns as they are fetched: rare types as text, and a key that is looked up as of a day with that day."""
        return cls(domain, relation, types)._without_rare_types()._with_pairs()

    def _without_rare_types(self) -> "FetchedColumns":
        """Dates, very wide integers and the like: some of their values have no counterpart outside the database."""
        rare = [n for n in self.domain.source_columns if not self.types[n].upper().startswith(_COMMON)]
        if not rare:
            return self
        casts = ", ".join(f"CAST({name_of(n)} AS VARCHAR) AS {name_of(n)}" for n in rare)
        return self._as_texts(rare, f"(SELECT * REPLACE ({casts}) FROM {self.relation.sql})")

    def _with_pairs(self) -> "FetchedColumns":
        """A key that is looked up as of a day: both as one text."""
        pairs = {v.source_column: v for v in self.domain.variables.values() if len(v.source_columns) > 1}
        if not pairs:
            return self
        alike = (*INTEGERS, "VARCHAR")
        for variable in pairs.values():
            check_pair(variable, {n: self.types[n] in alike for n in variable.source_columns})
        texts = ", ".join(
            " || chr(31) || ".join(f"{name_of(n)}::VARCHAR" for n in v.source_columns) + f" AS {name_of(column)}"
            for column, v in pairs.items()
        )
        return self._as_texts(pairs, f"(SELECT *, {texts} FROM {self.relation.sql})")

    def _as_texts(self, names: Iterable[str], sql: str) -> "FetchedColumns":
        return replace(
            self, relation=replace(self.relation, sql=sql), types={**self.types, **dict.fromkeys(names, "VARCHAR")}
        )

    @property
    def has_numbered_persons(self) -> bool:
        """Whether persons have numbers by themselves, so that no column of them need be held."""
        kind = self.types[str(self.domain.unit_id)]
        return kind in INTEGERS and kind != "BOOLEAN"

    @property
    def unit(self) -> str:
        """The column that names persons: whole numbers as one type, listed texts as plain text."""
        column, kind = name_of(str(self.domain.unit_id)), self.types[str(self.domain.unit_id)]
        if self.has_numbered_persons:
            return f"{column}::BIGINT"
        return f"{column}::VARCHAR" if kind.startswith("ENUM") else column

    def places(self, variable: Variable) -> int:
        """How many places there are for the values of a column that is fetched as such; 0 for any other."""
        kind = self.types[variable.source_column]
        if kind in INTEGERS and kind != "BOOLEAN":
            integers = IntegerMap.of(variable.categories)
            return 0 if integers is None else len(integers.codes)
        texts = len(variable.categories.texts)
        # The statement names every text, and more than a few hundred are longer to read than groups to fetch.
        is_matched = kind == "VARCHAR" and not self.relation.is_csv and _is_matchable(variable)
        return texts + 2 if is_matched and texts <= _MATCHED_TEXTS else 0

    def _is_small(self, variable: Variable) -> bool:
        categories, kind = variable.categories, self.types[variable.source_column]
        integers = IntegerMap.of(categories) if kind != "BOOLEAN" else None
        return integers is not None and integers.is_small and categories.missing == categories.unseen

    def select(self, names: Sequence[str], further: str) -> str:
        parts = [f"{e} AS v{i}{s}" for i, n in enumerate(names) for e, s in self._expressions(n)]
        return f"SELECT {', '.join([*parts, *([further] if further else [])])} FROM {self.relation.sql}"

    def code(self, names: Sequence[str], batch: Any) -> dict[str, Column]:
        fetched, coded = batch.schema.names, dict[str, Column]()
        for place, name in enumerate(names):
            variable, label = self.domain.variable(name), f"v{place}"
            if f"{label}_matched" in fetched:
                missing = batch.column(f"{label}_missing") if f"{label}_missing" in fetched else None
                coded[name] = code_matched(variable, batch.column(f"{label}_matched"), missing)
                continue
            array = batch.column(label)
            coded[name] = codes = code_array(variable, array)
            if f"{label}_rest" in fetched and array.null_count:
                coded[name] = codes = expanded(codes)
                rest = batch.column(f"{label}_rest").filter(array.is_null())
                codes[nulls(array)] = code_by_dictionary(variable, rest).expand()
        return coded

    def _expressions(self, name: str) -> Iterator[tuple[str, str]]:
        """What is fetched for a variable, with the suffix under which it is fetched."""
        variable = self.domain.variable(name)
        column, kind = name_of(variable.source_column), self.types[variable.source_column]
        if variable.lookup is not None or variable.is_date:
            yield column, ""
        elif not variable.is_numeric:
            # DuckDB moves a cast into the CSV reader, which then skips rows whose text does not fit: not for CSV.
            if kind == "VARCHAR" and not self.relation.is_csv and _is_matchable(variable):
                texts = ", ".join(text(t) for t in variable.categories.texts)
                yield f"TRY_CAST({column} AS ENUM({texts}))", "_matched"
                if variable.categories.missing != variable.categories.unseen:
                    codes = ", ".join(text(t) for t in variable.categories.missing_codes)
                    is_code = f" OR {column} IN ({codes})" if codes else ""
                    yield f"({column} IS NULL{is_code})", "_missing"
            elif kind in INTEGERS and self._is_small(variable):
                # A number that 16 bits do not hold is as little declared as a missing one, and both follow one rule.
                yield f"TRY_CAST({column} AS SMALLINT)", ""
            else:
                yield (f"{column}::BIGINT" if kind in ("UTINYINT", "USMALLINT", "UINTEGER") else column), ""
        elif kind in INTEGERS:
            yield f"{column}::BIGINT", ""
        elif kind in ("FLOAT", "DOUBLE"):
            yield f"{column}::DOUBLE", ""
        elif kind == "VARCHAR":
            # A decimal of at most 15 digits is the decimal that its double prints as; the rest is read as text.
            is_plain = f"length({column}) <= 15 AND regexp_full_match({column}, {text(_PLAIN_NUMBER)})"
            fast = f"CASE WHEN {is_plain} THEN TRY_CAST({column} AS DOUBLE) END"
            yield fast, ""
            yield f"CASE WHEN {fast} IS NULL THEN {column} END", "_rest"
        else:
            yield column, ""

    def judged(self, variable: Variable) -> JudgedColumn:
        """What the database may judge of a column by itself, and what is left."""
        column, kind = name_of(variable.source_column), self.types[variable.source_column]
        if not may_be_compared(variable) or variable.lookup is not None or variable.is_date:
            return JudgedColumn(variable=variable, rest=column)
        if kind in INTEGERS:
            return JudgedColumn(variable=variable, number=f"{column}::BIGINT")
        if kind in ("FLOAT", "DOUBLE"):
            return JudgedColumn(variable=variable, number=f"{column}::DOUBLE", is_float=True)
        if kind != "VARCHAR":
            return JudgedColumn(variable=variable, rest=column)
        (fast, _), (rest, _) = self._expressions(variable.name)
        return JudgedColumn(variable=variable, number=fast, is_float=True, rest=rest)


def is_nested(kind: str) -> bool:
    return any(mark in kind.upper().split("(")[0] for mark in _NESTED)


def is_text(kind: str) -> bool:
    return kind == "VARCHAR" or kind.startswith("ENUM")


def _is_matchable(variable: Variable) -> bool:
    """Whether the database may match the declared texts itself."""
    texts = (*variable.categories.texts, *variable.categories.missing_codes)
    return not any("\0" in t or not t.isprintable() for t in texts)
