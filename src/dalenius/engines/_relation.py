"""What stands after FROM: a file or a frame made known to a DuckDB connection."""

import csv
import gzip
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from glob import glob
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

from dalenius.engines._arrow import arrow_table
from dalenius.errors import DocumentError, TooLarge

_CHUNK = 1 << 22
_LONG = 1 << 15
TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_DATABASE = (".duckdb", ".db")
TYPED_SUFFIXES = (*_PARQUET, *_DATABASE)

# The database takes a second for each few thousand columns of text, and longer than that for more.
_MOST_COLUMNS = 4096
_LONGEST_HEADER = 1 << 20
# What a part of a column may take in memory.
LARGEST_CHUNK = 1 << 32


@dataclass(frozen=True, eq=False)
class ReadableTable:
    """A readable table: its SQL, the files behind it, or the Arrow table in memory."""

    sql: str
    files: tuple[Path, ...] = ()
    frame: Any = None
    delimiter: str = ""
    pattern: str = ""

    @property
    def is_csv(self) -> bool:
        return bool(self.delimiter)

    def stamp(self) -> tuple[tuple[Any, ...], ...] | None:
        """Names, places, sizes and times of the files that are there now; None where one cannot be looked at."""
        try:
            return stamps_of([*_files(self.pattern), *self.logs()])
        except OSError:
            return None

    def logs(self) -> list[Path]:
        """Changes that a database keeps beside its file."""
        return [log for path in self.files if (log := Path(f"{path}.wal")).exists()]

    def changed_at(self) -> float | None:
        return latest_change(self.stamp())

    def check_chunks(self, connection: Any, columns: Sequence[str]) -> None:
        """Refuse Parquet files by whose metadata a part of a declared column would fill the memory."""
        if not self.sql.startswith("read_parquet("):
            return
        import duckdb

        names = ", ".join(text(name) for name in columns) or "NULL"
        files = "[" + ", ".join(text(str(path)) for path in self.files) + "]"
        size = f"CASE WHEN path_in_schema IN ({names}) THEN total_uncompressed_size END"
        statement = f"SELECT min({size}), max({size}), min(row_group_num_rows) FROM parquet_metadata({files})"
        try:
            [(least, most, rows)] = connection.sql(statement).fetchall()
        except duckdb.Error:
            # Whoever reads such a file is refused in its own words; a changed one is first known by its fingerprint.
            return
        if not 0 <= (least or 0) <= (most or 0) <= LARGEST_CHUNK or (rows or 0) < 0:
            raise TooLarge(
                "By what a Parquet file says of itself, a part of a declared column would take more than "
                f"{LARGEST_CHUNK >> 20:,} MiB"
                " of memory, or less than nothing: write it again, with smaller row groups.",
                limit=LARGEST_CHUNK,
            )

    def records(self) -> int | None:
        """Records of CSV files by an independent count; None for other data.

        The reader skips records with too many fields and whatever follows a quotation mark that is never closed.
        """
        if not self.is_csv:
            return None
        total = 0
        for path in self.files:
            lines = plain_lines(path)
            if lines is not None:
                total += lines - 1
                continue
            with _lines(path) as stream:
                total += sum(1 for record in csv.reader(stream, delimiter=self.delimiter) if record) - 1
        return total

    def has_one_line_a_record(self) -> bool:
        """Whether every record of the CSV files is one line, and all lines end alike; True for other data."""
        for path in self.files if self.is_csv else ():
            if plain_lines(path) is not None:
                continue
            ends = set()
            with _content(path) as raw:
                while chunk := raw.read(_CHUNK):
                    # The two characters of a line end stay together.
                    while chunk.endswith(b"\r") and (further := raw.read(1)):
                        chunk += further
                    ends |= {"crlf"} if b"\r\n" in chunk else set()
                    bare = chunk.replace(b"\r\n", b"")
                    ends |= ({"lf"} if b"\n" in bare else set()) | ({"cr"} if b"\r" in bare else set())
            if len(ends) > 1:
                return False
            with _lines(path) as stream:
                reader = csv.reader(stream, delimiter=self.delimiter)
                records = sum(1 for _ in reader)
                if reader.line_num != records:
                    return False
            if not _opens_no_quotation_late(path, self.delimiter):
                return False
        return True


def stamps_of(paths: Iterable[Path]) -> tuple[tuple[Any, ...], ...]:
    """Names, places, sizes and times of files; raises `OSError` where one cannot be looked at."""
    stats = [(path, path.stat()) for path in paths]
    return tuple((str(p.absolute()), s.st_mtime_ns, s.st_size, s.st_ino, s.st_ctime_ns, s.st_dev) for p, s in stats)


def latest_change(stamps: tuple[tuple[Any, ...], ...] | None) -> float | None:
    """When the last of some files was changed, by their stamps, in seconds since 1970."""
    return max(max(stamp[1], stamp[4]) for stamp in stamps) / 1e9 if stamps else None


