"""Aggregation where the data are: a database groups, sums and sends back cells, never more than is needed.

Categories are grouped by their raw values, which the scalar reader then codes once each. Numbers are coded by the
statement where they are beyond doubt (`_number_sql`) and come back as they are where they are not. Sums are of codes
whose size the declaration bounds, in a type that is wide enough for them. Statements depend on the declaration and on
the types of columns alone, and read the whole table.

Rows of persons within the bound are aggregated in the database. Only the rows of persons beyond it are fetched, as
codes, and chosen by the same keyed hash as on every other engine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from dalenius.core.domain import Domain, Variable
from dalenius.core.law import IntArray
from dalenius.core.query import LIMIT, Aggregate, Labels, LabelsQuery, SizesQuery, TableQuery, ValuesQuery
from dalenius.engines._clipped_tally import ClippedTally
from dalenius.engines._contribution import code_type, kept_rows
from dalenius.engines._declared import check_pair, row_report
from dalenius.engines._features import RowsOfPersons
from dalenius.engines._labels import counted_labels, label_statements
from dalenius.engines._number_sql import Dialect, NumberSQL, date_sql, missing_number, number, number_sql
from dalenius.engines._people import people_of
from dalenius.engines._person_tally import PersonStatements, PersonTally, tally_of_persons
from dalenius.engines._record_sql import row_sql
from dalenius.engines._tally import Tally, in_structural_zeros, is_listed
from dalenius.spec.coding import DROPPED_NUMBER, Remark, canonical_text, reader

Rows = Sequence[Sequence[Any]]
Run = Callable[[str], Iterator[Rows]]
Batch = dict[str, IntArray]


@dataclass(frozen=True, slots=True)
class _GroupKey:
    variable: str
    expressions: tuple[str, ...]
    decode: Callable[[Sequence[Sequence[Any]]], IntArray]


@dataclass(eq=False, kw_only=True)
class Pushdown:
    """A table of a database, seen through a declared domain; `run` answers at once, `stream` in batches of rows."""

    domain: Domain
    secret: bytes
    dialect: Dialect
    kinds: Mapping[str, str]
    relation: str
    run: Run
    stream: Run
    has_further_rows: bool = False
    _beyond: Batch | None = field(default=None, init=False)
    _owners: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64), init=False)

    def forget(self) -> None:
        self._beyond = None

    def table(self, query: TableQuery) -> IntArray:
        is_of_persons = query.aggregate is Aggregate.PERSONS or query.clip is not None
        if is_of_persons and self.domain.unit_id is not None:
            return self._persons_in_cells(query)
        if query.clip is not None:
            return self._clipped_rows(query).result()
        if query.aggregate is Aggregate.PERSONS:
            # Where rows are units, each of them is a person.
            query.largest(self.domain)
            query = replace(query, aggregate=Aggregate.SUM)
        tally = Tally(query=query, domain=self.domain)
        statement = _Grouped(self, query)
        for rows in self.run(statement.sql):
            statement.add(tally, rows)
        if self._has_chosen:
            tally.add(_whole(self._chosen()))
        return tally.result()

    def _persons_in_cells(self, query: TableQuery) -> IntArray:
        """Different persons: counted by the database where within the bound and beyond doubt, otherwise here."""
        query.largest(self.domain)
        statements = PersonStatements(self, query)
        tally = tally_of_persons(query, self.domain)
        for rows in self.run(statements.counted):
            tally.add_groups(_groups(query, rows))
        self._add_further(tally, statements)
        return tally.result()

    def sizes(self, query: SizesQuery) -> IntArray:
        if self.domain.unit_id is None:
            return self._clipped_rows(query.table).classes(query.clips)
        tally = ClippedTally(query.table, self.domain)
        statements = PersonStatements(self, query.table)
        for rows in self.run(statements.sized):
            tally.add_sizes(tuple(map(int, row)) for row in rows)
        self._add_further(tally, statements)
        return tally.classes(query.clips)

    def _add_further(self, tally: PersonTally | ClippedTally, statements: PersonStatements) -> None:
        """Rows of persons of whom a value was in doubt, or who have more rows than the bound."""
        numbers: list[int] = []
        if statements.may_be_in_doubt:
            keys = [self._key(name) for name in statements.names]
            parts = list(self.stream(statements.fetched([e for k in keys for e in k.expressions])))
            rows = [row for part in parts for row in part]
            owners: dict[object, int] = {}
            numbers = [owners.setdefault(canonical_text(row[-1]), len(owners)) for row in rows]
            tally.add(_decoded(keys, rows), _array(numbers))
        # Persons beyond the bound are nobody of those.
        beyond = _whole(self._chosen())
        tally.add(beyond, np.unique(self._owners, return_inverse=True)[1] + len(numbers))

    def _clipped_rows(self, query: TableQuery) -> ClippedTally:
        """Where rows are units, each of them is clipped by itself."""
        tally = ClippedTally(query, self.domain)
        for batch, counts in self._counted(query.variables or tuple(self.domain.variables)[:1]):
            tally.add_single(_whole(batch), counts)
        return tally

    def values(self, query: ValuesQuery) -> IntArray:
        _ = self.domain.variable(query.value).bounds
        names = tuple(dict.fromkeys([query.value, *(f.variable for f in query.where)]))
        parts = [np.empty(0, dtype=np.int64)]
        for batch, counts in self._counted(names):
            mask = is_listed(query, self.domain, batch)
            parts.append(np.repeat(batch[query.value][mask], counts[mask]))
        return np.sort(np.concatenate(parts))

    def labels(self, query: LabelsQuery) -> Labels:
        """Texts that are not declared; of persons within the bound the database sends numbers alone."""
        if self.domain.unit_id is None:
            return counted_labels(self.domain, self.secret, query, counts=self.contents(query.variable))
        column = self.domain.variable(query.variable).source_column
        text = self.dialect.plain(self.dialect.name(column), self.kinds[column])
        within, beyond = label_statements(self._unit(), text, self.relation, query.most)
        counts = ((row[0], row[1]) for rows in self.stream(within) for row in rows)
        pairs = ((row[0], row[1]) for rows in self.stream(beyond) for row in rows)
        return counted_labels(self.domain, self.secret, query, counts=counts, pairs=pairs)

    def scan(self, names: Sequence[str]) -> Iterator[Batch]:
        if self._has_chosen:
            yield {name: self._chosen()[name] for name in names}
        keys = [self._key(name) for name in names]
        chosen = ", ".join(e for key in keys for e in key.expressions) or "1"
        for rows in self.stream(f"SELECT {chosen} FROM {self._coded(names)}"):
            batch = _decoded(keys, rows)
            yield {name: batch[name] for name in names or ("",)}

    def contents(self, name: str) -> Iterator[tuple[object, int]]:
        value = self.dialect.plain(*self.column(self.domain.variable(name)))
        for rows in self.stream(f"SELECT {value} AS v, count(*) AS n FROM {self.relation} GROUP BY {value}"):
            yield from ((row[0], int(row[1])) for row in rows)

    def judge(self) -> Mapping[str, Any]:
        total, units, without, over = self._sizes()
        zeros = tuple(dict.fromkeys(name for zero in self.domain.structural_zeros for name in zero))
        batches = self._counted(zeros) if zeros else ()
        inside = sum(int(counts[in_structural_zeros(self.domain, batch)].sum()) for batch, counts in batches)
        odd, kept = {n: self._remarks(v) for n, v in self.domain.variables.items()}, total - without - over
        return row_report(total, kept=kept, units=units, without=without, over=over, zeros=inside, odd=odd)

    def _sizes(self) -> tuple[int, int, int, int]:
        """Rows, units, rows without a unit, and rows beyond the bound."""
        if self.domain.unit_id is None:
            total = sum(int(row[0]) for rows in self.run(f"SELECT count(*) FROM {self.relation}") for row in rows)
            return total, total, 0, 0
        most = self.domain.neighbours.max_rows
        statement = (
            f"SELECT u IS NULL, count(*), sum(n), sum(CASE WHEN n > {most} THEN n - {most} ELSE 0 END) FROM (SELECT "
            f"{self._unit()} AS u, count(*) AS n FROM {self.relation} GROUP BY {self._unit()}) g GROUP BY u IS NULL"
        )
        units = total = without = over = 0
        for rows in self.run(statement):
            for is_nobody, groups, count, beyond in rows:
                total += int(count)
                without += int(count) if is_nobody else 0
                units += 0 if is_nobody else int(groups)
                over += 0 if is_nobody else int(beyond)
        return total, units, without, over

    def _remarks(self, variable: Variable) -> dict[str, int]:
        read = reader(variable)
        notes = {str(note): 0 for note in Remark}
        for value, count in self.contents(variable.name):
            notes[str(read(value)[1])] += count
        return notes

    def _counted(self, names: Sequence[str]) -> Iterator[tuple[Batch, IntArray]]:
        """Coded rows that count, equal ones together."""
        keys = [self._key(name) for name in names]
        chosen = ", ".join(e for key in keys for e in key.expressions)
        statement = f"SELECT {chosen}, count(*) AS n FROM {self._coded(names)} GROUP BY {chosen}"
        for rows in self.stream(statement):
            yield _decoded(keys, rows), _array([row[-1] for row in rows])
        if self._has_chosen:
            chosen_rows = self._chosen()
            yield chosen_rows, np.ones(len(next(iter(chosen_rows.values()))), dtype=np.int64)

    @property
    def _has_chosen(self) -> bool:
        """Whether some rows that count come as codes, beside those that the database sends."""
        return self.domain.unit_id is not None or self.has_further_rows

    def column(self, variable: Variable) -> tuple[str, str]:
        """The expression of a variable's raw values, and its kind: a column, or a key and a day as one text."""
        names = variable.source_columns
        if len(names) == 1:
            return self.dialect.name(names[0]), self.kinds[names[0]]
        check_pair(variable, {name: self.dialect.sort(self.kinds[name]) in ("text", "whole") for name in names})
        texts = ", chr(31), ".join(self.dialect.text(self.dialect.name(name)) for name in names)
        is_missing = " OR ".join(f"{self.dialect.name(name)} IS NULL" for name in names)
        return f"CASE WHEN {is_missing} THEN NULL ELSE concat({texts}) END", "text"

    def _number(self, variable: Variable, value: str, real: str) -> NumberSQL:
        column, kind = self.column(variable)
        if variable.lookup is not None:
            code = (
                f"CAST(CASE WHEN {self.dialect.is_missing(value, kind)} THEN {missing_number(variable.bounds)} "
                "END AS BIGINT)"
            )
            return NumberSQL(self.dialect.plain(column, kind), None, code, True)
        if variable.is_date:
            return date_sql(self.dialect, variable.bounds, column, kind, value=value, real=real)
        return number_sql(self.dialect, variable.bounds, column, kind, value=value, real=real)

    def _unit(self) -> str:
        column = str(self.domain.unit_id)
        name, kind = self.dialect.name(column), self.kinds[column]
        return f"CASE WHEN {self.dialect.is_missing(name, kind)} THEN NULL ELSE {self.dialect.plain(name, kind)} END"

    def _persons(self, *, are_beyond: bool) -> str:
        unit, most = self._unit(), self.domain.neighbours.max_rows
        beyond = f"(SELECT {unit} AS u FROM {self.relation} GROUP BY {unit} HAVING count(*) > {most})"
        rows = f"(SELECT *, {unit} AS dalenius_unit FROM {self.relation})"
        join, rule = ("JOIN", "IS NOT NULL") if are_beyond else ("LEFT JOIN", "IS NULL")
        return (
            f"(SELECT t.* FROM {rows} t {join} {beyond} b ON t.dalenius_unit = b.u"
            f" WHERE t.dalenius_unit IS NOT NULL AND b.u {rule}) p"
        )

    def _chosen(self) -> Batch:
        """The rows that count of persons who have more, chosen once, as codes of every declared variable."""
        if self._beyond is None:
            names = tuple(self.domain.variables)
            rows = self.fetched(names, self._coded(names, self._persons(are_beyond=True), "dalenius_unit"))
            narrow = {n: rows.columns[n].astype(code_type(v)) for n, v in self.domain.variables.items()}
            keep = kept_rows(self.domain, self.secret, narrow, rows.people)
            self._owners = rows.people.numbers[keep].astype(np.int64)
            self._beyond = {name: column[keep] for name, column in rows.columns.items()}
        return self._beyond

    def fetched(self, names: Sequence[str], relation: str) -> RowsOfPersons:
        """Codes of some variables and the person of each row, of a relation that names both."""
        import pyarrow as pa

        keys = [self._key(name) for name in names]
        chosen = ", ".join([*(e for key in keys for e in key.expressions), "dalenius_unit"])
        batches: list[Batch] = [{name: np.empty(0, dtype=np.int64) for name in names}]
        units: list[Any] = []
        for rows in self.stream(f"SELECT {chosen} FROM {relation}"):
            batches.append(_decoded(keys, rows))
            units += [row[-1] for row in rows]
        columns = {name: np.concatenate([batch[name] for batch in batches]) for name in names}
        return RowsOfPersons(columns, people_of([pa.array(units)] if units else []))

    def _coded(self, names: Sequence[str], relation: str = "", further: str = "") -> str:
        """What stands after FROM: k, or c and x, of each variable by its place among the declared ones."""
        if not relation:
            is_bounded = self.domain.unit_id is not None
            relation = self._persons(are_beyond=False) if is_bounded else self.relation
        own = [further] if further else []
        first, second, third = list(own), list(own), list(own)
        is_fenced = False
        for name in names:
            variable, place = self.domain.variable(name), self._place(name)
            if not variable.is_numeric:
                column, kind = self.column(variable)
                # Whole numbers are grouped by in their own type: nothing is reckoned with them, and a cast of each
                # takes its time.
                is_whole = self.dialect.sort(kind) == "whole"
                first.append(f"{column if is_whole else self.dialect.plain(column, kind)} AS k{place}")
                second.append(f"k{place}")
                third.append(f"k{place}")
                continue
            read = self._number(variable, f"x{place}", f"d{place}")
            first.append(f"{read.value} AS x{place}")
            first += [f"{read.real} AS d{place}"] if read.real is not None else []
            second.append(f"{read.code} AS c{place}")
            third.append(f"c{place}")
            is_fenced = is_fenced or read.may_be_undecided
            if read.may_be_undecided:
                second.append(f"x{place}")
                third.append(f"CASE WHEN c{place} IS NULL THEN x{place} END AS r{place}")
        if not names:
            return relation
        fence = self.dialect.fence if is_fenced else ""
        inner = f"(SELECT {', '.join(first)} FROM {relation}{fence}) q1"
        middle = f"(SELECT {', '.join(second)} FROM {inner}{fence}) q2"
        return f"(SELECT {', '.join(third)} FROM {middle}) q3"

    def _place(self, name: str) -> int:
        return list(self.domain.variables).index(name)

    def _may_be_undecided(self, name: str) -> bool:
        return self._number(self.domain.variable(name), "x", "d").may_be_undecided

    def _key(self, name: str, edges: tuple[int, ...] | None = None) -> _GroupKey:
        """A variable as a key of groups; between two of the edges all codes may stand for one another."""
        variable, place = self.domain.variable(name), self._place(name)
        once = reader(variable)
        read = cache(lambda value: once(value)[0])
        if not variable.is_numeric:
            return _GroupKey(name, (f"k{place}",), lambda columns: _array([read(value) for value in columns[0]]))
        rest = (f"r{place}",) if self._may_be_undecided(name) else ()
        expression = None if edges is None else self.dialect.place(f"c{place}", edges)
        if expression is None or edges is None:
            return _GroupKey(name, (f"c{place}", *rest), lambda columns: _either(columns, read))
        start = [edges[0] - 1, *edges] if edges else [variable.bounds.low]
        dropped = f"c{place} = {number(DROPPED_NUMBER)}"
        bucket = f"CASE WHEN c{place} IS NULL THEN NULL WHEN {dropped} THEN -1 ELSE {expression} END"
        codes = [*start, DROPPED_NUMBER]

        def decode(columns: Sequence[Sequence[Any]]) -> IntArray:
            codes_of_rows = [None if bucket is None else codes[bucket] for bucket in columns[0]]
            return _either([codes_of_rows, *columns[1:]], read)

        return _GroupKey(name, (bucket, *rest), decode)


