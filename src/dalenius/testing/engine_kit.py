"""The kit that every engine must pass: equal to the memory engine, call by call, on any data.

A factory is `(domain, columns, secret) -> Source`; `factories` makes one for every engine that the registry finds, from
a form of data that the engine accepts. The functions here raise `AssertionError` with what differed. They open sealed
values, which only tests may do.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core import registry
from dalenius.core.conditions import Filter
from dalenius.core.contracts import OneScanSource, Source
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.query import Aggregate, Clip, Norm, SizesQuery, TableQuery, ValuesQuery
from dalenius.engines.memory import MemorySource
from dalenius.testing.toy import toy_domain, toy_rows

Columns = Mapping[str, Sequence[Any]]
Factory = Callable[[Domain, Columns, bytes], Source]
SECRET = b"a secret of the conformance kit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A data set with what is asked of it."""

    domain: Domain
    columns: Columns
    tables: tuple[TableQuery, ...]
    values: tuple[ValuesQuery, ...] = ()


def factories(folder: Path) -> dict[str, Factory]:
    """One factory for each engine that opens a table in memory or a file; `elsewhere` names the others."""
    engines = registry.every("engines").items()
    return {name: factory_of(engine, folder) for name, engine in engines if name not in elsewhere()}


def elsewhere() -> tuple[str, ...]:
    """Engines that accept neither a table nor a file: they need a server, and run the kit in a test of their own."""
    return tuple(name for name, engine in registry.every("engines").items() if not _opens_here(engine))


def _opens_here(engine: Any) -> bool:
    return engine.accepts(arrow({})) or engine.accepts(Path("data.parquet")) or hasattr(engine, "stored")


def factory_of(engine: Any, folder: Path) -> Factory:
    """Return how to open an engine on columns; `stored(table, folder)` writes files of its own form."""
    if engine.accepts(arrow({})):
        return lambda domain, columns, secret: engine.open(domain, arrow(columns), secret)
    if engine.accepts(folder / "data.parquet"):
        return lambda domain, columns, secret: engine.open(domain, parquet(columns, folder), secret)
    assert hasattr(engine, "stored"), f"{engine.__name__} accepts neither a table in memory nor a file."
    return lambda domain, columns, secret: engine.open(domain, engine.stored(arrow(columns), folder), secret)


def arrow(columns: Columns) -> Any:
    """Columns as an Arrow table, whatever they hold."""
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        plain = [v for v in values if v is not None]
        kind = pa.string() if not plain else None
        if plain and type(plain[0]).__name__ == "Decimal":
            kind = pa.decimal128(12, 2)
        arrays[name] = pa.array(list(values), type=kind, from_pandas=False)
    return pa.table(arrays)


def parquet(columns: Columns, folder: Path) -> Path:
    """Columns as a file of their own."""
    import pyarrow.parquet as pq

    with tempfile.NamedTemporaryFile(dir=folder, suffix=".parquet", delete=False) as stream:
        pq.write_table(arrow(columns), stream.name)
    return Path(stream.name)


def check(factory: Factory) -> None:
    """Every call on toy data: odd values, missing ones, persons with more rows than count."""
    domain, rows = toy_domain(unit_id="person", max_rows=2), toy_rows()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    axes = tuple(
        Axis(variable=name, labels=labels, codes=tuple(range(len(labels))))
        for name in ("sex", "region")
        for labels in (domain.variable(name).categories.labels,)
    )
    source = factory(domain, columns, SECRET)

    def opened(_: Domain, __: Columns, ___: bytes) -> Source:
        """Opened once: one source answers many questions."""
        return source

    for aggregate in Aggregate:
        value = None if aggregate in (Aggregate.COUNT, Aggregate.PERSONS) else "income"
        for space in (CellSpace(()), CellSpace(axes)):
            check_table(opened, domain, columns, TableQuery(space=space, aggregate=aggregate, value=value))
    check_table(opened, domain, columns, TableQuery(space=CellSpace(axes[:1]), weight="age"))
    for query in (
        TableQuery(space=CellSpace(axes), clip=Clip(norm=Norm.L1, limit=15, fineness=10)),
        TableQuery(space=CellSpace(axes), aggregate=Aggregate.TOTAL, value="income", clip=Clip(norm=Norm.L2, limit=40)),
    ):
        check_table(opened, domain, columns, query)
        check_sizes(opened, domain, columns, query)
    for where in ((), (Filter(variable="sex", codes=(0,)),), (Filter(variable="age", low=30, high=60),)):
        check_table(opened, domain, columns, TableQuery(space=CellSpace(axes), where=where))
        check_values(opened, domain, columns, ValuesQuery(value="income", where=where))
    check_scan(opened, domain, columns)
    check_judgement(opened, domain, columns)
    changed = [columns | {name: [*columns[name][:-1], None]} for name in columns]
    check_fingerprint(factory, domain, columns, *changed)


