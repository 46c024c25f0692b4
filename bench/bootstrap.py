"""Fifty bootstrap replicates of twenty totals from a Parquet file against one plain pass over it: time and peak memory, in one run.

The private path reads the file, draws all multiplicities and all noise exactly, and sums; the plain path groups and sums once. Seconds are
processor time of all threads, which other work on a machine hardly changes. Both paths are timed in turn in one fresh process, the best
of several rounds counts, and memory is the largest resident size of a fresh process that
runs the private path alone. `narrow` has 101 different values, which are counted and drawn together; `wide` has a million.
"""

import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

CELLS, REPLICATES = 20, 50
VALUES = {"narrow": 100, "wide": 1_000_000}
LIMITS = {"time": 40, "megabytes": 3000}


def run(quick: bool = False) -> dict[str, object]:
    """Ratios for each range of values."""
    rows = 1_000_000 if quick else 10_000_000
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, largest in VALUES.items():
            path = _make_rows(Path(folder), rows, largest)
            timed = _measure(path, largest, ["plain", "private"], rounds=2)
            memory = _measure(path, largest, ["private"], rounds=1)["megabytes"]
            results.append(
                {
                    "rows": rows,
                    "values": name,
                    "plain_seconds": round(timed["plain"], 3),
                    "private_seconds": round(timed["private"], 3),
                    "time_ratio": round(timed["private"] / timed["plain"], 1),
                    "private_megabytes": round(memory),
                }
            )
    return {"bootstrap": results, "limits": LIMITS}


def _make_rows(folder: Path, rows: int, largest: int) -> str:
    import duckdb

    path = folder / f"rows{largest}.parquet"
    values = f"(hash(i) % {CELLS})::INTEGER AS g, (hash(3 * i + 1) % {largest + 1})::INTEGER AS x"
    duckdb.sql("SET enable_progress_bar = false")
    duckdb.sql(f"COPY (SELECT {values} FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)")
    return str(path)


def _measure(path: str, largest: int, jobs: list[str], rounds: int) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(path, largest, jobs, rounds, sender))
    child.start()
    figures: dict[str, float] = json.loads(receiver.recv())
    child.join()
    return figures


def _child(path: str, largest: int, jobs: list[str], rounds: int, sender: Any) -> None:
    every = {"plain": _plain(path), "private": _private(path, largest)}
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name in jobs:
            started = time.process_time()
            every[name]()
            best[name] = min(best[name], time.process_time() - started)
    sender.send(json.dumps(best | {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def _plain(path: str) -> Callable[[], object]:
    import duckdb

    def job() -> object:
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            statement = f"SELECT g, count(*), sum(x) FROM read_parquet('{path}') GROUP BY g"
            return connection.execute(statement).fetchnumpy()

    return job


def _private(path: str, largest: int) -> Callable[[], object]:
    from dalenius.core.domain import Bounds, Categories, Domain, Variable
    from dalenius.core.neighbours import Neighbours
    from dalenius.core.randomness import SystemRandomness
    from dalenius.curator.gate import _fetch
    from dalenius.engines.duckdb import DuckDBSource
    from dalenius.testing.asking import plan_of

    domain = Domain(
        name="bench",
        population="bench",
        version="1",
        variables={
            "g": Variable(name="g", domain=Categories(labels=tuple(map(str, range(CELLS))))),
            "x": Variable(name="x", domain=Bounds(lower=Fraction(0), upper=Fraction(largest), missing="0")),
        },
        neighbours=Neighbours(),
        is_public=True,
    )
    table = {"rows": ["g"], "measure": "total", "of": "x", "error": "bootstrap", "replicates": REPLICATES}
    privacy = {"definition": "approximate", "epsilon": 1, "delta": "1/1000000"}
    (step,) = plan_of(domain, {"table": table, "privacy": privacy}).measurements

    def job() -> object:
        rng, source = SystemRandomness(), DuckDBSource(domain, path)
        drawn = step.draw(rng)
        return step.run(_fetch(source, step.needs), drawn, rng)

    return job
