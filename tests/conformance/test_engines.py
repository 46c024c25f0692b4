"""Every engine equals the memory engine on generated data, odd values and persons with several rows included."""

import csv
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.engines import strategies as own
from tests.engines.stacked_data import check_stacked

from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.engines.duckdb import DuckDBSource
from dalenius.testing import engine_kit

Columns = Mapping[str, Sequence[Any]]
CASES = 10
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


FACTORIES = engine_kit.factories(FOLDER) | {"duckdb, streaming": _streaming, "duckdb, parquet": _parquet}
every_factory = pytest.mark.parametrize("factory", FACTORIES.values(), ids=list(FACTORIES))


@pytest.mark.parametrize("name", engine_kit.elsewhere())
def test_an_engine_with_a_server_of_its_own_runs_the_kit_in_its_own_test(name: str) -> None:
    text = (Path(__file__).parent.parent / "engines" / f"test_{name}.py").read_text()
    assert "check_stacked(" in text and "check_fingerprint(" in text


@every_factory
def test_every_call_on_toy_data(factory: engine_kit.Factory) -> None:
    engine_kit.check(factory)


@pytest.fixture(scope="module")
def cases() -> tuple[own.Case, ...]:
    return own.generated(CASES)


@every_factory
def test_every_call_on_generated_data(factory: engine_kit.Factory, cases: tuple[own.Case, ...]) -> None:
    own.check_cases(factory, cases)


@st.composite
def _text_cases(draw: st.DrawFn) -> own.Case:
    """Data of which every value is text, with a column that is never empty, so that no line of the file is."""
    domain = draw(own.domains(most=8))
    count = draw(st.integers(0, 12))
    texts = st.one_of(st.none(), own.COLUMN_KINDS["text"].filter(lambda t: t != ""))
    columns = {name: draw(st.lists(texts, min_size=count, max_size=count)) for name in domain.variables}
    if domain.unit_id is not None:
        persons = st.sampled_from([None, "1", "2"])
        columns[domain.unit_id] = draw(st.lists(persons, min_size=count, max_size=count))
    tables = tuple(draw(own.table_queries(domain)) for _ in range(4))
    columns["line"] = [str(i) for i in range(count)]
    return own.Case(domain=domain, columns=columns, tables=tables)


def _csv(domain: Domain, columns: Columns, secret: bytes) -> Source:
    with tempfile.NamedTemporaryFile(
        "w", dir=FOLDER, suffix=".csv", newline="", encoding="utf-8", delete=False
    ) as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        rows = zip(*columns.values(), strict=True)
        writer.writerows([["" if v is None else v for v in row] for row in rows])
    return DuckDBSource(domain, Path(stream.name), secret)


def test_csv_equals_text_in_memory() -> None:
    """A CSV file is text: what it holds is read as the memory engine reads the same text."""
    own.check_cases(_csv, own.different(_text_cases(), 16))


@every_factory
@pytest.mark.parametrize("has_persons", [False, True], ids=["rows", "persons"])
def test_two_hundred_data_sets_of_odd_values_at_once(factory: engine_kit.Factory, has_persons: bool) -> None:
    check_stacked(factory, has_persons=has_persons)