def check_cases(factory: Factory, cases: Iterable[Case]) -> None:
    """Every call on every case; an engine opens a data set once."""
    for case in cases:
        source = factory(case.domain, case.columns, SECRET)

        def opened(_: Domain, __: Columns, ___: bytes, source: Source = source) -> Source:
            return source

        for query in case.tables:
            check_table(opened, case.domain, case.columns, query)
            if query.clip is not None:
                check_sizes(opened, case.domain, case.columns, query)
        check_tables_together(source, case.tables)
        for values in case.values:
            check_values(opened, case.domain, case.columns, values)
        check_scan(opened, case.domain, case.columns)
        check_judgement(opened, case.domain, case.columns)


def check_table(factory: Factory, domain: Domain, columns: Columns, query: TableQuery) -> None:
    """One table query, cell by cell."""
    expected = MemorySource(domain, columns, SECRET).table(query).open_below_the_gate()
    received = factory(domain, columns, SECRET).table(query).open_below_the_gate()
    assert received.dtype == np.int64
    assert received.shape == (query.space.size,)
    np.testing.assert_array_equal(received, expected)


def check_tables_together(source: Source, queries: Sequence[TableQuery]) -> None:
    """Tables taken in one scan are the tables one by one."""
    if isinstance(source, OneScanSource):
        together = [sealed.open_below_the_gate() for sealed in source.tables(queries)]
        one_by_one = [source.table(query).open_below_the_gate() for query in queries]
        for received, expected in zip(together, one_by_one, strict=True):
            np.testing.assert_array_equal(received, expected)


def check_sizes(factory: Factory, domain: Domain, columns: Columns, table: TableQuery) -> None:
    """Numbers of units by what they add to a table with a clip, which is one of three."""
    assert table.clip is not None
    limits = (max(1, table.clip.limit // 2), table.clip.limit, 3 * table.clip.limit)
    query = SizesQuery(table=table, clips=tuple(replace(table.clip, limit=limit) for limit in limits))
    received = factory(domain, columns, SECRET).sizes(query).open_below_the_gate()
    expected = MemorySource(domain, columns, SECRET).sizes(query).open_below_the_gate()
    np.testing.assert_array_equal(received, expected, err_msg="sizes of units")


def check_values(factory: Factory, domain: Domain, columns: Columns, query: ValuesQuery) -> None:
    """One query for sorted values."""
    expected = MemorySource(domain, columns, SECRET).values(query).open_below_the_gate()
    received = factory(domain, columns, SECRET).values(query).open_below_the_gate()
    np.testing.assert_array_equal(received, expected)


def check_scan(factory: Factory, domain: Domain, columns: Columns) -> None:
    """All coded rows, as a multiset: engines may read in any order."""
    names = list(domain.variables)
    found = [
        sorted(zip(*(np.concatenate([b[n] for b in batches]).tolist() for n in names), strict=True))
        for batches in (
            list(source.scan(names))
            for source in (MemorySource(domain, columns, SECRET), factory(domain, columns, SECRET))
        )
        if batches
    ]
    if len(found) == 2:
        assert found[1] == found[0]
    else:
        # An engine may yield no batch at all where there is no row.
        assert all(not rows for rows in found)


def check_judgement(factory: Factory, domain: Domain, columns: Columns) -> None:
    """The custodian's report."""
    expected = MemorySource(domain, columns, SECRET).judge()
    received = factory(domain, columns, SECRET).judge()
    assert dict(received) == dict(expected)


def check_fingerprint(factory: Factory, domain: Domain, columns: Columns, *changed: Columns) -> None:
    """Stable, keyed, and different for changed content."""
    source = factory(domain, columns, SECRET)
    first = source.fingerprint(b"key")
    assert factory(domain, columns, SECRET).fingerprint(b"key") == first
    assert source.fingerprint(b"other key") != first
    for other in changed:
        assert factory(domain, other, SECRET).fingerprint(b"key") != first, "changed content has the same fingerprint"