class _Grouped:
    """The statement of one table query, and how its groups enter the cells."""

    def __init__(self, pushed: Pushdown, query: TableQuery) -> None:
        domain, place = pushed.domain, pushed._place
        self._is_wide = query.largest(domain) >= LIMIT
        grouped = dict.fromkeys([a.variable for a in query.space.axes] + [f.variable for f in query.where])
        self._keys = [pushed._key(name, _edges(query, domain.variable(name))) for name in grouped]
        self._measured = query.function.variables
        doubtful = [name for name in self._measured if pushed._may_be_undecided(name)]
        self._rest = [pushed._key(name) for name in self._measured] if doubtful else []
        is_plain = " AND ".join(f"r{place(name)} IS NULL" for name in doubtful)
        parts = [e for key in self._keys for e in key.expressions]
        if doubtful:
            parts.append(f"CASE WHEN {is_plain} THEN 1 ELSE 0 END")
            parts += [f"CASE WHEN {is_plain} THEN NULL ELSE {e} END" for k in self._rest for e in k.expressions]
        names = tuple(dict.fromkeys([*grouped, *self._measured]))
        chosen = ", ".join([*parts, "count(*) AS n", f"{self._aggregate(pushed, query)} AS s"])
        self.sql = f"SELECT {chosen} FROM {pushed._coded(names)}"
        if parts:
            self.sql += f" GROUP BY {', '.join(str(i + 1) for i in range(len(parts)))}"

    def _aggregate(self, pushed: Pushdown, query: TableQuery) -> str:
        if query.is_plain_count:
            return "count(*)"
        taken = row_sql(pushed.dialect, query, pushed.domain, {n: f"c{pushed._place(n)}" for n in self._measured})
        if query.aggregate is Aggregate.SUM:
            return f"sum({taken})" if self._is_wide else pushed.dialect.total(taken)
        if query.aggregate is Aggregate.LARGEST_ABSOLUTE:
            return f"max(abs({taken}))"
        return f"{'min' if query.aggregate is Aggregate.MINIMUM else 'max'}({taken})"

    def add(self, tally: Tally, rows: Rows) -> None:
        """Groups into cells: aggregates where the database could decide, counted values where it could not."""
        width = sum(len(key.expressions) for key in self._keys)
        plain = [row for row in rows if (not self._rest or row[width] == 1) and row[-1] is not None]
        tally.add_aggregates(_decoded(self._keys, plain), [int(row[-1]) for row in plain])
        if self._rest:
            odd = [row for row in rows if row[width] != 1]
            batch = _decoded(self._keys, odd) | _decoded(self._rest, odd, width + 1)
            tally.add(batch, _array([row[-2] for row in odd]))


