"""Every engine equals the memory engine on generated data, odd values and persons with several rows included."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalenius.core import registry
from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.core.query import ValuesQuery
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.testing import engine_kit
from dalenius.testing import strategies as own
from dalenius.testing.toy import toy_domain, toy_rows

Columns = Mapping[str, Sequence[Any]]
OWN = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
FEWER = settings(OWN, max_examples=25)


def _memory(domain: Domain, columns: Columns, secret: bytes) -> Source:
    return MemorySource(domain, columns, secret)


def _duckdb(domain: Domain, columns: Columns, secret: bytes) -> Source:
    return DuckDBSource(domain, _arrow(columns), secret)


def _streaming(domain: Domain, columns: Columns, secret: bytes) -> Source:
    """The road of large tables, on small ones."""
    source = DuckDBSource(domain, _arrow(columns), secret)
    source._may_group = lambda query, names: False  # type: ignore[method-assign]
    return source


def _parquet(domain: Domain, columns: Columns, secret: bytes) -> Source:
    """The road of large tables, from a file."""
    import tempfile

    import pyarrow.parquet as pq

    with tempfile.NamedTemporaryFile(suffix=".parquet", delete=False) as stream:
        pq.write_table(_arrow(columns), stream.name)
    FILES.append(Path(stream.name))
    source = DuckDBSource(domain, Path(stream.name), secret)
    source._may_group = lambda query, names: False  # type: ignore[method-assign]
    return source


FILES: list[Path] = []


@pytest.fixture(autouse=True, scope="module")
def _clean_up() -> Iterator[None]:
    yield
    for path in FILES:
        path.unlink(missing_ok=True)


def _arrow(columns: Columns) -> Any:
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        plain = [v for v in values if v is not None]
        kind = pa.string() if not plain else None
        if plain and type(plain[0]).__name__ == "Decimal":
            kind = pa.decimal128(12, 2)
        arrays[name] = pa.array(list(values), type=kind, from_pandas=False)
    return pa.table(arrays)


FACTORIES = {
    "memory": _memory,
    "duckdb": _duckdb,
    "duckdb, streaming": _streaming,
    "duckdb, parquet": _parquet,
}
every_factory = pytest.mark.parametrize("factory", FACTORIES.values(), ids=list(FACTORIES))


def test_every_engine_that_runs_in_process_is_here() -> None:
    assert {"memory", "duckdb"} <= set(registry.names("engines"))


@every_factory
@OWN
@given(data=st.data())
def test_tables(factory: engine_kit.Factory, data: st.DataObject) -> None:
    domain = data.draw(own.domains())
    columns = data.draw(own.columns(domain))
    engine_kit.check_table(factory, domain, columns, data.draw(own.table_queries(domain)))


@every_factory
@FEWER
@given(data=st.data())
def test_scan_and_judgement(factory: engine_kit.Factory, data: st.DataObject) -> None:
    domain = data.draw(own.domains())
    columns = data.draw(own.columns(domain))
    engine_kit.check_scan(factory, domain, columns)
    engine_kit.check_judgement(factory, domain, columns)


@every_factory
@FEWER
@given(data=st.data())
def test_values(factory: engine_kit.Factory, data: st.DataObject) -> None:
    domain = data.draw(own.domains())
    numeric = [name for name, variable in domain.variables.items() if variable.is_numeric]
    if not numeric:
        return
    columns = data.draw(own.columns(domain))
    where = (data.draw(own.filters(domain.variables[next(iter(domain.variables))])),)
    engine_kit.check_values(factory, domain, columns, ValuesQuery(value=numeric[0], where=where))


@every_factory
def test_fingerprints(factory: engine_kit.Factory) -> None:
    rows = toy_rows()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    domain = toy_domain(unit_id="person", max_rows=2)
    for name in rows[0]:
        changed = dict(columns)
        changed[name] = [*columns[name][:-1], None]
        engine_kit.check_fingerprint(factory, domain, columns, changed)


@FEWER
@given(data=st.data())
def test_csv_equals_text_in_memory(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A CSV file is text: what it holds is read as the memory engine reads the same text."""
    import csv

    domain = data.draw(own.domains())
    count = data.draw(st.integers(0, 12))
    cells = st.one_of(st.none(), own.COLUMN_KINDS["text"].filter(lambda t: t != ""))
    columns = {name: data.draw(st.lists(cells, min_size=count, max_size=count)) for name in domain.variables}
    if domain.unit_id is not None:
        columns[domain.unit_id] = data.draw(
            st.lists(st.sampled_from([None, "1", "2"]), min_size=count, max_size=count)
        )
    # One column is never empty, so that no line of the file is.
    columns["line"] = [str(i) for i in range(count)]
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(
            [["" if v is None else v for v in row] for row in zip(*columns.values(), strict=True)]
        )

    def factory(domain: Domain, columns: Columns, secret: bytes) -> Source:
        return DuckDBSource(domain, Path(path), secret)

    engine_kit.check_table(factory, domain, columns, data.draw(own.table_queries(domain)))
    engine_kit.check_judgement(factory, domain, columns)
