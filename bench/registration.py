"""Registration: the custodian's report on a column of distinct numbers beside the plain GROUP BY of the same column.

Seconds are processor time of all threads. `--quick` takes a tenth of the rows. Registration of whole files stands in `full_path`.
"""

import tempfile
from pathlib import Path

from bench.full_path import processor_seconds_of

COLUMNS = {"integer": "i", "float": "i / 100.0::DOUBLE", "text": "(i / 100.0::DOUBLE)::VARCHAR"}


def run(quick: bool = False) -> dict[str, object]:
    """A line for each type of column and file; the values are all distinct, and a tenth lies outside the bounds."""
    rows = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        lines = [
            _compare(kind, Path(folder) / f"{kind}.{suffix}", rows) for suffix in ("parquet", "csv") for kind in COLUMNS
        ]
    return {"rows": rows, "columns": lines}


def _compare(kind: str, path: Path, rows: int) -> dict[str, object]:
    import duckdb

    from dalenius.engines.duckdb import DuckDBSource
    from dalenius.spec.load import load_dataset

    steps = 1 if kind == "integer" else 100
    document = {
        "dataset": {"name": "bench", "population": "bench", "source": str(path)},
        "unit": {"relation": "add-remove"},
        "variables": {"x": {"bounds": [0, rows * 9 // 10 // steps], "step": f"{1 / steps}"}},
    }
    domain = load_dataset(document).domain()
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"COPY (SELECT {COLUMNS[kind]} AS x FROM range({rows}) t(i)) TO '{path}'")
        statement = f"SELECT x, count(*) FROM '{path}' GROUP BY x"
        plain = processor_seconds_of(lambda: connection.execute(statement).fetchnumpy())
    judged = processor_seconds_of(lambda: DuckDBSource(domain, path).judge())
    return {
        "column": kind,
        "file": path.suffix,
        "plain_seconds": round(plain, 4),
        "report_seconds": round(judged, 4),
        "ratio": round(judged / plain, 2),
    }
