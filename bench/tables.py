"""A protected table from Parquet against the plain GROUP BY fetched into arrays: time and peak memory, in one run.

The protected path reads the file, fills every declared cell and adds exact noise. Columns are either integers or
text. The two paths are timed in turn in one process, each time on a new connection, and the best of several rounds
counts for both; memory is the largest resident size of a fresh process that runs one path, with the same packages
imported.
"""

import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = {"a": 11, "b": 21, "c": 10, "d": 108, "e": 5}
TABLES = {2_310: "abc", 249_480: "abcd", 1_247_400: "abcde"}
PREFIXES = {"a": "cat ", "b": "value ", "c": "x", "d": "label ", "e": "e"}


def run(quick: bool = False) -> dict[str, object]:
    """Ratios for each number of rows, number of cells and type of column; below 1 the protected path is better."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in (1_000_000,) if quick else (1_000_000, 10_000_000):
            path = make_rows(Path(folder), rows)
            for cells, columns in TABLES.items():
                for kind in ("integer", "text"):
                    names = [c if kind == "integer" else f"s{c}" for c in columns]
                    seconds = _measure(str(path), names, ["plain", "protected"], rounds=4 if quick else 7)
                    plain = _measure(str(path), names, ["plain"]) | {"seconds": seconds["plain"]}
                    protected = _measure(str(path), names, ["protected"]) | {"seconds": seconds["protected"]}
                    results.append(
                        {
                            "rows": rows,
                            "cells": cells,
                            "columns": kind,
                            "plain_seconds": round(plain["seconds"], 4),
                            "protected_seconds": round(protected["seconds"], 4),
                            "time_ratio": round(protected["seconds"] / plain["seconds"], 3),
                            "plain_megabytes": round(plain["megabytes"]),
                            "protected_megabytes": round(protected["megabytes"]),
                            "memory_ratio": round(protected["megabytes"] / plain["megabytes"], 3),
                        }
                    )
    return {
        "tables": results,
        "largest_time_ratio": max(float(str(r["time_ratio"])) for r in results),
        "largest_memory_ratio": max(float(str(r["memory_ratio"])) for r in results),
        "limits": {"time": 1.2, "memory": 1.5},
    }


def make_rows(folder: Path, rows: int) -> Path:
    """Pseudo-random categories from DuckDB's own hash, the same on every machine."""
    import duckdb

    duckdb.sql("SET enable_progress_bar = false")
    path = folder / f"rows{rows}.parquet"
    codes = ", ".join(
        f"(hash(i * {2 * n + 1} + {n}) % {size})::INTEGER AS {c}" for n, (c, size) in enumerate(SIZES.items())
    )
    texts = ", ".join(f"'{PREFIXES[c]}' || {c} AS s{c}" for c in SIZES)
    duckdb.sql(f"COPY (SELECT *, {texts} FROM (SELECT {codes} FROM range({rows}) t(i))) TO '{path}' (FORMAT parquet)")
    return path


def _measure(path: str, names: list[str], jobs: list[str], rounds: int = 1) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(path, names, jobs, rounds, sender))
    child.start()
    found: dict[str, float] = json.loads(receiver.recv())
    child.join()
    return found


def _child(path: str, names: list[str], jobs: list[str], rounds: int, sender: Any) -> None:
    every = {"plain": _plain(path, names), "protected": _protected(path, names)}
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name in jobs:
            started = time.perf_counter()
            every[name]()
            best[name] = min(best[name], time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sender.send(json.dumps(best | {"megabytes": peak}))


def _plain(path: str, names: list[str]) -> Callable[[], object]:
    import duckdb

    columns = ", ".join(names)

    def job() -> object:
        statement = f"SELECT {columns}, count(*) AS n FROM read_parquet('{path}') GROUP BY {columns}"
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            return connection.execute(statement).fetchnumpy()

    return job


def _protected(path: str, names: list[str]) -> Callable[[], object]:
    from fractions import Fraction

    import pyarrow

    from dalenius.core.domain import Axis, Categories, CellSpace, Domain, Variable
    from dalenius.core.neighbours import Neighbours
    from dalenius.core.query import TableQuery
    from dalenius.core.randomness import SystemRandomness
    from dalenius.engines.duckdb import DuckDBSource
    from dalenius.exact.sampling import sample
    from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

    assert pyarrow.__version__
    variables = {}
    for name in names:
        texts = [f"{PREFIXES[name[-1]] if name[0] == 's' else ''}{i}" for i in range(SIZES[name[-1]])]
        variables[name] = Variable(name=name, domain=Categories(labels=tuple(texts)))
    domain = Domain(
        name="bench", population="bench", version="1", variables=variables, neighbours=Neighbours(), is_public=True
    )
    axes = [
        Axis(variable=n, labels=v.categories.labels, codes=tuple(range(len(v.categories))))
        for n, v in variables.items()
    ]
    query = TableQuery(space=CellSpace(tuple(axes)))
    law = DiscreteLaplace(Fraction(1))

    def job() -> object:
        noise = sample(law, query.space.size, SystemRandomness())
        return DuckDBSource(domain, path).table(query).open_below_the_gate() + noise

    return job
