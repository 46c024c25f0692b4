"""The whole path that a user feels, against the plain GROUP BY fetched into arrays: `Curator.release` and the command line.

A release is planned, charged to a ledger on disk, measured, written, stored and read back; each is a new request, so that
nothing is answered from the store. Both sides are counted in seconds of processor time of all threads, which other work
on the machine hardly changes, and the best of several rounds counts for both. The first release of a process is counted
by itself ("first", the better of two processes), and so is the registration of the data. Memory is the largest resident size of the process, without the registration of the data.

`--rows=1e6,1e7` chooses sizes, `--only=persons,labels` chooses cases, `--folder=…` keeps the data for the next run,
`--quick` takes 200,000 rows. `--table` prints the figures as the table of `docs/reference/speed.md`. With several sizes the growth of
each case is printed too: the power of the number of rows with which the seconds grow. Above 20 million rows only tables of whole numbers
from one Parquet file are measured.
"""

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import log
from pathlib import Path
from typing import Any

from bench.tables import PREFIXES, SIZES

CENSUS = dict(zip("mnopqrs", (11, 2, 21, 5, 12, 9, 5), strict=True))
LABELS = 10_000
MANY_ROWS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Case:
    """One comparison: the data behind the document, the table asked for, and the plain statement."""

    name: str
    columns: tuple[str, ...]
    kind: str = "parquet"
    unit: str = ""
    most: int = 1
    margins: tuple[int, ...] = ()

    def source(self, folder: Path, rows: int) -> str:
        """The file or files behind the case."""
        place = {"csv": f"rows{rows}.csv", "glob": f"parts{rows}/*.parquet"}.get(self.kind)
        return str(folder / (place or f"rows{rows}.parquet"))

    def relation(self, folder: Path, rows: int) -> str:
        """What the plain statement reads."""
        if self.kind == "frame":
            return "frame"
        reader = "read_csv" if self.kind == "csv" else "read_parquet"
        typed = ", all_varchar = true" if self.kind == "csv" else ""
        return f"{reader}('{self.source(folder, rows)}'{typed})"

    def document(self, folder: Path, rows: int) -> dict[str, Any]:
        """The dataset document."""
        unit = {"id": self.unit, "max_rows": self.most} if self.unit else {}
        return {
            "dataset": {"name": "bench", "population": "bench", "source": self.source(folder, rows), "public": True},
            "unit": {"relation": "add-remove", **unit},
            "variables": {name: {"categories": list(_labels(name))} for name in self.columns},
        }  # fmt: skip

    @property
    def is_plain(self) -> bool:
        """Whether it is one table of whole numbers from one file."""
        is_number = all(name in {**SIZES, **CENSUS, "l": LABELS} for name in self.columns)
        return is_number and self.kind == "parquet" and not self.unit and not self.margins

    @property
    def lists(self) -> list[tuple[str, ...]]:
        """The margins of so many variables; without margins the columns alone."""
        if not self.margins:
            return [self.columns]
        return [m for size in self.margins for m in combinations(self.columns, size)]

    def request(self, number: int) -> dict[str, Any]:
        """A request that was not made before."""
        table: dict[str, Any] = {"rows": list(self.columns)}
        if self.margins:
            table |= {"margins": [list(m) for m in self.lists], "universe": "complete"}
        return {"table": table, "privacy": {"definition": "zero_concentrated", "rho": f"0.5{number:06d}"}}


