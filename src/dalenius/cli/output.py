"""How verbs speak: one error shape, JSON on request, tables with margins of error, stages of long work."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dalenius.errors import (
    DaleniusError,
    InternalError,
    MissingExtra,
    NotRegistered,
    ParameterError,
    StorageError,
)

if TYPE_CHECKING:
    from dalenius.cli.terminal import Terminal
    from dalenius.core.release import Release, Table
    from dalenius.spec.dataset import DatasetDocument

_MOST_ROWS = 60
_LEAST_LABEL = 12
# Modules that only an extra brings, by the extra; a test compares them with the package's own declaration.
_EXTRAS = {
    **dict.fromkeys(
        ("fastapi", "starlette", "uvicorn", "jinja2", "argon2", "itsdangerous", "httpx"), "server"
    ),
    **dict.fromkeys(("multipart", "python_multipart"), "server"),
    **dict.fromkeys(("openpyxl", "polars", "pandas"), "formats"),
    "psycopg": "postgres",
    "pyspark": "spark",
    "dp_accounting": "accounting",
    "matplotlib": "plot",
}


def console(*, is_error: bool = False) -> "Terminal":
    """The terminal, which takes every text literally; `styled` lines carry our own emphasis."""
    from dalenius.cli.terminal import Terminal

    return Terminal(is_error=is_error)


def complain(error: DaleniusError, *, as_json: bool) -> None:
    """Say what was refused, on standard error."""
    if as_json:
        typer.echo(json.dumps(error.to_dict(), default=str, ensure_ascii=False), err=True)
    else:
        from dalenius.cli.terminal import styled

        console(is_error=True).print(styled((error.code, "bold red"), f": {error.message}"))


def translated(error: Exception) -> DaleniusError:
    """Any exception as one of ours; what is not ours is named, never quoted, because it might quote data."""
    import sqlite3

    if isinstance(error, DaleniusError):
        return error
    is_release = sys.argv[1:2] == ["release"]
    after = " `dalenius ledger show` says whether the release was charged." if is_release else ""
    if isinstance(error, sqlite3.Error):
        return StorageError(f"The ledger's database refused: {error}.{after}")
    if isinstance(error, OSError):
        place = f": {str(error.filename)!r}" if error.filename else ""
        return StorageError(f"A file could not be read or written: {error.strerror}{place}.{after}")
    if isinstance(error, ModuleNotFoundError) and (root := str(error.name).split(".")[0]) in _EXTRAS:
        return MissingExtra(_EXTRAS[root], root)
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = (
        "" if frame is None else f" in {Path(frame.tb_frame.f_code.co_filename).name}, line {frame.tb_lineno}"
    )
    return InternalError(f"A fault of ours ({type(error).__name__}{where}); please report it.{after}")


def ledger_location(location: str) -> str:
    """A SQLite file or a PostgreSQL address; other addresses are not taken for file names."""
    if "://" in location and not location.startswith(("postgresql://", "postgres://")):
        raise ParameterError(
            f"A ledger is a SQLite file or a postgresql:// address; received {location!r}.", received=location
        )
    return location


def existing_ledger(given: str | None, document: "DatasetDocument") -> str:
    """The ledger that a release is charged to; only `register` makes one, so a mistyped name is refused."""
    location = ledger_location(given or document.ledger_location)
    if "://" not in location and not Path(location).is_file():
        raise NotRegistered(
            f"There is no ledger at {location!r}; `dalenius register` makes one, --ledger names another.",
            received=location,
        )
    return location


def tell(notices: Iterable[str]) -> None:
    """What the caller should know and nobody asked about, on standard error."""
    from dalenius.cli.terminal import styled

    for notice in notices:
        console(is_error=True).print(styled(("Note:", "yellow"), f" {notice}"))


def emit(document: Mapping[str, Any]) -> None:
    """A JSON document on standard output."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(document, indent=2, default=str, ensure_ascii=not is_unicode))


@contextmanager
def stages(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Progress of long work in stages; never in rows, whose number is confidential."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    with console(is_error=True).status("starting …") as status:
        yield lambda name: status.update(f"{name} …")


def print_release(release: "Release", *, confidence: float = 0.95, most_rows: int = _MOST_ROWS) -> None:
    """The guarantee, then every table that fits, with margins of error."""
    from dalenius.cli.terminal import styled

    out = console()
    source = release.provenance
    request = (f"request {source.digest[:12]}", "dim")
    out.print(styled((source.dataset, "bold"), f" {source.version}   ", request))
    out.print(styled((source.guarantee, "dim")))
    for warning in source.warnings:
        out.print(styled(("Note:", "yellow"), f" {warning}"))
    if not release.tables:
        out.print(styled(("The outcome was 'no reply'. It was charged like any other.", "yellow")))
    for table in release.tables:
        print_table(release, table, confidence=confidence, most_rows=most_rows)


def print_table(release: "Release", table: "Table", *, confidence: float, most_rows: int) -> None:
    """One table: labels, value, margin of error, interval."""
    from rich.cells import cell_len
    from rich.table import Table as RichTable

    from dalenius.cli.terminal import styled
    from dalenius.core.estimate import level
    from dalenius.linear.tabulation import rows

    width = len(table.space.axes)
    title = " x ".join(axis.name for axis in table.space.axes) or "total"
    lines = []
    for row in islice(rows(release, table, confidence), most_rows):
        value, _, low, high, status = row[width:]
        interval = "withheld" if low is None else f"{number(low)} – {number(high)}"
        half = "" if high is None or value is None else number(high - value)  # type: ignore[operator]
        cells = [number(value), half, interval]
        if value is None or status == "structural zero":
            cells = ["–", "", "not available" if value is None else "structural 0"]
        lines.append([*(str(label) for label in row[:width]), *cells])
    names = [*(axis.name for axis in table.space.axes), "value", f"± {level(confidence)}", "interval"]
    grid = RichTable(title=f"{table.measure}: {title}", title_justify="left", header_style="bold")
    needed = 1
    for place, name in enumerate(names):
        longest = max(cell_len(text) for text in (name, *(line[place] for line in lines)))
        is_label = place < width
        # Labels may run over several lines, down to a width at which they can be read; numbers are never cut.
        least = min(longest, _LEAST_LABEL) if is_label else longest
        grid.add_column(
            name,
            min_width=least,
            no_wrap=not is_label,
            overflow="fold",
            justify="left" if is_label else "right",
        )
        needed += least + 3
    for line in lines:
        grid.add_row(*line)
    out = console()
    # A table that does not fit is printed as wide as it is, and the terminal breaks its lines.
    out.width = max(out.width, needed)
    out.print(grid)
    if table.space.size > most_rows:
        more = f"{table.space.size - most_rows:,} more cells; `dalenius show --rows 0` shows all."
        console().print(styled((more, "dim")))


def number(value: object) -> str:
    """A number for readers."""
    if value is None:
        return "withheld"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
