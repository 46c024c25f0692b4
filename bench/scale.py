"""How cost grows with rows and persons: the whole path on 1, 10 and 100 million generated rows, against the plain GROUP BY.

Seven columns of categories; a tenth as many persons as rows, each with 1 to 19 rows, scattered over the file. Seconds are
processor time of all threads, and each case runs in a process of its own, as in `full_path`. "First" is the first release of a
process, in which rows of persons are chosen, or persons are made of their rows. The plain statement knows nothing of persons.

`--rows=1e6,1e7,1e8` chooses sizes, `--only=persons` chooses cases, `--folder=…` keeps the data for the next run, `--table`
prints the figures as a table.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.full_path import Case, _measure, as_table

CATEGORIES = {"a": 11, "b": 21, "c": 10, "d": 108, "e": 5, "m": 11, "n": 2}
_BLOCK = 20


@dataclass(frozen=True, kw_only=True)
class FeatureCase(Case):
    """Persons made of their rows: the first a, whether b was ever among the first ten, and the number of rows."""

    def document(self, folder: Path, rows: int) -> dict[str, Any]:
        """The dataset document."""
        plain = Case.document(self, folder, rows)
        records = {name: part for name, part in plain["variables"].items() if name in ("a", "b")}
        return plain | {
            "unit": {"relation": "add-remove", "id": "person"},
            "records": records,
            "variables": {
                "a": {"feature": {"take": "min", "of": "a"}},
                "b": {"feature": {"take": "any", "where": {"b": [str(i) for i in range(10)]}}},
                "c": {"feature": {"take": "count"}, "bounds": [0, 20]},
            },
        }

    def request(self, number: int) -> dict[str, Any]:
        """Counts of persons, by the two features with categories."""
        return super().request(number) | {"table": {"rows": ["a", "b"]}}


CASES: tuple[Case, ...] = (
    Case(name="2,310 cells", columns=("a", "b", "c")),
    Case(name="persons, keep 4", columns=("a", "b", "c"), unit="person", most=4),
    FeatureCase(name="persons, three features", columns=("a", "b", "c"), unit="person"),
)


def run(
    quick: bool = False, rows: str = "", only: str = "", folder: str = "", table: bool = False
) -> dict[str, object]:
    """Ratios for each number of rows and case."""
    sizes = [int(float(n)) for n in rows.split(",")] if rows else [1_000_000]
    sizes += [] if rows or quick else [10_000_000, 100_000_000]
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(folder or scratch)
        place.mkdir(parents=True, exist_ok=True)
        for size in sizes:
            make_rows(place, size)
            for case in CASES:
                if any(word in case.name for word in only.split(",")):
                    results.append(_measure(case, place, size, 2))
                    print(results[-1], flush=True)
    if table:
        print(as_table(results))
    return {"cases": results}


def make_rows(folder: Path, rows: int) -> Path:
    """Rows whose persons are scattered: two persons share every twenty of them."""
    import duckdb

    path = folder / f"rows{rows}.parquet"
    if path.exists():
        return path
    # The factor has no divisor in common with a power of ten, so that every place is taken once.
    scattered = f"((i * 1_000_003) % {rows})"
    first = f"(1 + hash({scattered} // {_BLOCK}) % {_BLOCK - 1})"
    person = f"(2 * ({scattered} // {_BLOCK}) + CASE WHEN {scattered} % {_BLOCK} < {first} THEN 0 ELSE 1 END)::BIGINT"
    codes = ", ".join(
        f"(hash(i * {2 * n + 1} + {n}) % {size})::INTEGER AS {c}" for n, (c, size) in enumerate(CATEGORIES.items())
    )
    with duckdb.connect() as connection:
        connection.execute(
            "SET enable_progress_bar = false; SET preserve_insertion_order = false; SET memory_limit = '2GB'"
        )
        connection.execute(
            f"COPY (SELECT {codes}, {person} AS person FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
        )
    return path
