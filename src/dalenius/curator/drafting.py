"""A first draft of a dataset document from a file, for the custodian to finish.

Names and types come from the file's schema. Categories and bounds are read from rows only when the custodian asks
(`from_data`), and are then marked `confirmed = false`: nothing runs on them until somebody who knows what the data
*may* hold has read and confirmed them.
"""

import json
from pathlib import Path

from dalenius.errors import RequestError

_NUMERIC = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
)
_REAL = ("FLOAT", "DOUBLE", "DECIMAL")
_MOST_CATEGORIES = 60


def draft(data: str | Path, *, from_data: bool = False) -> str:
    """TOML text of a dataset document for one CSV or Parquet file."""
    import duckdb

    path = Path(data)
    reader = {".csv": "read_csv", ".tsv": "read_csv", ".gz": "read_csv", ".parquet": "read_parquet"}.get(
        path.suffix
    )
    if not path.is_file():
        raise RequestError(f"There is no file {str(data)!r}.", received=str(data))
    if reader is None:
        raise RequestError(
            f"describe reads a .csv or .parquet file; received {path.name!r}.", received=path.name
        )
    connection = duckdb.connect(":memory:")
    relation = f"{reader}({_quote(str(path))})"
    try:
        columns = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    except duckdb.Error:
        raise RequestError(
            f"{path.name!r} could not be read as {path.suffix[1:]}.", received=path.name
        ) from None
    stem = path.name.split(".")[0]
    lines = [
        "[dataset]",
        f"name = {json.dumps(stem)}",
        'population = ""            # who is in the data: owns the budget',
        'version = "1"',
        f"source = {json.dumps(path.name)}",
        "",
        "[unit]",
        'relation = "add-remove"    # or "replace"',
    ]
    for name, kind, *_ in columns:
        lines += ["", f"[variables.{_key(name)}]", f"label = {json.dumps(name)}"]
        lines += _declare(connection, relation, name, str(kind), from_data=from_data)
    return "\n".join(lines) + "\n"


def _declare(connection: object, relation: str, name: str, kind: str, *, from_data: bool) -> list[str]:
    is_number = kind.startswith(_NUMERIC + _REAL)
    if not from_data:
        if is_number:
            return [
                "bounds = [0, 0]            # declare what the variable may hold",
                "step = 1",
                "confirmed = false",
            ]
        return ['categories = ["?"]         # declare every category', "confirmed = false"]
    column = '"' + name.replace('"', '""') + '"'
    execute = connection.execute  # type: ignore[attr-defined]
    distinct = execute(
        f"SELECT DISTINCT CAST({column} AS VARCHAR) FROM {relation} WHERE {column} IS NOT NULL"
        f" ORDER BY 1 LIMIT {_MOST_CATEGORIES + 1}"
    ).fetchall()
    note = "confirmed = false          # read from the data: check, then set to true"
    if len(distinct) <= _MOST_CATEGORIES:
        return [f"categories = {json.dumps([v for (v,) in distinct], ensure_ascii=False)}", note]
    if not is_number:
        return ['categories = ["?"]         # too many values to draft', note]
    low, high = execute(f"SELECT floor(min({column})), ceil(max({column})) FROM {relation}").fetchone()
    return [f"bounds = [{int(low)}, {int(high)}]", "step = 1", note]


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