CASES = (
    Case(name="110 cells", columns=("a", "c")),
    Case(name="2,310 cells", columns=("a", "b", "c")),
    Case(name="249,480 cells", columns=("a", "b", "c", "d")),
    Case(name="1,247,400 cells", columns=("a", "b", "c", "d", "e")),
    Case(name="6,237,000 cells", columns=("a", "b", "c", "d", "e", "p")),
    Case(name="2,310 cells, text", columns=("sa", "sb", "sc")),
    Case(name="249,480 cells, text", columns=("sa", "sb", "sc", "sd")),
    Case(name="2,310 cells, CSV", columns=("a", "b", "c"), kind="csv"),
    Case(name="2,310 cells, data frame", columns=("a", "b", "c"), kind="frame"),
    Case(name="2,310 cells, glob of 8 files", columns=("a", "b", "c"), kind="glob"),
    Case(name="persons, keep 1", columns=("a", "b", "c"), unit="person", most=1),
    Case(name="persons, keep 4", columns=("a", "b", "c"), unit="person", most=4),
    Case(name="persons, nobody over", columns=("a", "b", "c"), unit="once", most=1),
    Case(name="persons by text, keep 1", columns=("a", "b", "c"), unit="name", most=1),
    Case(name="10,000 labels", columns=("l",)),
    Case(name="64 margins", columns=tuple(CENSUS), margins=(0, 1, 2, 3)),
    Case(name="120 margins of three", columns=(*CENSUS, "a", "b", "c"), margins=(3,)),
)


def run(
    quick: bool = False, rows: str = "", only: str = "", folder: str = "", table: bool = False
) -> dict[str, object]:
    """Ratios for each number of rows and case; below 1 the protected path is cheaper than the plain one."""
    sizes = [int(float(n)) for n in rows.split(",")] if rows else [200_000 if quick else 1_000_000]
    if not rows and not quick:
        sizes.append(10_000_000)
    wanted = [case for case in CASES if any(word in case.name for word in only.split(","))]
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(folder or scratch)
        place.mkdir(parents=True, exist_ok=True)
        results = []
        for size in sizes:
            make_rows(place, size)
            for case in wanted:
                if size <= MANY_ROWS or case.is_plain:
                    results.append(_measure(case, place, size, 2 if quick else 3))
                    print(json.dumps(results[-1]), file=sys.stderr, flush=True)
            if not only or "command" in only:
                results.append(_command_line(place, size))
    if table:
        print(as_table(results))
    return {"cases": results, "growth": growth(results)}