def _edges(query: TableQuery, variable: Variable) -> tuple[int, ...] | None:
    """Where the codes of a numeric variable change their cell or what filter they pass; None for categories."""
    if not variable.is_numeric:
        return None
    cuts = [cut for axis in query.space.axes if axis.variable == variable.name for cut in axis.cuts]
    for condition in query.where:
        if condition.variable == variable.name:
            cuts += [] if condition.low is None else [condition.low]
            cuts += [] if condition.high is None else [condition.high + 1]
    return tuple(sorted(set(cuts)))


def _groups(query: TableQuery, rows: Rows) -> Iterator[tuple[int, ...]]:
    """Groups of persons by the flat place of their cell instead of places on axes."""
    width = len(query.space.axes)
    for row in rows:
        index = 0
        for place, size in zip(row[:width], query.space.shape, strict=True):
            index = index * size + int(place)
        yield index, *map(int, row[width:])


def _decoded(keys: Sequence[_GroupKey], rows: Rows, first: int = 0) -> Batch:
    columns = list(zip(*rows, strict=True)) or [()] * (first + sum(len(k.expressions) for k in keys))
    batch: Batch = {"": np.zeros(len(rows), dtype=np.int64)}
    for key in keys:
        batch[key.variable] = key.decode(columns[first : first + len(key.expressions)])
        first += len(key.expressions)
    return batch


def _either(columns: Sequence[Sequence[Any]], read: Callable[[object], int]) -> IntArray:
    """The code that the database found, or the scalar reader's of what it could not decide."""
    if len(columns) == 1:
        return _array(columns[0])
    return _array([read(rest) if code is None else code for code, rest in zip(columns[0], columns[1], strict=True)])


def _array(codes: Sequence[int]) -> IntArray:
    return np.array(codes, dtype=np.int64)


def _whole(batch: Batch) -> Batch:
    """A batch that has as many rows as there are, whichever variables are read of it."""
    return {"": np.zeros(len(next(iter(batch.values()))), dtype=np.int64), **batch}
