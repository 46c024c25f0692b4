"""The PostgreSQL engine on a real server: equal to the memory engine on any data, with a role that may only read."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.docs.test_pages import _document, _shell, blocks_of
from tests.engines import strategies as own
from tests.engines.every_method import DOMAIN, SECRET, answered, runs
from tests.engines.feature_data import check_features, check_lookups
from tests.engines.postgresql_tables import Tables
from tests.engines.releases import POLICY, REQUESTS, TOYS, check_demo, document, released
from tests.engines.stacked_data import check_many_categories, check_stacked
from tests.examples.scripts import example
from tests.ledger.conftest import Server

from dalenius.core import registry
from dalenius.core.domain import CellSpace
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.engines import _pushdown, postgresql
from dalenius.engines._choice import engine_for
from dalenius.engines._labels import label_statements
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.postgresql import PostgreSQLDialect, PostgreSQLSource
from dalenius.errors import AfterCharge, DataChanged, DocumentError, InternalError
from dalenius.testing import engine_kit, rule_kit
from dalenius.testing.toy import toy_domain, toy_rows

pytestmark = pytest.mark.postgres
OWN = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
TOTAL = TableQuery(space=CellSpace(()))
SECRET_WORD = "correct-horse"


@pytest.fixture(scope="module")
def tables() -> Iterator[Tables]:
    folder = Path(tempfile.mkdtemp(prefix="dalenius-postgres-"))
    server = Server(folder)
    tables = Tables(server)
    yield tables
    tables.close()
    server.kill()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def toys(tables: Tables) -> str:
    """The address of the toy data."""
    return tables.source(tables.load(TOYS))


def counted(source: PostgreSQLSource) -> int:
    return int(source.table(TOTAL).open_below_the_gate()[0])


def test_every_call_on_toy_data(tables: Tables) -> None:
    engine_kit.check(tables.open)  # check_fingerprint( and all others


@pytest.mark.parametrize("has_persons", [False, True], ids=["rows", "persons"])
def test_two_hundred_data_sets_of_odd_values_at_once(tables: Tables, has_persons: bool) -> None:
    check_stacked(tables.open, has_persons=has_persons)


def test_every_feature_of_persons_in_two_tables(tables: Tables) -> None:
    """Some persons are made by the server, and some here: both roads are taken."""
    opened = []

    def open_features(*given: Any) -> PostgreSQLSource:
        opened.append(tables.open_features(*given))
        return opened[-1]

    check_features(open_features)
    pushed = opened[0]._pushed
    made_here, all_persons = len(pushed._chosen()["set"]), opened[0].judge()["units"]
    assert all_persons / 10 < made_here < all_persons * 9 / 10


class LastIsFirst(PostgreSQLDialect):
    """The row of the latest day is taken."""

    def first(self, day: str, code: str, condition: str) -> str:
        return super().first(f"- {day}", code, condition)


def test_a_planted_fault_of_a_feature_is_found(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "PostgreSQLDialect", LastIsFirst)
    with pytest.raises(AssertionError):
        check_features(tables.open_features)


@pytest.mark.parametrize("has_persons", [False, True], ids=["rows", "persons"])
def test_lookups_in_public_tables(tables: Tables, has_persons: bool) -> None:
    check_lookups(tables.open_features, has_persons=has_persons)


def test_a_hundred_thousand_categories(tables: Tables) -> None:
    check_many_categories(tables.open)


@OWN
@given(data=st.data())
def test_tables(tables: Tables, data: st.DataObject) -> None:
    domain = data.draw(own.domains())
    columns = data.draw(own.columns(domain))
    pair = engine_kit.SourcePair.opened(tables.open, domain, columns)
    pair.check_table(data.draw(own.table_queries(domain)))


class OffByOne(PostgreSQLDialect):
    """A value at an edge is counted below it."""

    def place(self, expression: str, edges: tuple[int, ...]) -> str | None:
        return super().place(f"{expression} - 1", edges)


class Narrow(PostgreSQLDialect):
    """A sum is taken in doubles: it never overflows, and is wrong where it is large."""

    def total(self, expression: str) -> str:
        return f"CAST(sum(CAST({expression} AS DOUBLE PRECISION)) AS NUMERIC)"


class AlmostWide(PostgreSQLDialect):
    """A product is taken in doubles where 64 bits do not hold it."""

    def wide(self, expression: str) -> str:
        return f"CAST({expression} AS DOUBLE PRECISION)"


class NullIsZero(PostgreSQLDialect):
    """A missing number is read as 0."""

    def whole(self, column: str, kind: str) -> str | None:
        expression = super().whole(column, kind)
        return None if expression is None else f"coalesce({expression}, 0)"


@pytest.mark.parametrize("fault", [OffByOne, Narrow, AlmostWide, NullIsZero])
def test_a_planted_fault_is_found(tables: Tables, fault: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "PostgreSQLDialect", fault)
    with pytest.raises(AssertionError):
        check_stacked(tables.open, has_persons=False)


def test_columns_of_other_types_are_read_as_their_text(tables: Tables) -> None:
    """Fixed-width text, small and wide numbers, times, an enumeration and a case-blind collation."""
    tables.owner.execute("CREATE TYPE office.size AS ENUM ('small', 'large')")
    tables.owner.execute(
        "CREATE COLLATION office.blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    tables.owner.execute(
        "CREATE TABLE office.rare (a char(5), b smallint, c real, d timestamp, e office.size, f text COLLATE office.blind,"
        ' g numeric, "odd ""name%" uuid)'
    )
    tables.owner.execute(
        "INSERT INTO office.rare VALUES ('x', 7, 0.1, '2020-01-02 03:04:05', 'large', 'A', 'Infinity', NULL),"
        " (NULL, -7, 'NaN', NULL, NULL, 'a', '1e200', '00000000-0000-0000-0000-000000000001')"
    )
    tables.owner.execute("GRANT USAGE ON SCHEMA office TO reader")
    labels = {
        "a": ["x"],
        "b": ["7", "-7"],
        "c": ["0.10000000149011612"],
        "d": ["2020-01-02 03:04:05"],
        "e": ["small", "large"],
        "f": ["a", "A"],
        'odd "name%': ["00000000-0000-0000-0000-000000000001"],
    }
    document = {
        "dataset": {"name": "rare", "population": "rare", "source": tables.source("rare")},
        "variables": {f"v{i}": {"column": n, "categories": texts} for i, (n, texts) in enumerate(labels.items())}
        | {"g": {"bounds": [0, 10], "step": 1}},
    }
    from dalenius.engines._choice import open_source
    from dalenius.spec.load import load_dataset

    source = open_source(load_dataset(document))
    batches = list(source.scan([*(f"v{i}" for i in range(7)), "g"]))
    rows = [tuple(int(batch[n][i]) for n in batch) for batch in batches for i in range(len(batch["g"]))]
    assert sorted(rows) == sorted([(0, 0, 0, 0, 1, 1, -1, 10), (-1, 1, -1, -1, -1, 0, 0, 10)])
    assert source.fingerprint(b"key") == source.fingerprint(b"key")


def refused(address: str) -> str:
    with pytest.raises(DocumentError) as caught:
        PostgreSQLSource(toy_domain(), address)
    return str(caught.value)


@pytest.mark.parametrize(
    ("grant", "undo", "said"),
    [
        ("GRANT INSERT ON office.other TO reader", "REVOKE INSERT ON office.other FROM reader", "change one"),
        ("GRANT UPDATE (x) ON office.other TO reader", "REVOKE UPDATE (x) ON office.other FROM reader", "change one"),
        ("GRANT CREATE ON SCHEMA office TO reader", "REVOKE CREATE ON SCHEMA office FROM reader", "create tables"),
        ("ALTER ROLE reader CREATEROLE", "ALTER ROLE reader NOCREATEROLE", "create roles"),
        ("GRANT writer TO reader", "REVOKE writer FROM reader", "change one"),
        ("GRANT pg_write_all_data TO reader", "REVOKE pg_write_all_data FROM reader", "write all data"),
    ],
)
def test_a_role_that_may_do_more_than_read_is_refused(
    tables: Tables, toys: str, grant: str, undo: str, said: str
) -> None:
    """Directly, in one column, anywhere in the database, or by a role that it could take on."""
    tables.owner.execute("CREATE TABLE IF NOT EXISTS office.other (x integer)")
    tables.owner.execute(
        "DO $$ BEGIN CREATE ROLE writer NOLOGIN; GRANT DELETE ON office.other TO writer;"
        " EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    )
    tables.owner.execute("ALTER ROLE reader NOINHERIT")
    tables.owner.execute(grant)
    try:
        assert said in refused(toys)
    finally:
        tables.owner.execute(undo)
    assert counted(PostgreSQLSource(toy_domain(), toys)) == len(toy_rows())


def test_the_owner_is_refused(tables: Tables, toys: str) -> None:
    message = refused(toys.replace("reader@", "ledger@"))
    assert "superuser" in message and "owns a table" in message


def test_only_tables_whose_rows_are_all_seen_are_read(tables: Tables) -> None:
    name = tables.load(TOYS)
    tables.owner.execute(f"CREATE VIEW office.shown AS SELECT * FROM office.{name}")
    assert "materialised view" in refused(tables.source("shown"))
    tables.owner.execute(f"CREATE MATERIALIZED VIEW office.kept AS SELECT * FROM office.{name}")
    tables.owner.execute("GRANT SELECT ON office.kept TO reader")
    assert counted(PostgreSQLSource(toy_domain(), tables.source("kept"))) == len(toy_rows())
    tables.owner.execute(f"ALTER TABLE office.{name} ENABLE ROW LEVEL SECURITY")
    tables.owner.execute(f"CREATE POLICY older ON office.{name} FOR SELECT USING (age > 50)")
    assert "row security" in refused(tables.source(name))
    assert "may read" in refused(tables.source("nowhere"))


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://reader:{SECRET_WORD}@127.0.0.1/db?table=t",
        f"postgresql://reader@127.0.0.1/db?table=t&password={SECRET_WORD}",
        f"postgresql://reader@127.0.0.1/db?table=t&sslpassword={SECRET_WORD}",
        f"postgresql://reader@127.0.0.1/db?table=t&options={SECRET_WORD}",
        f"postgresql://reader@127.0.0.1:{SECRET_WORD}/db?table=t",
        f"postgresql://reader@127.0.0.1/?table={SECRET_WORD}",
        f"postgresql://reader@127.0.0.1/db?table=a.b.{SECRET_WORD}",
    ],
)
def test_an_address_holds_no_password_and_a_refusal_none_of_the_address(address: str) -> None:
    assert SECRET_WORD not in refused(address)


def test_a_password_comes_from_the_environment_or_from_a_file_that_only_its_owner_reads(
    tables: Tables, toys: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.owner.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{SECRET_WORD}'")
    tables.owner.execute("GRANT reader TO guarded")
    rules = tables.server.data / "pg_hba.conf"
    rules.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
    tables.owner.execute("SELECT pg_reload_conf()")
    address, home = toys.replace("reader@", "guarded@"), tmp_path / "passwords"
    home.write_text(f"*:*:*:guarded:{SECRET_WORD}\n")
    monkeypatch.setenv("PGPASSFILE", str(home))
    home.chmod(0o644)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    assert SECRET_WORD not in refused(address)
    home.chmod(0o600)
    assert counted(PostgreSQLSource(toy_domain(), address)) == len(toy_rows())
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    monkeypatch.setenv("PGPASSWORD", SECRET_WORD)
    assert counted(PostgreSQLSource(toy_domain(), address)) == len(toy_rows())
    monkeypatch.setenv("PGSERVICE", "somewhere")
    assert "PGSERVICE" in refused(address)


def test_what_the_server_says_does_not_reach_the_user(tables: Tables, toys: str) -> None:
    source = PostgreSQLSource(toy_domain(), toys)
    for broken in ("SELECT 1 / (age - 34) FROM", "SELECT CAST(region AS INTEGER) FROM"):
        for call in (source._session.run, source._session.stream):
            with pytest.raises(InternalError) as caught:
                list(call(f"{broken} {source._tables[''].relation}"))
            assert str(caught.value) == "The data could not be read by the engine."
    assert counted(source) == len(toy_rows()), "the next question opens another connection"


def test_a_fingerprint_knows_rows_and_not_their_order(tables: Tables) -> None:
    def digest(columns: dict[str, list[Any]]) -> str:
        return tables.open(toy_domain(), columns, b"").fingerprint(b"key")

    first = digest(TOYS)
    assert digest({name: values[::-1] for name, values in TOYS.items()}) == first
    assert digest({name: [*values, values[0]] for name, values in TOYS.items()}) != first
    texts = {name: [""] if isinstance(values[0], str) else [None] for name, values in TOYS.items()}
    nothing = {name: [None] for name in TOYS}
    kinds = {"age": "bigint", "income": "double precision"}
    seen = {
        PostgreSQLSource(toy_domain(), tables.source(tables.load(columns, kinds))).fingerprint(b"key")
        for columns in (texts, nothing)
    }
    assert len(seen) == 2


def test_what_was_digested_is_what_is_counted(tables: Tables) -> None:
    """A change is not seen by an open source, and is by the next connection; without one the state stays the same."""
    name = tables.load(TOYS)
    source = PostgreSQLSource(toy_domain(), tables.source(name))
    state, digest = source.stamp(), source.fingerprint(b"key")
    source.close()
    assert source.stamp() == state, "nothing changed in the database"
    tables.owner.execute(f"INSERT INTO office.{name} (age) VALUES (50)")
    assert (counted(source), source.fingerprint(b"key"), source.stamp()) == (len(toy_rows()), digest, state)
    source.close()
    assert source.stamp() != state
    assert (counted(source), source.fingerprint(b"key") == digest) == (len(toy_rows()) + 1, False)


def test_releases_are_the_same_from_every_engine_byte_by_byte(toys: str, tmp_path: Path) -> None:
    """The same rows of each person count, and the same noise makes the same document."""
    assert released("postgresql", toys, tmp_path) == released("duckdb", "", tmp_path)
    assert released("memory", "", tmp_path) == released("duckdb", "", tmp_path)


def test_every_method_is_answered_as_from_memory(tables: Tables) -> None:
    """No method is refused: blocks and resampled files are drawn from values that the server sends sorted."""
    engines = {
        "postgresql": tables.open(DOMAIN, rule_kit.ROWS, SECRET),
        "duckdb": DuckDBSource(DOMAIN, engine_kit.arrow(rule_kit.ROWS), SECRET),
    }
    methods = {run.name for run in runs(1)}
    assert methods == set(registry.names("methods"))
    for run in runs(1):
        for engine, source in engines.items():
            assert answered(run.plan, source) == run.values, (engine, run.name)


def test_a_text_counted_twice_for_a_person_is_found(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(*given: Any) -> tuple[str, ...]:
        return tuple(statement.replace("DISTINCT ", "") for statement in label_statements(*given))

    monkeypatch.setattr(_pushdown, "label_statements", plain)
    with pytest.raises(AssertionError, match="not declared"):
        check_stacked(tables.open, has_persons=True)


def test_a_changed_table_is_noticed(tables: Tables, tmp_path: Path) -> None:
    name = tables.load(TOYS)
    with Curator.open(
        document(tables.source(name)), ledger=tmp_path / "l.sqlite", policy=POLICY, rng=RecordedRandomness(1)
    ) as curator:
        curator.register()
        curator.source.close()
        tables.owner.execute(f"UPDATE office.{name} SET age = 36 WHERE age = 35")
        with pytest.raises(DataChanged):
            curator.release(REQUESTS[0])
        charges = [entry for entry in curator.ledger.reader.entries("people") if entry.kind == "charge"]
        assert not charges


def test_a_server_that_restarts_in_the_middle_is_charged_once(
    tables: Tables, toys: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The measurement fails closed, and whoever asks again gets the release for the same charge."""
    with Curator.open(
        document(toys), ledger=tmp_path / "l.sqlite", policy=POLICY, rng=RecordedRandomness(1)
    ) as curator:
        curator.register()
        answer = curator.source.table

        def interrupted(query: TableQuery) -> Any:
            tables.server.kill()
            return answer(query)

        with monkeypatch.context() as patch:
            patch.setattr(curator.source, "table", interrupted)
            with pytest.raises(AfterCharge) as caught:
                curator.release(REQUESTS[0])
        assert "127.0.0.1" not in str(caught.value)
        tables.server.start()
        tables.connect()
        release = curator.release(REQUESTS[0])
        charges = [entry for entry in curator.ledger.reader.entries("people") if entry.kind == "charge"]
        assert len(charges) == 1 and release.provenance.ledger_entry == caught.value.detail["entry"]


