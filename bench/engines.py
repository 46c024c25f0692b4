"""A release from PostgreSQL and from Spark against their own GROUP BY, in one session; and whole processes beside Tumult Analytics.

The rows are those of `scale`, without persons: 2,310 cells of three columns. A release is everything: plan, charge, statement, noise, document. The
work is done in other processes, so seconds are those of the clock, and the least of several rounds that take turns. A whole process starts its virtual
machine, opens the file, releases one table and ends: ours once with the registration, which digests the file, and once without, when the file is known.

`--rows=1e6` chooses the size, `--only=spark` the engine (`--only=none` none of them), `--peer=/path/to/python` an environment with Tumult Analytics.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.scale import CATEGORIES, make_rows

COLUMNS = ("a", "b", "c")
_POLICY = {"budget": {"rho": 900, "delta": 0}}
_THEIRS = """
import sys
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").config("spark.driver.memory", "2g").getOrCreate()
frame = spark.read.parquet(sys.argv[1]).select("a", "b", "c")
session = Session.from_dataframe(PureDPBudget(1), "p", frame, protected_change=AddOneRow())
keys = KeySet.from_dict({"a": list(range(11)), "b": list(range(21)), "c": list(range(10))})
assert len(session.evaluate(QueryBuilder("p").groupby(keys).count(), PureDPBudget(1)).collect()) == 2310
spark.stop()
"""
_OURS = """
import sys
from bench.engines import opened, request
with opened("spark://local?path=" + sys.argv[1], sys.argv[2], "2g") as curator:
    curator.register() if sys.argv[3] == "register" else None
    assert curator.release(request(int(sys.argv[4]))).table.values.size == 2310
"""


def run(quick: bool = False, rows: str = "", only: str = "", peer: str = "") -> dict[str, object]:
    """Ratios for each engine, and seconds of whole processes."""
    size = int(float(rows)) if rows else 200_000 if quick else 10_000_000
    results: dict[str, object] = {"rows": size}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        file = make_rows(folder, size)
        for name, measure in (("postgresql", _postgresql), ("spark", _spark)):
            if only in ("", name):
                results[name] = measure(file, folder, 3 if quick else 7)
                print(name, results[name], flush=True)
        if peer:
            results["whole process, s"] = _processes(file, folder, peer)
    return results


def request(number: int) -> dict[str, Any]:
    """One table; another number is another request, which no stored release answers."""
    privacy = {"definition": "pure", "epsilon": f"1.{number:03d}"}
    return {"table": {"rows": list(COLUMNS)}, "privacy": privacy}


@contextmanager
def opened(source: str, ledger: str, memory: str = "") -> Iterator[Any]:
    """A curator on the rows, with a heap of this size where it is Spark's."""
    from dalenius import Curator
    from dalenius.engines import _spark_session

    if memory:
        _spark_session._START["spark.driver.memory"] = memory
    document = {
        "dataset": {"name": "bench", "population": "bench", "source": source},
        "variables": {c: {"categories": [str(i) for i in range(CATEGORIES[c])]} for c in COLUMNS},
    }
    with Curator.open(document, ledger=ledger, policy=_POLICY) as curator:
        yield curator


def _turns(curator: Any, plain: Callable[[], int], rounds: int) -> dict[str, float]:
    """The least seconds of a release and of the plain statement, one after the other."""
    curator.register()
    curator.release(request(0))
    seconds: dict[str, list[float]] = {"release": [], "plain": []}
    for number in range(1, rounds + 1):
        for name, work in (("plain", plain), ("release", lambda n=number: curator.release(request(n)))):
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    least = {name: min(times) for name, times in seconds.items()}
    return {name: round(s, 3) for name, s in least.items()} | {"ratio": round(least["release"] / least["plain"], 3)}


def _spark(file: Path, folder: Path, rounds: int) -> dict[str, float]:
    from dalenius.engines import _spark_session

    with opened(f"spark://local?path={file}", str(folder / "spark.sqlite"), "2g") as curator:
        frame = curator.source._frame
        chosen = ", ".join(COLUMNS)
        statement = f"SELECT {chosen}, count(*) AS n FROM {frame.relation} GROUP BY {chosen}"
        answer = _turns(curator, lambda: len(frame._session.sql(statement).collect()), rounds)
    _spark_session.stop()
    return answer


def _postgresql(file: Path, folder: Path, rounds: int) -> dict[str, float]:
    import psycopg
    from tests.ledger.conftest import Server

    home = Path(tempfile.mkdtemp(prefix="dalenius-bench-"))
    server = Server(home)
    try:
        with psycopg.connect(server.database("bench"), autocommit=True, connect_timeout=10) as owner:
            owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
            owner.execute(f"CREATE TABLE public.rows ({', '.join(f'{c} integer' for c in COLUMNS)})")
            _copy(owner, file)
            owner.execute("VACUUM ANALYZE public.rows")
            owner.execute("CREATE ROLE reader LOGIN")
            owner.execute("GRANT SELECT ON public.rows TO reader")
            address = f"postgresql://reader@127.0.0.1:{server.port}/bench?table=public.rows"
            chosen = ", ".join(COLUMNS)
            statement = f"SELECT {chosen}, count(*) FROM public.rows GROUP BY {chosen}"
            with opened(address, str(folder / "postgresql.sqlite")) as curator:
                return _turns(curator, lambda: len(owner.execute(statement).fetchall()), rounds)
    finally:
        server.kill()


def _copy(owner: Any, file: Path) -> None:
    import duckdb

    with duckdb.connect() as reader, owner.cursor().copy("COPY public.rows FROM STDIN WITH (FORMAT csv)") as copy:
        rows = reader.execute(f"SELECT a || ',' || b || ',' || c || chr(10) FROM '{file}'")
        while batch := rows.fetchmany(200_000):
            copy.write("".join(row[0] for row in batch))


def _processes(file: Path, folder: Path, peer: str) -> dict[str, list[float]]:
    """Seconds from the start of a process to its end, in turns."""
    ledger = str(folder / "whole.sqlite")
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    seconds: dict[str, list[float]] = {"ours with registration": [], "ours": [], "Tumult Analytics": []}
    for number in range(3):
        commands = {
            "ours with registration": [sys.executable, "-c", _OURS, str(file), f"{ledger}.{number}", "register", "1"],
            "ours": [sys.executable, "-c", _OURS, str(file), f"{ledger}.{number}", "", "2"],
            "Tumult Analytics": [peer, "-c", _THEIRS, str(file)],
        }
        for name, command in commands.items():
            start = time.perf_counter()
            # Workers of Spark find the packages of the environment that started them.
            env = here | {"PYSPARK_PYTHON": command[0]}
            subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds[name].append(round(time.perf_counter() - start, 1))
    return seconds
