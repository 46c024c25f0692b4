"""Persons made of their rows where the data are: the database takes the features, and sends back cells of persons.

Records are read as codes by the statement where that is beyond doubt. Persons of whom some value is in doubt are
fetched with their rows and made here, by the code that defines features for every engine; statements depend on the
declaration and on the types of columns alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dalenius.core.conditions import Take
from dalenius.core.domain import Bounds, Domain, Variable
from dalenius.engines._features import NEVER, feature_code, missing_code, person_columns, report_of_persons
from dalenius.engines._number_sql import Dialect, number
from dalenius.engines._pushdown import Batch, Pushdown, Run
from dalenius.engines._record_sql import code_sql, passes_sql
from dalenius.errors import DocumentError
from dalenius.spec.coding import DROPPED_NUMBER, dropped_code, is_dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOfRecords:
    relation: str
    kinds: Mapping[str, str]


def pushdown_of(
    domain: Domain, tables: Mapping[str, TableOfRecords], *, secret: bytes, dialect: Dialect, run: Run, stream: Run
) -> Pushdown:
    make = partial(Pushdown, secret=secret, dialect=dialect, run=run, stream=stream)
    if not domain.has_features:
        return make(domain=domain, kinds=tables[""].kinds, relation=tables[""].relation)
    of = domain.table_of_records
    rows = {
        name: _Rows(make(domain=of(name), kinds=table.kinds, relation=table.relation), is_joined=len(tables) > 1)
        for name, table in tables.items()
    }
    return PersonPushdown(
        domain=domain.table_of_persons(),
        secret=secret,
        dialect=dialect,
        kinds=dict.fromkeys(domain.variables, dialect.bigint),
        relation=_persons(domain, rows, is_in_doubt=False),
        run=run,
        stream=stream,
        has_further_rows=any(table.may_be_in_doubt for table in rows.values()),
        declared=domain,
        rows=rows,
    )


class _Rows:
    """The rows of one table, and SQL for the features that are taken of them."""

    def __init__(self, pushed: Pushdown, *, is_joined: bool) -> None:
        self.pushed = pushed
        unit = str(pushed.domain.unit_id)
        if is_joined and pushed.dialect.sort(pushed.kinds[unit]) not in ("text", "whole"):
            raise DocumentError(
                f"Tables are joined on a person's text or whole number; the column {unit!r} holds something else."
            )
        name = pushed._unit()
        self.unit = pushed.dialect.text(name) if is_joined else name
        self.names = tuple(pushed.domain.variables)
        relation = f"(SELECT *, {self.unit} AS dalenius_unit FROM {pushed.relation}) p"
        self.coded = pushed._coded(self.names, relation, "dalenius_unit") if self.names else relation
        self.codes = [code_sql(pushed, record) for record in pushed.domain.variables.values()]

    @property
    def may_be_in_doubt(self) -> bool:
        return any(is_open for _, is_open in self.codes)

    def grouped(self, domain: Domain, table: str) -> str:
        """One row for each person: features under the names of their variables, and whether a value was in doubt."""
        codes = ", ".join(f"{code} AS v{i}" for i, (code, _) in enumerate(self.codes))
        inner = f"SELECT dalenius_unit{', ' if codes else ''}{codes} FROM {self.coded}"
        features = [
            f"{self.feature(domain, variable)} AS f{place}"
            for place, variable in enumerate(domain.variables.values())
            if variable.feature is not None and variable.feature.table == table
        ]
        doubts = [f"v{i} IS NULL" for i, (_, is_open) in enumerate(self.codes) if is_open]
        doubt = f"max(CASE WHEN {' OR '.join(doubts)} THEN 1 ELSE 0 END)" if doubts else "0"
        chosen = ", ".join(["dalenius_unit AS u", *features, f"{doubt} AS doubt"])
        return f"(SELECT {chosen} FROM ({inner}) q4 WHERE dalenius_unit IS NOT NULL GROUP BY dalenius_unit)"

    def _value(self, name: str) -> str:
        return f"v{self.names.index(name)}"

    def feature(self, domain: Domain, variable: Variable) -> str:
        """The aggregate that is a feature, as its code; NULL where it is dropped."""
        feature = variable.feature
        assert feature is not None  # The caller's variable is a feature.
        conditions = [passes_sql(domain.records[f.variable], self._value(f.variable), f) for f in feature.where]
        condition = " AND ".join(conditions) or "1 = 1"
        if feature.take in (Take.ANY, Take.ALL):
            # A condition on a value in doubt is no answer: such persons are made elsewhere.
            whether = "max" if feature.take is Take.ANY else "min"
            return f"CAST({whether}(CASE WHEN {condition} THEN 1 ELSE 0 END) AS BIGINT)"
        if feature.take is Take.COUNT:
            total = self.pushed.dialect.total(f"CAST(CASE WHEN {condition} THEN 1 ELSE 0 END AS BIGINT)")
            return self._clamped(variable, total)
        record, value = domain.records[feature.of], self._value(feature.of)
        condition += f" AND {value} <> {number(dropped_code(record))}"
        taken = f"CASE WHEN {condition} THEN {value} END"
        if feature.take is Take.SUM:
            total = self.pushed.dialect.total(f"CASE WHEN {condition} THEN {value} ELSE {number(0)} END")
            return self._clamped(variable, total)
        if feature.take is Take.FIRST and feature.by:
            day = self._value(feature.by)
            day = f"CASE WHEN {day} = {number(DROPPED_NUMBER)} THEN {number(NEVER)} ELSE {day} END"
            aggregate = self.pushed.dialect.first(day, value, condition)
        else:
            aggregate = f"{'max' if feature.take is Take.MAXIMUM else 'min'}({taken})"
        missing = missing_code(variable)
        rest = "NULL" if is_dropped(variable, missing) else number(missing)
        return f"CASE WHEN count({taken}) = 0 THEN {rest} ELSE {self._clamped(variable, aggregate)} END"

    def _clamped(self, variable: Variable, expression: str) -> str:
        """Inside the bounds before it is narrowed to 64 bits."""
        if isinstance(variable.domain, Bounds):
            low, high = variable.domain.low, variable.domain.high
            expression = f"least(greatest({expression}, {low}), {high})"
        return f"CAST({expression} AS BIGINT)"


def _joined(domain: Domain, rows: Mapping[str, _Rows]) -> tuple[str, str]:
    """Persons of the own table beside what the further ones hold of them, and whether some value is in doubt."""
    sql, doubt = f"{rows[''].grouped(domain, '')} t0", "t0.doubt"
    for place, name in enumerate(domain.tables, start=1):
        sql += f" LEFT JOIN {rows[name].grouped(domain, name)} t{place} ON t0.u = t{place}.u"
        doubt += f" + coalesce(t{place}.doubt, 0)"
    return sql, doubt


def _persons(domain: Domain, rows: Mapping[str, _Rows], *, is_in_doubt: bool) -> str:
    """A relation: the codes of persons beyond doubt under the names of their variables, or the others' units."""
    sql, doubt = _joined(domain, rows)
    if is_in_doubt:
        return f"(SELECT t0.u AS u FROM {sql} WHERE {doubt} > 0)"
    chosen = []
    tables = ["", *domain.tables]
    for place, (name, variable) in enumerate(domain.variables.items()):
        assert variable.feature is not None  # Every variable is a feature where one is.
        column = f"t{tables.index(variable.feature.table)}.f{place}"
        column = _of_nobody(domain, variable, column, tables.index(variable.feature.table))
        chosen.append(f"{column} AS {rows[''].pushed.dialect.name(name)}")
    return f"(SELECT {', '.join(chosen)} FROM {sql} WHERE {doubt} = 0) persons"


def _of_nobody(domain: Domain, variable: Variable, column: str, table: int) -> str:
    """What a person without a row in a further table has there."""
    if not table:
        return column
    code = feature_code(domain, variable, ())
    absent = "NULL" if is_dropped(variable, code) else number(code)
    return f"CASE WHEN t{table}.u IS NULL THEN {absent} ELSE {column} END"


@dataclass(eq=False, kw_only=True)
class PersonPushdown(Pushdown):
    declared: Domain
    rows: Mapping[str, _Rows]

    def judge(self) -> Mapping[str, Any]:
        reports = {name: table.pushed.judge() for name, table in self.rows.items()}
        zeros = Pushdown.judge(self)["rows_in_structural_zeros"] if self.domain.structural_zeros else 0
        return report_of_persons(reports, self.declared, zeros)

    def _chosen(self) -> Batch:
        if self._beyond is None:
            doubtful = f"{_persons(self.declared, self.rows, is_in_doubt=True)} d ON dalenius_unit = d.u"
            fetched = {
                name: table.pushed.fetched(table.names, f"{table.coded} JOIN {doubtful}")
                for name, table in self.rows.items()
            }
            self._beyond = dict(person_columns(self.declared, fetched))
        return self._beyond