def growth(results: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """For each case the power of the number of rows with which seconds grow, between its smallest and largest size."""
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(result["case"] for result in results):
        own = [result for result in results if result["case"] == name]
        first, last = own[0], own[-1]
        if first["rows"] < last["rows"]:
            more = log(last["rows"] / first["rows"])
            found[name] = {
                side: round(log(last[f"{side}_seconds"] / first[f"{side}_seconds"]) / more, 2)
                for side in ("plain", "protected")
            }
    return found


def as_table(results: list[dict[str, Any]]) -> str:
    """The figures as a table for a page."""
    columns = {
        "case": "case",
        "rows": "rows",
        "plain_seconds": "plain, s",
        "protected_seconds": "released, s",
        "ratio": "ratio",
        "first_seconds": "first release, s",
        "first_ratio": "first ratio",
        "register_seconds": "registered, s",
        "megabytes": "memory, MB",
    }
    keys, heads = list(columns), list(columns.values())
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for result in results:
        cells = [f"{result[k]:,}" if k == "rows" else str(result.get(k, "")) for k in keys]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def make_rows(folder: Path, rows: int) -> None:
    """Pseudo-random categories from DuckDB's own hash, the same on every machine."""
    import duckdb

    path, done = folder / f"rows{rows}.parquet", folder / f"rows{rows}.done"
    if done.exists():
        return
    sizes = {**SIZES, **CENSUS, "l": LABELS}
    codes = [f"(hash(i * {2 * n + 1} + {n}) % {size})::INTEGER AS {c}" for n, (c, size) in enumerate(sizes.items())]
    texts = ", ".join(f"'{PREFIXES[c]}' || {c} AS s{c}" for c in SIZES)
    # Persons have five rows on average, some many more; `once` names each row's own person.
    owners = f"(hash(i * 77 + 5) % {max(1, rows // 5)})::BIGINT AS person, i::BIGINT AS once"
    further = f", {texts}, 'person ' || person AS name"
    if rows > MANY_ROWS:
        owners, further = "i % 2 = 0 AS is_even", ""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(
            f"COPY (SELECT *{further} FROM (SELECT {', '.join(codes)}, {owners} FROM range({rows}) t(i)))"
            f" TO '{path}' (FORMAT parquet)"
        )
        if rows > MANY_ROWS:
            done.touch()
            return
        parts = folder / f"parts{rows}"
        parts.mkdir(exist_ok=True)
        for part in range(8):
            connection.execute(
                f"COPY (SELECT a, b, c FROM read_parquet('{path}') WHERE once % 8 = {part})"
                f" TO '{parts / f'{part}.parquet'}' (FORMAT parquet)"
            )
        connection.execute(
            f"COPY (SELECT a, b, c FROM read_parquet('{path}')) TO '{folder / f'rows{rows}.csv'}' (FORMAT csv)"
        )
    done.touch()


def _labels(name: str) -> list[str]:
    size = {**SIZES, **CENSUS, "l": LABELS}[name[-1]]
    prefix = PREFIXES[name[-1]] if len(name) > 1 else ""
    return [f"{prefix}{i}" for i in range(size)]


def _measure(case: Case, folder: Path, rows: int, rounds: int) -> dict[str, Any]:
    """Register in one process, measure in another: what registration needed is not counted."""
    with tempfile.TemporaryDirectory() as books:
        registered = _in_child(_register, case, folder, rows, books)
        result = _in_child(_child, case, folder, rows, rounds, books)
        again = _in_child(_first_child, case, folder, rows, books)
    result["first_seconds"] = min(result["first_seconds"], again["first_seconds"])
    result["first_ratio"] = round(result["first_seconds"] / result["plain_seconds"], 1)
    return {"case": case.name, "rows": rows, **registered, **result}


def _in_child(job: Callable[..., None], *arguments: Any) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=job, args=(*arguments, sender))
    child.start()
    sender.close()
    found: dict[str, Any] = json.loads(receiver.recv())
    child.join()
    return found


def _open(case: Case, folder: Path, rows: int, books: str) -> Any:
    import pyarrow.parquet as pq

    from dalenius.curator.curator import Curator
    from dalenius.ledger import Ledger

    frame = None
    if case.kind == "frame":
        frame = pq.read_table(case.source(folder, rows), columns=list(case.columns))
    policy = {"population": "bench", "budget": {"rho": 900, "delta": "1e-6"}, "allow": {"most_cells": 10**7}}
    book = Ledger.open(Path(books) / "ledger.sqlite")
    return Curator.open(case.document(folder, rows), ledger=book, policy=policy, data=frame), frame


def _register(case: Case, folder: Path, rows: int, books: str, sender: Any) -> None:
    curator, _ = _open(case, folder, rows, books)
    seconds = processor_seconds_of(lambda: curator.register(by="bench"))
    sender.send(json.dumps({"register_seconds": round(seconds, 4)}))


def _first_child(case: Case, folder: Path, rows: int, books: str, sender: Any) -> None:
    """The first release of another process."""
    curator, _ = _open(case, folder, rows, books)
    first = processor_seconds_of(lambda: curator.release(case.request(900_000)))
    sender.send(json.dumps({"first_seconds": round(first, 4)}))


def _released(curator: Any, case: Case, number: int) -> object:
    return curator.release(case.request(number))


