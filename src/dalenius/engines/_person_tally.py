"""How many different persons have a row in each cell: exact, batch by batch, and by statements that send back cells."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalenius.core.domain import Axis, Domain
from dalenius.core.law import IntArray
from dalenius.core.query import Aggregate, TableQuery
from dalenius.engines._clipped_tally import ClippedTally, clipped_sql
from dalenius.engines._columns import Column
from dalenius.engines._record_sql import code_sql, passes_sql, row_sql, shifted_runs
from dalenius.engines._tally import Tally


@dataclass(eq=False)
class PersonTally:
    query: TableQuery
    domain: Domain
    _cells: list[IntArray] = field(default_factory=list)
    _owners: list[IntArray] = field(default_factory=list)
    _further: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tally = Tally(query=replace(self.query, aggregate=Aggregate.SUM), domain=self.domain)

    def add(self, batch: Mapping[str, Column], owners: IntArray) -> None:
        cells, _, chosen = self._tally.rows_in(batch)
        self._cells.append(cells.astype(np.int64))
        self._owners.append(owners[chosen].astype(np.int64))

    def add_groups(self, groups: Iterable[tuple[int, ...]]) -> None:
        """Of a cell: how many persons a database counted in it."""
        for cell, persons in groups:
            self._further[cell] = self._further.get(cell, 0) + persons

    def result(self) -> IntArray:
        """Each person once in a cell; structural zeros hold nobody."""
        counts = np.zeros(self.query.space.size, dtype=np.int64)
        counts[list(self._further)] = list(self._further.values())
        if self._cells:
            cells, owners = np.concatenate(self._cells), np.concatenate(self._owners)
            order = np.lexsort((owners, cells))
            cells, owners = cells[order], owners[order]
            is_new = np.append(
                np.full(min(1, len(cells)), True), (cells[1:] != cells[:-1]) | (owners[1:] != owners[:-1])
            )
            counts += np.bincount(cells[is_new], minlength=len(counts))
        counts[list(self.query.space.structural_indices)] = 0
        return counts


def tally_of_persons(query: TableQuery, domain: Domain) -> "PersonTally | ClippedTally":
    return PersonTally(query, domain) if query.clip is None else ClippedTally(query, domain)


class PersonStatements:
    """SQL for persons within the bound: cells beyond doubt are counted by the database, rows of the others are fetched.

    What is counted: different persons, or, where a query is clipped, persons by steps and size.
    """

    coded: Any
    counted: str
    may_be_in_doubt: bool
    names: tuple[str, ...]
    sized: str

    def __init__(self, pushed: Any, query: TableQuery) -> None:
        self.names, domain = query.variables, pushed.domain
        within = pushed._persons(are_beyond=False)
        self.coded = pushed._coded(self.names, within, "dalenius_unit") if self.names else within
        codes = {name: code_sql(pushed, domain.variable(name)) for name in self.names}
        doubts = [f"{code} IS NULL" for code, is_open in codes.values() if is_open]
        self.may_be_in_doubt = bool(doubts)
        where = f"{self.coded} WHERE {' OR '.join(doubts)}"
        self._doubtful = f"(SELECT dalenius_unit AS u FROM {where} GROUP BY dalenius_unit)"
        value = {name: f"v{place}" for place, name in enumerate(self.names)}
        inner = ", ".join(["dalenius_unit", *(f"{codes[name][0]} AS {value[name]}" for name in self.names)])
        rows = f"(SELECT {inner} FROM {self.coded}) q4"
        conditions = [passes_sql(domain.variable(f.variable), value[f.variable], f) for f in query.where]
        is_counted = query.clip is None or query.is_plain_count
        places = ", ".join(
            ["dalenius_unit AS u"]
            + [f"{_place_sql(axis, value[axis.variable])} AS p{i}" for i, axis in enumerate(query.space.axes)]
            + ([] if is_counted else [f"{row_sql(pushed.dialect, query, domain, value)} AS s"])
        )
        cells = f"(SELECT {places} FROM {rows}{' WHERE ' + ' AND '.join(conditions) if conditions else ''}) c"
        join, rules = "", [f"c.p{i} >= 0" for i in range(len(query.space.axes))]
        if self.may_be_in_doubt:
            join, rules = f" LEFT JOIN {self._doubtful} d ON c.u = d.u", [*rules, "d.u IS NULL"]
        names = [f"c.p{i}" for i in range(len(query.space.axes))]
        rules += [] if query.clip is None or is_counted else ["c.s IS NOT NULL"]
        where = f" WHERE {' AND '.join(rules)}" if rules else ""
        if query.clip is not None:
            steps = "count(*)" if is_counted else pushed.dialect.total("c.s")
            bare = [name.removeprefix("c.") for name in names]
            self.counted, self.sized = clipped_sql(bare, steps, f"{cells}{join}", where, query.clip.norm)
            return
        grouped = f" GROUP BY {', '.join(names)}" if names else ""
        self.counted = f"SELECT {', '.join([*names, 'count(DISTINCT c.u) AS n'])} FROM {cells}{join}{where}{grouped}"

    def fetched(self, expressions: Sequence[str]) -> str:
        """Rows of persons of whom some value is in doubt, as keys of groups, and the person."""
        chosen = ", ".join([*expressions, "dalenius_unit"])
        return f"SELECT {chosen} FROM {self.coded} JOIN {self._doubtful} d ON dalenius_unit = d.u"


def _place_sql(axis: Axis, value: str) -> str:
    """The position of a code on an axis; -1 outside the table."""
    if not axis.cuts:
        cases = _runs(axis, value)
        members: dict[int, list[int]] = {}
        for code, label in enumerate(axis.codes):
            if label >= 0:
                members.setdefault(label, []).append(code)
        if len(members) < len(cases):
            cases = [f"WHEN {value} IN ({', '.join(map(str, codes))}) THEN {label}" for label, codes in members.items()]
    else:
        first, *rest = axis.cuts
        cases = [f"WHEN {value} < {first} THEN {axis.rest}"]
        cases += [f"WHEN {value} < {cut} THEN {label}" for label, cut in enumerate(rest)]
    return f"CASE {' '.join(cases)} ELSE {axis.rest} END" if cases else str(axis.rest)


def _runs(axis: Axis, value: str) -> list[str]:
    """A case for each run of codes whose labels follow one another: one, where labels are the categories as declared.

    A database works the value out once for each case; with as many cases as categories it would be busy with that.
    """
    runs = shifted_runs((code, label) for code, label in enumerate(axis.codes) if label >= 0)
    return [f"WHEN {value} BETWEEN {first} AND {last} THEN {value} + {shift}" for first, last, shift in runs]
