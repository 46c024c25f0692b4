"""The Spark engine, on this machine and on a cluster of two workers: equal to the memory engine on any data.

One virtual machine serves all tests, first as the driver of the cluster, and where that was lost on this machine. It interprets expressions and compiles little, because it lives for a minute only;
at the end on the cluster it works as it does for users.
"""

import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.docs.test_pages import blocks_of
from tests.engines.every_method import DOMAIN, SECRET, kinds_beyond_the_kit
from tests.engines.feature_data import check_features, check_lookups
from tests.engines.hostile_parquet import ROWS, with_wrong_statistics
from tests.engines.hostile_parquet import domain as hostile_domain
from tests.engines.releases import POLICY, REQUESTS, TOYS, check_demo, document, released
from tests.engines.spark_cluster import SMALL, Cluster
from tests.engines.stacked_data import (
    check_many_categories,
    check_stacked,
    stacked_columns,
    stacked_domain,
    table_queries,
)
from tests.examples.scripts import example

from dalenius.core.conditions import Filter
from dalenius.core.contracts import Source
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.query import TableQuery
from dalenius.curator.curator import Curator
from dalenius.curator.gate import fetched
from dalenius.engines import _spark_session, spark
from dalenius.engines.memory import MemorySource
from dalenius.engines.spark import SparkDialect, SparkSource
from dalenius.errors import AfterCharge, DocumentError, InternalError
from dalenius.testing import engine_kit, rule_kit
from dalenius.testing.toy import toy_domain

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")),
        reason="Spark needs Java 17 or 21, and there is no java in PATH and no JAVA_HOME",
    ),
]
QUICK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SETTINGS = dict(_spark_session._SETTINGS)