def _child(case: Case, folder: Path, rows: int, rounds: int, books: str, sender: Any) -> None:
    import duckdb  # imports are not counted on either side

    curator, frame = _open(case, folder, rows, books)
    first = processor_seconds_of(lambda: curator.release(case.request(0)))
    protected = min(processor_seconds_of(partial(_released, curator, case, n)) for n in range(1, rounds + 1))
    plan = min(processor_seconds_of(lambda: curator.plan(case.request(0))) for _ in range(3))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    statements = _plain(case, folder, rows)

    def plain() -> None:
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            if frame is not None:
                connection.register("frame", frame)
            for statement in statements:
                connection.execute(statement).fetchnumpy()

    seconds = min(processor_seconds_of(plain) for _ in range(rounds))
    result = {
        "plain_seconds": round(seconds, 4),
        "protected_seconds": round(protected, 4),
        "ratio": round(protected / seconds, 2),
        "first_seconds": round(first, 4),
        "plan_seconds": round(plan, 4),
        "megabytes": round(peak),
    }
    sender.send(json.dumps(result))


def _plain(case: Case, folder: Path, rows: int) -> list[str]:
    """One GROUP BY; for margins one for each."""
    statements = []
    for columns in case.lists:
        names = ", ".join(columns)
        grouped = f"SELECT {names}, count(*) AS n FROM {case.relation(folder, rows)} GROUP BY {names}"
        statements.append(grouped if columns else f"SELECT count(*) AS n FROM {case.relation(folder, rows)}")
    return statements


def processor_seconds_of(job: Callable[[], object]) -> float:
    """Seconds of processor time of all threads."""
    before = _processor_seconds()
    job()
    return _processor_seconds() - before


def _processor_seconds(who: int = resource.RUSAGE_SELF) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _command_line(folder: Path, rows: int) -> dict[str, Any]:
    """`dalenius release` of 2,310 cells in a fresh process, from interpreter start to its end."""
    case = next(case for case in CASES if case.name == "2,310 cells")
    with tempfile.TemporaryDirectory() as books:
        place = Path(books)
        document = case.document(folder, rows)
        document["dataset"] |= {"ledger": "ledger.sqlite", "policy": "policy.toml"}
        (place / "dataset.toml").write_text(_toml(document))
        (place / "policy.toml").write_text('population = "bench"\n[budget]\nrho = 900\ndelta = 1e-6\n')
        command = [sys.executable, "-m", "dalenius.cli.main"]
        subprocess.run([*command, "register", "dataset.toml"], cwd=place, check=True, capture_output=True)
        seconds, wall = [], []
        for number in range(2):
            (place / f"request{number}.toml").write_text('dataset = "dataset.toml"\n' + _toml(case.request(number)))
            started, before = time.perf_counter(), _processor_seconds(resource.RUSAGE_CHILDREN)
            arguments = ["release", f"request{number}.toml", "--output", f"out{number}"]
            subprocess.run([*command, *arguments], cwd=place, check=True, capture_output=True, env=os.environ)
            seconds.append(_processor_seconds(resource.RUSAGE_CHILDREN) - before)
            wall.append(time.perf_counter() - started)
    plain = _in_child(_plain_child, case, folder, rows)["plain_seconds"]
    return {
        "case": "2,310 cells, command line",
        "rows": rows,
        "plain_seconds": plain,
        "protected_seconds": round(min(seconds), 4),
        "ratio": round(min(seconds) / plain, 2),
        "first_seconds": round(seconds[0], 4),
        "wall_seconds": round(min(wall), 4),
    }


def _plain_child(case: Case, folder: Path, rows: int, sender: Any) -> None:
    import duckdb

    statement = _plain(case, folder, rows)[0]
    seconds = min(processor_seconds_of(lambda: duckdb.connect().execute(statement).fetchnumpy()) for _ in range(3))
    sender.send(json.dumps({"plain_seconds": round(seconds, 4)}))


def _toml(content: Mapping[str, Any], path: str = "") -> str:
    """Nested tables of texts, numbers, truth values and lists as TOML."""
    plain = [f"{k} = {json.dumps(v)}" for k, v in content.items() if not isinstance(v, Mapping)]
    parts = [f"[{path}]", *plain] if path and plain else plain
    for key, value in content.items():
        if isinstance(value, Mapping):
            parts.append(_toml(value, f"{path}.{key}" if path else key))
    return "\n".join(parts) + "\n"
