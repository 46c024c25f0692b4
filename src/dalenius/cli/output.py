"""How verbs speak: one error shape, JSON on request, tables with margins of error, stages of long work."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dalenius.errors import DaleniusError, InternalError, NotRegistered, ParameterError, StorageError

if TYPE_CHECKING:
    from rich.console import Console

    from dalenius.core.release import Release, Table

_MOST_ROWS = 60


def console(*, is_error: bool = False) -> "Console":
    """A terminal that knows its width."""
    from rich.console import Console

    return Console(stderr=is_error, highlight=False)


def complain(error: DaleniusError, *, as_json: bool) -> None:
    """Say what was refused, on standard error."""
    if as_json:
        typer.echo(json.dumps(error.to_dict(), default=str, ensure_ascii=False), err=True)
    else:
        from rich.markup import escape

        console(is_error=True).print(f"[bold red]{error.code}[/]: {escape(error.message)}")


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


def output_place(output: Path | None, inputs: list[Path]) -> Path | None:
    """Where a release may be written: nothing that it is made from is ever overwritten."""
    if output is None:
        return None
    single = output.suffix.lower() in (".json", ".csv", ".html", ".htm") and not output.is_dir()
    if output.is_file() and not single:
        raise ParameterError(
            f"-o takes a directory, or a .json, .csv or .html file; {str(output)!r} is neither."
        )
    written = [output] if single else [output / name for name in ("release.json", "table.csv", "table.html")]
    for path in written:
        if path.exists() and any(given.exists() and path.samefile(given) for given in inputs):
            raise ParameterError(f"-o would overwrite {str(path)!r}, which this release is made from.")
    return output


def existing_ledger(given: str | None, dataset: Path) -> str:
    """The ledger that a release is charged to; only `register` makes one, so a mistyped name is refused."""
    location = ledger_location(given or str(dataset.parent / "dalenius.sqlite"))
    if "://" not in location and not Path(location).is_file():
        raise NotRegistered(
            f"There is no ledger at {location!r}; `dalenius register` makes one, --ledger names another.",
            received=location,
        )
    return location


def emit(document: Mapping[str, Any]) -> None:
    """A JSON document on standard output."""
    typer.echo(json.dumps(document, indent=2, default=str, ensure_ascii=False))


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
    out = console()
    source = release.provenance
    out.print(f"[bold]{source.dataset}[/] {source.version}   [dim]request {source.digest[:12]}[/]")
    out.print(f"[dim]{source.guarantee}[/]")
    for warning in source.warnings:
        out.print(f"[yellow]Note:[/] {warning}")
    if not release.tables:
        out.print("[yellow]The outcome was 'no reply'. It was charged like any other.[/]")
    for table in release.tables:
        print_table(release, table, confidence=confidence, most_rows=most_rows)


def print_table(release: "Release", table: "Table", *, confidence: float, most_rows: int) -> None:
    """One table: labels, value, margin of error, interval."""
    from rich.table import Table as RichTable

    from dalenius.core.estimate import level
    from dalenius.linear.tabulation import rows

    width = len(table.space.axes)
    title = " x ".join(axis.name for axis in table.space.axes) or "total"
    grid = RichTable(title=f"{table.measure}: {title}", title_justify="left", header_style="bold")
    for axis in table.space.axes:
        grid.add_column(axis.name)
    for name in ("value", f"± {level(confidence)}", "interval"):
        grid.add_column(name, justify="right", no_wrap=True)
    for index, row in enumerate(rows(release, table, confidence)):
        if index == most_rows:
            break
        value, _, low, high, status = row[width:]
        interval = "withheld" if low is None else f"{number(low)} – {number(high)}"
        half = "" if high is None or value is None else number(high - value)  # type: ignore[operator]
        cells = [number(value), half, interval]
        if value is None or status == "structural zero":
            cells = ["–", "", "not available" if value is None else "structural 0"]
        grid.add_row(*(str(label) for label in row[:width]), *cells)
    console().print(grid)
    if table.space.size > most_rows:
        console().print(f"[dim]{table.space.size - most_rows:,} more cells; --rows 0 shows all.[/]")


def number(value: object) -> str:
    """A number for readers."""
    if value is None:
        return "withheld"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
