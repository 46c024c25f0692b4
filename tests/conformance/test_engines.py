"""Every engine equals the memory engine on generated data, odd values and persons with several rows included."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.core.query import ValuesQuery
from dalenius.engines.duckdb import DuckDBSource
from dalenius.testing import engine_kit
from dalenius.testing import strategies as own
from dalenius.testing.stacked_data import check_stacked

Columns = Mapping[str, Sequence[Any]]
OWN = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
FEWER = settings(OWN, max_examples=25)


FOLDER = Path(tempfile.mkdtemp(prefix="engines-"))


@pytest.fixture(autouse=True, scope="module")
def _clean_up() -> Iterator[None]:
    yield
    shutil.rmtree(FOLDER, ignore_errors=True)


def _streaming(domain: Domain, columns: Columns, secret: bytes) -> Source:
    """The road of large tables, on small ones."""
    source = DuckDBSource(domain, engine_kit.arrow(columns), secret)
    source._may_group = lambda query, names: False  # type: ignore[method-assign]
    return source


def _parquet(domain: Domain, columns: Columns, secret: bytes) -> Source:
    """The road of large tables, from a file."""
    source = DuckDBSource(domain, engine_kit.parquet(columns, FOLDER), secret)
    source._may_group = lambda query, names: False  # type: ignore[method-assign]
    return source


ELSEWHERE = ("postgresql",)
FACTORIES = engine_kit.factories(FOLDER, ELSEWHERE) | {
    "duckdb, streaming": _streaming,
    "duckdb, parquet": _parquet,
}
every_factory = pytest.mark.parametrize("factory", FACTORIES.values(), ids=list(FACTORIES))


@pytest.mark.parametrize("name", ELSEWHERE)
def test_an_engine_with_a_server_of_its_own_runs_the_kit_in_its_own_test(name: str) -> None:
    text = (Path(__file__).parent.parent / "engines" / f"test_{name}.py").read_text()
    assert "engine_kit.check(" in text


@every_factory
def test_every_call_on_toy_data(factory: engine_kit.Factory) -> None:
    engine_kit.check(factory)


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


@every_factory
@pytest.mark.parametrize("has_persons", [False, True], ids=["rows", "persons"])
def test_two_hundred_data_sets_of_odd_values_at_once(factory: engine_kit.Factory, has_persons: bool) -> None:
    check_stacked(factory, has_persons=has_persons)