@pytest.fixture(scope="module", autouse=True)
def machine() -> Iterator[None]:
    """The session of this process, with a small heap; ended with its virtual machine."""
    start = dict(_spark_session._START)
    _spark_session._START.update(
        {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": SMALL, "spark.task.maxFailures": "4"}
    )
    _spark_session._SETTINGS.update(QUICK)
    yield
    _spark_session.stop()
    for settings, before in ((_spark_session._START, start), (_spark_session._SETTINGS, SETTINGS)):
        settings.clear()
        settings.update(before)


class Folder:
    """Where Parquet files lie, and how Spark opens them."""

    def __init__(self, path: Path, host: str = "local") -> None:
        self.path, self.host = path, host

    def address(self, columns: engine_kit.Columns) -> str:
        return f"spark://{self.host}?path={engine_kit.parquet(columns, self.path)}"

    def open(self, domain: Domain, columns: engine_kit.Columns, secret: bytes) -> Source:
        return SparkSource(domain, self.address(columns), secret)

    def open_features(
        self, domain: Domain, columns: engine_kit.Columns, others: Mapping[str, engine_kit.Columns], secret: bytes
    ) -> Source:
        further = {name: str(engine_kit.parquet(rows, self.path)) for name, rows in others.items()}
        return SparkSource(domain, self.address(columns), secret, others=further)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A master and two workers, with a session of this process that works on them; a local one that a test leaves serves the next tests."""
    from pyspark import SparkContext

    _spark_session.stop()
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setitem(_spark_session._SETTINGS, "spark.sql.shuffle.partitions", "2")
    small = {
        "spark.executor.memory": "500m",
        "spark.executor.extraJavaOptions": SMALL,
        "spark.cores.max": "2",
        "spark.locality.wait": "0",
    }
    for name, value in small.items():
        monkeypatch.setitem(_spark_session._START, name, value)
    with Cluster(tmp_path) as cluster:
        yield cluster
        context = SparkContext._active_spark_context
        if context is not None and not context.master.startswith("local"):
            _spark_session.stop()


def test_the_whole_kit_on_a_cluster_and_what_becomes_of_a_charge_when_it_is_lost(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two workers; then as users have it (adaptive and compiled) while one is killed in the middle; then on none, in the middle of a release.

    The release fails, is charged once, and is completed elsewhere for nothing more.
    """
    folder = Folder(tmp_path, f"127.0.0.1:{cluster.port}")
    check_stacked(folder.open, has_persons=False)
    check_stacked(folder.open, has_persons=True)
    check_features(folder.open_features, is_short=True)
    for name in QUICK:
        monkeypatch.delitem(_spark_session._SETTINGS, name)
    domain, columns = stacked_domain(has_persons=True), stacked_columns()
    source = folder.open(domain, columns, engine_kit.SECRET)
    memory = MemorySource(domain, columns, engine_kit.SECRET)
    end = threading.Timer(0.5, cluster.kill_a_worker, kwargs={"leaving": 1})
    end.start()
    for query in (table_queries()[4], table_queries()[10]):
        received, expected = (one.table(query).open_below_the_gate() for one in (source, memory))
        np.testing.assert_array_equal(received, expected)
    end.join()
    _lose_it_in_the_middle_of_a_release(cluster, folder, tmp_path, monkeypatch)


def _lose_it_in_the_middle_of_a_release(
    cluster: Cluster, folder: Folder, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_spark_session, "PATIENCE_SECONDS", 2.0)
    address = folder.address(TOYS)

    def opened(source: str) -> Curator:
        return Curator.open(document(source), ledger=place / "l.sqlite", policy=POLICY)

    def charges(curator: Curator) -> int:
        return sum(entry.kind == "charge" for entry in curator.ledger.reader.entries("people"))

    with opened(address) as curator:
        curator.register()
        asked = SparkSource.table

        def lost(source: SparkSource, query: TableQuery) -> Any:
            cluster.kill_everything()
            return asked(source, query)

        monkeypatch.setattr(SparkSource, "table", lost)
        with pytest.raises(AfterCharge):
            curator.release(REQUESTS[0])
        monkeypatch.setattr(SparkSource, "table", asked)
        assert charges(curator) == 1
    # The virtual machine is warm, and serves the tests on this machine.
    _spark_session.end_session()
    with opened(address.replace(folder.host, "local")) as curator:
        curator.release(REQUESTS[0])
        assert charges(curator) == 1


@pytest.mark.parametrize("has_persons", [False, True], ids=["rows", "persons"])
def test_two_hundred_data_sets_of_odd_values_at_once(folder: Folder, has_persons: bool) -> None:
    check_stacked(folder.open, has_persons=has_persons)


def test_every_feature_of_persons_in_two_tables(folder: Folder) -> None:
    check_features(folder.open_features, is_short=True)


def test_lookups_in_public_tables(folder: Folder) -> None:
    check_lookups(folder.open_features, has_persons=True, is_short=True)


def test_a_hundred_thousand_categories(folder: Folder) -> None:
    check_many_categories(folder.open)


def test_a_fingerprint_knows_rows_and_not_their_order(folder: Folder) -> None:
    changed = TOYS | {"age": [*TOYS["age"][:-1], None]}
    engine_kit.check_fingerprint(folder.open, toy_domain(), TOYS, changed)
    upside_down = {name: values[::-1] for name, values in TOYS.items()}
    first, second = (folder.open(toy_domain(), c, b"").fingerprint(b"key") for c in (TOYS, upside_down))
    assert first == second


def test_fingerprints_are_those_of_registered_data(folder: Folder) -> None:
    """However sums are taken, data that were registered keep theirs."""
    source: Any = folder.open(stacked_domain(has_persons=True), stacked_columns(), b"")
    registered = "616f92bd45f443e55e088fa5fc1466726d8ec8f9ea199af04d7b3f075d58e426"
    assert source.fingerprint(b"key") == registered


def test_files_of_this_machine_that_were_digested_are_not_digested_again(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dalenius.curator.source.SETTLED_SECONDS", -60.0)
    digested: list[object] = []
    fingerprint = SparkSource.fingerprint

    def counted(source: SparkSource, key: bytes) -> str:
        digested.append(source)
        return fingerprint(source, key)

    monkeypatch.setattr(SparkSource, "fingerprint", counted)
    address = folder.address(TOYS)

    def released_at(epsilon: int) -> int:
        digested.clear()
        request = REQUESTS[0] | {"privacy": {"definition": "pure", "epsilon": epsilon}}
        with Curator.open(document(address), ledger=tmp_path / "l.sqlite", policy=POLICY) as curator:
            if not curator.ledger.reader.is_registered("jobs"):
                curator.register()
            curator.release(request)
            return len(digested)

    assert [released_at(1), released_at(2)] == [1, 0]
    source: Any = folder.open(toy_domain(), TOYS, b"")
    assert source.changed_at() is not None
    # Workers elsewhere may see another file under the same name.
    source._frame._address = replace(source._frame._address, master="spark://elsewhere:7077")
    assert source.changed_at() is None
    path = Path(address.partition("path=")[2])
    os.utime(path, ns=(1, 1))
    assert released_at(3) == 1


class OffByOne(SparkDialect):
    """A value at an edge is counted below it."""

    def place(self, expression: str, edges: tuple[int, ...]) -> str | None:
        return super().place(f"({expression} - 1)", edges)


class Narrow(SparkDialect):
    """A sum is taken in doubles: it never overflows, and is wrong where it is large."""

    def total(self, expression: str) -> str:
        return f"CAST(sum(CAST({expression} AS DOUBLE)) AS DECIMAL(38, 0))"


class NullIsZero(SparkDialect):
    """A missing number is read as 0."""

    def whole(self, column: str, kind: str) -> str | None:
        expression = super().whole(column, kind)
        return None if expression is None else f"coalesce({expression}, 0)"


@pytest.mark.parametrize("fault", [OffByOne, Narrow, NullIsZero])
def test_a_planted_fault_is_found(folder: Folder, fault: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "SparkDialect", fault)
    with pytest.raises(AssertionError):
        check_stacked(folder.open, has_persons=False)


def test_releases_are_the_same_as_from_a_file_byte_by_byte(folder: Folder, tmp_path: Path) -> None:
    assert released("spark", folder.address(TOYS), tmp_path) == released("duckdb", "", tmp_path)


def test_every_kind_of_question_of_any_method_is_answered_as_from_memory(folder: Folder) -> None:
    """No method is refused: what the stacked data sets do not ask already is asked here."""
    memory = MemorySource(DOMAIN, rule_kit.ROWS, SECRET)
    source = folder.open(DOMAIN, rule_kit.ROWS, SECRET)
    for query in kinds_beyond_the_kit().values():
        received, expected = (fetched(one, query).open_below_the_gate() for one in (source, memory))
        assert list(received) == list(expected), query


def test_what_spark_says_does_not_reach_the_user(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    source: Any = folder.open(toy_domain(), TOYS, b"")
    for call in (source._frame.run, source._frame.stream):
        with pytest.raises(InternalError) as caught:
            list(call(f"SELECT CAST(region AS INT) FROM {source._frame.relation}"))
        assert str(caught.value) == "The data could not be read by the engine."
    assert capfd.readouterr().err == ""


def test_a_stamp_tells_whether_a_file_may_have_changed(folder: Folder) -> None:
    source: Any = folder.open(toy_domain(), TOYS, b"")
    before = source.stamp()
    assert source.stamp() == before
    [path] = source._frame.files()
    os.utime(path, ns=(1, 1))
    assert source.stamp() != before


@pytest.mark.parametrize("content", ["text", "cut", "nested", "other columns"])
def test_hostile_parquet_is_refused_without_a_word_of_its_content(tmp_path: Path, content: str) -> None:
    path = tmp_path / "hostile.parquet"
    table = engine_kit.arrow(TOYS)
    match content:
        case "text":
            path.write_text("PAR1 nowhere PAR1")
        case "cut":
            pq.write_table(table, path)
            path.write_bytes(path.read_bytes()[:-40] + b"PAR1")
        case "nested":
            nested = pa.array([["nowhere"]] * table.num_rows)
            pq.write_table(table.set_column(table.schema.get_field_index("region"), "region", nested), path)
        case _:
            pq.write_table(pa.table({"nowhere": [1]}), path)
    with pytest.raises(Exception) as caught:
        SparkSource(toy_domain(), f"spark://local?path={path}")
    assert "nowhere" not in str(caught.value) and not isinstance(caught.value, InternalError)


def test_wrong_statistics_change_no_answer(tmp_path: Path) -> None:
    path, domain = with_wrong_statistics(tmp_path / "lie.parquet"), hostile_domain(has_persons=False)
    axis = Axis(variable="group", labels=("a", "b", "other"), codes=(0, 1, 2))
    query = TableQuery(space=CellSpace((axis,)), where=(Filter(variable="amount", low=6),))
    received, expected = (
        source.table(query).open_below_the_gate().tolist()
        for source in (SparkSource(domain, f"spark://local?path={path}"), MemorySource(domain, ROWS))
    )
    assert received == expected


def test_the_demo_runs_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_demo("spark", tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "address",
    [
        "spark://local?path=relative/nowhere",
        "spark://local",
        "spark://someone:nowhere@host:7077?path=/data",
        "spark://host:nowhere?path=/data",
        "spark://host:7077?path=/data&token=nowhere",
        "spark://host:7077/nowhere?path=/data",
    ],
)
def test_an_address_holds_a_host_and_a_path_and_nothing_else(address: str) -> None:
    with pytest.raises(DocumentError) as caught:
        SparkSource(toy_domain(), address)
    assert "nowhere" not in str(caught.value)


def test_a_process_has_one_cluster(folder: Folder) -> None:
    folder.open(toy_domain(), TOYS, b"")
    with pytest.raises(DocumentError, match="another Spark cluster"):
        SparkSource(toy_domain(), "spark://127.0.0.1:1?path=/data")


def test_the_example_runs(tmp_path: Path) -> None:
    release = example("spark_folder").release("spark://local", tmp_path)
    assert [round(value) for value in release.values] == pytest.approx([19, 19], abs=6)


def test_the_how_to_page_runs_word_for_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "count-with-spark.md"
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "page"}
    blocks = [block for block in blocks_of(page) if block.language != "text"]
    assert {block.language for block in blocks} == {"python"}
    for block in blocks:
        exec(compile(block.text, str(block), "exec"), space)
    assert (tmp_path / "release" / "release.json").exists()