def plain_lines(path: Path) -> int | None:
    """Number of lines of a text file, where they end alike, none is empty or long or has a quotation mark; else None.

    Each line of such a file is a record, whichever reader reads it.
    """
    lines = returns = 0
    last = b"\n"
    with _content(path) as raw:
        while chunk := raw.read(_CHUNK):
            chunk += raw.read(1) if chunk.endswith(b"\r") else b""
            crlf = chunk.count(b"\r\n")
            starts_empty = last == b"\n" and chunk.startswith((b"\n", b"\r"))
            is_odd = b'"' in chunk or chunk.count(b"\r") != crlf or starts_empty
            if is_odd or b"\n\n" in chunk or b"\n\r" in chunk or _has_long_line(chunk):
                return None
            lines, returns, last = lines + chunk.count(b"\n"), returns + crlf, chunk[-1:]
    return None if returns not in (0, lines) else lines + (last != b"\n")


def _has_long_line(chunk: bytes) -> bool:
    """Whether some line may be longer than a field can be: a stretch of a quarter of that length has no line end."""
    whole = range(0, len(chunk) - _LONG + 1, _LONG)
    return any(chunk.find(b"\n", start, start + _LONG) < 0 for start in whole)


def _opens_no_quotation_late(path: Path, delimiter: str) -> bool:
    """Whether every quotation mark that begins quoted text is the first sign of its field, and ends it.

    After a space, or after a quotation that has ended, the database opens a quotation where other readers see a sign
    like any other: that quotation could run over the line end and hide the rows after it.
    """
    mark = re.escape(delimiter)
    field = rf'(?:"(?:[^"]|"")*+"[^"{mark}]*|(?! *")[^{mark}]*)'
    whole = re.compile(rf"{field}(?:{mark}{field})*+", re.DOTALL)
    with _lines(path) as stream:
        return all('"' not in line or whole.fullmatch(line) for line in stream)


def _content(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _lines(path: Path) -> IO[str]:
    """The same as text; a byte that is no UTF-8 is a character like any other."""
    return TextIOWrapper(_content(path), encoding="utf-8-sig", errors="replace", newline="")


def attach(connection: Any, data: Any, table: str = "", delimiter: str = ",") -> ReadableTable:
    """Make data known to a connection. Files are told apart by their suffix; anything else is read as CSV."""
    if not isinstance(data, str | Path):
        frame = arrow_table(data)
        connection.register("microdata", frame)
        return ReadableTable("microdata", frame=frame)
    files = _files(str(data))
    if not files:
        raise DocumentError(f"There is no data file {str(data)!r}.", received=str(data))
    suffix = files[0].suffix.lower()
    names = "[" + ", ".join(text(str(name)) for name in files) + "]"
    if suffix in _PARQUET:
        return ReadableTable(f"read_parquet({names})", files, pattern=str(data))
    if suffix in _DATABASE:
        connection.execute(f"ATTACH {text(str(files[0]))} AS microdata (READ_ONLY)")
        name = name_of(table or _only_table(connection))
        return ReadableTable(f"microdata.{name}", files[:1], pattern=str(files[0]))
    if suffix == ".gz":
        suffix = Path(files[0].stem).suffix.lower()
    delimiter = "\t" if suffix == ".tsv" else delimiter
    return ReadableTable(_csv(files, names, delimiter), files, delimiter=delimiter, pattern=str(data))


def _files(pattern: str) -> tuple[Path, ...]:
    matches = [pattern] if Path(pattern).is_file() else sorted(glob(pattern))
    return tuple(Path(name) for name in matches if Path(name).is_file())


def _csv(files: tuple[Path, ...], names: str, delimiter: str) -> str:
    """Every column is text and nothing is sniffed: a type guess would let one row change how all others are read."""
    headers = []
    for path in files:
        with _content(path) as raw:
            headers.append(_header(raw.readline(_LONGEST_HEADER + 1), delimiter))
    header = headers[0]
    if not header or len({name.lower() for name in header}) != len(header):
        raise DocumentError("A CSV file must begin with a header of distinct column names.")
    if any(other != header for other in headers):
        raise DocumentError("The CSV files of one data set must have the same header.")
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in header)
    return (
        f"read_csv({names}, auto_detect = false, header = true, delim = {text(delimiter)}, quote = '\"', escape = "
        f"'\"', nullstr = '', null_padding = true, ignore_errors = true, parallel = false, columns = {{{columns}}})"
    )


def _header(line: bytes, delimiter: str) -> list[str]:
    """Names in the first line. Only it must be text; a bad byte in a later row is a value like any other."""
    # A name needs a sign and a delimiter: what is too wide is refused before the line is taken apart.
    if len(line) > _LONGEST_HEADER or line.count(delimiter.encode()) >= _MOST_COLUMNS:
        raise TooLarge(
            f"A CSV file may have at most {_MOST_COLUMNS:,} columns, and a header line of {_LONGEST_HEADER:,} bytes: "
            "write the columns that are declared, or the data as Parquet.",
            limit=_MOST_COLUMNS,
        )
    first = line.decode("utf-8-sig").splitlines()[:1]
    return next(csv.reader(first, delimiter=delimiter), [])


def _only_table(connection: Any) -> str:
    rows = connection.sql("SELECT table_name FROM duckdb_tables() WHERE database_name = 'microdata'")
    names = [str(row[0]) for row in rows.fetchall()]
    if len(names) != 1:
        raise DocumentError(f'The DuckDB file holds {len(names)} tables; say which is meant: table = "…" in [dataset].')
    return names[0]


def name_of(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(content: str) -> str:
    return "'" + content.replace("'", "''") + "'"
