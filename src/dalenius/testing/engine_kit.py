"""The kit that every engine must pass: equal to the memory engine, call by call, on any data.

A factory is `(domain, columns, secret) -> Source`; `factories` makes one for every engine that the registry finds. The
functions here open sealed values, which only tests may do.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core import registry
from dalenius.core.conditions import Filter
from dalenius.core.contracts import ListingSource, Source
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.query import Aggregate, Clip, Norm, Power, RowFunction, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.sealed import Sealed
from dalenius.engines.memory import MemorySource
from dalenius.testing.toy import toy_domain, toy_rows

Columns = Mapping[str, Sequence[Any]]
Factory = Callable[[Domain, Columns, bytes], Source]
SECRET = b"a secret of the conformance kit"


def factories(folder: Path) -> dict[str, Factory]:
    """One factory for each engine that opens a table in memory or a file; `elsewhere` names the others."""
    engines = registry.every("engines").items()
    return {name: factory_of(engine, folder) for name, engine in engines if name not in elsewhere()}


def elsewhere() -> tuple[str, ...]:
    """Engines that accept neither a table nor a file: they need a server, and run the kit in a test of their own."""
    offers = (arrow({}), Path("data.parquet"))
    engines = registry.every("engines").items()
    return tuple(name for name, e in engines if not any(map(e.accepts, offers)) and not hasattr(e, "stored"))


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
    import pyarrow.parquet as pq

    with tempfile.NamedTemporaryFile(dir=folder, suffix=".parquet", delete=False) as stream:
        pq.write_table(arrow(columns), stream.name)
    return Path(stream.name)


@dataclass(frozen=True, slots=True)
class SourcePair:
    """An opened source beside the memory engine on the same data."""

    source: Source
    memory: Source

    @classmethod
    def opened(cls, factory: Factory, domain: Domain, columns: Columns) -> "SourcePair":
        return cls(factory(domain, columns, SECRET), MemorySource(domain, columns, SECRET))

    def check_table(self, query: TableQuery) -> None:
        received = self.source.table(query).open_below_the_gate()
        assert received.dtype == np.int64
        assert received.shape == (query.space.size,)
        about = f"{query.aggregate} of {query.function} by {[axis.variable for axis in query.space.axes]}"
        np.testing.assert_array_equal(received, self.memory.table(query).open_below_the_gate(), err_msg=about)

    def check_sizes(self, table: TableQuery) -> None:
        """Numbers of units by what they add to a table with a clip, which is one of three."""
        assert table.clip is not None
        limits = (max(1, table.clip.limit // 2), table.clip.limit, 3 * table.clip.limit)
        query = SizesQuery(table=table, clips=tuple(replace(table.clip, limit=limit) for limit in limits))
        _compare(self.source.sizes(query), self.memory.sizes(query), "sizes of units")

    def check_values(self, query: ValuesQuery) -> None:
        expected = self.memory.values(query)
        _compare(self.source.values(query), expected, f"values of {query.value}")
        if isinstance(self.source, ListingSource):
            for listed in self.source.lists([query, query]):
                _compare(listed, expected, f"values of {query.value}, read with others")

    def check_scan(self) -> None:
        """All coded rows, as a multiset: engines may read in any order, and yield no batch where there is no row."""
        names = list(self.memory.domain.variables)
        rows = [
            sorted(row for batch in one.scan(names) for row in zip(*(batch[n].tolist() for n in names), strict=True))
            for one in (self.source, self.memory)
        ]
        assert rows[0] == rows[1]

    def check_judgement(self) -> None:
        assert dict(self.source.judge()) == dict(self.memory.judge())


def _compare(received: Sealed[Any], expected: Sealed[Any], about: str) -> None:
    np.testing.assert_array_equal(received.open_below_the_gate(), expected.open_below_the_gate(), err_msg=about)


def check(factory: Factory) -> None:
    """Every call on toy data: odd values, missing ones, persons with more rows than count."""
    domain, rows = toy_domain(unit_id="person", max_rows=2), toy_rows()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    axes = tuple(
        Axis(variable=name, labels=labels, codes=tuple(range(len(labels))))
        for name in ("sex", "region")
        for labels in (domain.variable(name).categories.labels,)
    )
    # Opened once: one source answers many questions.
    pair = SourcePair.opened(factory, domain, columns)
    for aggregate in Aggregate:
        function = RowFunction() if aggregate is Aggregate.PERSONS else RowFunction.of(Power("income"))
        for space in (CellSpace(()), CellSpace(axes)):
            pair.check_table(TableQuery(space=space, aggregate=aggregate, function=function))
    income, age = Power("income", offset=-7), Power("age")
    for function in (
        RowFunction(),
        RowFunction.present("income"),
        RowFunction.of(age),
        RowFunction.of(replace(income, exponent=2)),
        RowFunction.of(income, age, multiple=-3),
    ):
        for halvings in (0, 1, 2, 20):
            query = TableQuery(space=CellSpace(axes[:1]), function=function, shift=5, halvings=halvings)
            pair.check_table(query)
    for query in (
        TableQuery(space=CellSpace(axes), clip=Clip(norm=Norm.L1, limit=15, fineness=10)),
        TableQuery(space=CellSpace(axes), function=RowFunction.of(Power("income")), clip=Clip(norm=Norm.L2, limit=40)),
    ):
        pair.check_table(query)
        pair.check_sizes(query)
    for where in ((), (Filter(variable="sex", codes=(0,)),), (Filter(variable="age", low=30, high=60),)):
        pair.check_table(TableQuery(space=CellSpace(axes), where=where))
        pair.check_values(ValuesQuery(value="income", where=where))
    pair.check_scan()
    pair.check_judgement()
    changed = [columns | {name: [*columns[name][:-1], None]} for name in columns]
    check_fingerprint(factory, domain, columns, *changed)


def check_fingerprint(factory: Factory, domain: Domain, columns: Columns, *changed: Columns) -> None:
    """Stable, keyed, and different for changed content."""
    source = factory(domain, columns, SECRET)
    first = source.fingerprint(b"key")
    assert factory(domain, columns, SECRET).fingerprint(b"key") == first
    assert source.fingerprint(b"other key") != first
    for other in changed:
        assert factory(domain, other, SECRET).fingerprint(b"key") != first, "changed content has the same fingerprint"