def test_the_how_to_page_runs_word_for_word(tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's port comes from the environment, as the client library has it."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "keep-data-in-postgresql.md"
    monkeypatch.setenv("PGPORT", str(tables.server.port))
    (tmp_path / ".venv").symlink_to(sys.prefix)
    url = tables.server.database("office")
    written: set[str] = set()
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as owner:
        for block in blocks_of(page):
            if block.language == "sql":
                owner.execute(block.text)
            elif block.language == "sh":
                _shell(tmp_path, block.text)
            else:
                _document(tmp_path, block, written, [])
    assert (tmp_path / "release").is_dir() and not (tmp_path / "later").exists()


def test_the_example_runs(tables: Tables, tmp_path: Path) -> None:
    jobs = {"person": [k % 400 for k in range(1000)], "work": ["office" if k % 3 else "farm" for k in range(1000)]}
    table = tables.load(jobs | {"hours": [k % 40 for k in range(1000)]})
    release = example("postgresql_table").release(tables.source(table), tmp_path)
    assert [round(value) for value in release.values] == pytest.approx([19, 19], abs=6)


def test_the_demo_runs_on_a_server_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_demo("postgres", tmp_path, monkeypatch)


def test_the_address_decides_the_engine() -> None:
    assert engine_for("postgresql://reader@db.example/census?table=persons") is PostgreSQLSource
    assert engine_for("postgresql.csv") is not PostgreSQLSource
