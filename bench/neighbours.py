"""Whether the time of counting tells one unit from none: neighbouring files, opened and counted in turn in one process.

Each pair of files differs in one unit, chosen to be as odd as can be: a person with the only rows beyond the bound, a person with
equal rows, a row that no other resembles, a number outside its bounds. In each round both files are opened and
counted anew, in an order that a fixed seed decides, and the processor seconds of the two are compared: the median difference in
microseconds, and the p-value of a signed-rank test. A difference of a row's own share of the work (a 20,000th) is expected, and far below
what a round varies by.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

ROWS = 20_000


def run(quick: bool = False, only: str = "") -> dict[str, object]:
    """One line for each pair of neighbours; `smallest_p` beside the level at which one of them would be looked into."""
    rounds = 40 if quick else 200
    chosen = {name: make for name, make in PAIRS.items() if only in name}
    with tempfile.TemporaryDirectory() as folder:
        lines = [_compare(name, rounds, *make(Path(folder))) for name, make in chosen.items()]
    return {
        "pairs": lines,
        "rounds": rounds,
        "smallest_p": min(float(str(line["p"])) for line in lines),
        "level": 0.001,
    }


def _compare(name: str, rounds: int, domain: Any, query: Any, files: tuple[Path, Path]) -> dict[str, object]:
    from scipy.stats import wilcoxon

    from dalenius.engines.duckdb import DuckDBSource

    def seconds(path: Path) -> float:
        started = time.process_time()
        source = DuckDBSource(domain, path, b"secret")
        source.table(query)
        return time.process_time() - started

    order, differences, whole = Random(7), [], []
    for number in range(rounds + 5):
        first = order.random() < 0.5
        pair = {place: seconds(files[place]) for place in ((0, 1) if first else (1, 0))}
        if number >= 5:
            differences.append(pair[1] - pair[0])
            whole.append(pair[0])
    return {
        "pair": name,
        "milliseconds": round(1000 * float(np.median(whole)), 2),
        "difference_microseconds": round(1e6 * float(np.median(differences)), 1),
        "p": round(float(wilcoxon(differences).pvalue), 4),
    }


def _declared(unit: bool, most: int = 2) -> tuple[Any, Any]:
    """The declaration and the table: categories by a number in ranges, rows of persons bounded or not."""
    from dalenius.core.domain import Axis, CellSpace
    from dalenius.core.query import TableQuery
    from dalenius.spec.load import load_dataset

    document = {
        "dataset": {"name": "near", "population": "near", "source": "rows.parquet"},
        "unit": {"relation": "add-remove", **({"id": "person", "max_rows": most} if unit else {})},
        "variables": {
            "a": {"categories": [str(i) for i in range(40)]},
            "b": {"categories": [f"label {i}" for i in range(30)]},
            "x": {"bounds": [0, 1000], "step": "0.1"},
        },
    }
    domain = load_dataset(document).domain()
    axes = [
        Axis(variable=n, labels=v.categories.labels, codes=tuple(range(len(v.categories))))
        for n, v in domain.variables.items()
        if not v.is_numeric
    ]
    number = Axis(variable="x", labels=("low", "high"), cuts=(0, 5000, 10001))
    return domain, TableQuery(space=CellSpace((*axes, number)))


def _written(folder: Path, unit: bool, further: list[dict[str, object]], most: int = 2) -> Any:
    """Two files: everybody within the bound, and the same with the rows of one more unit in the middle."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(3)
    common = {
        "person": np.repeat(np.arange(ROWS // 2), 2),
        "a": rng.integers(0, 39, ROWS),
        "b": np.array([f"label {i}" for i in rng.integers(0, 29, ROWS)]),
        "x": rng.integers(0, 10_000, ROWS) / 10,
    }
    table = pa.table(common)
    extra = pa.Table.from_pylist(further, schema=table.schema)
    half = ROWS // 2
    longer = pa.concat_tables([table.slice(0, half), extra, table.slice(half)]).combine_chunks()
    files = (folder / "one.parquet", folder / "two.parquet")
    pq.write_table(table, files[0])
    pq.write_table(longer, files[1])
    return (*_declared(unit, most), files)


def _row(person: int = -(2**60), a: int | None = 39, b: str = "label 29", x: float = 7.0) -> dict[str, object]:
    return {"person": person, "a": a, "b": b, "x": x}


PAIRS: dict[str, Callable[[Path], Any]] = {
    "an ordinary row": lambda folder: _written(folder, False, [_row()]),
    "a missing value": lambda folder: _written(folder, False, [_row(a=None)]),
    "a value that no short integer holds": lambda folder: _written(folder, False, [_row(a=2**40)]),
    "a text that was not declared": lambda folder: _written(folder, False, [_row(b="x" * 500)]),
    "a number outside its bounds": lambda folder: _written(folder, False, [_row(x=1e300)]),
    "a number between two steps": lambda folder: _written(folder, False, [_row(x=0.05)]),
    "the only person beyond the bound": lambda folder: _written(
        folder, True, [_row(a=i, x=float(i)) for i in range(5)]
    ),
    "a person with equal rows": lambda folder: _written(folder, True, [_row()] * 9),
    "a person with a hundred rows": lambda folder: _written(folder, True, [_row(a=i % 40) for i in range(100)]),
}
