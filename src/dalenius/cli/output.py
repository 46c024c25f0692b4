"""How verbs speak: one error shape, JSON on request, numbers, stages of long work."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dalenius.errors import DaleniusError, InternalError, MissingExtra, NotRegistered, ParameterError, StorageError

if TYPE_CHECKING:
    from dalenius.cli.terminal import Terminal
    from dalenius.spec.dataset import DatasetDocument

# Modules that only an extra brings, by the extra; a test compares them with the package's own declaration.
_EXTRAS = {
    **dict.fromkeys(("fastapi", "starlette", "uvicorn", "jinja2", "argon2", "itsdangerous", "httpx"), "server"),
    **dict.fromkeys(("multipart", "python_multipart"), "server"),
    **dict.fromkeys(("openpyxl", "xlsxwriter", "polars", "pandas", "pyreadstat"), "formats"),
    "psycopg": "postgres",
    "pyspark": "spark",
    "matplotlib": "plot",
}


def console(*, is_error: bool = False) -> "Terminal":
    """The terminal, which takes every text literally; `styled` lines carry our own emphasis."""
    from dalenius.cli.terminal import Terminal

    return Terminal(is_error=is_error)


def say(*parts: str | tuple[str, str], is_error: bool = False, soft_wrap: bool = False) -> None:
    """Print a line of plain texts and (text, style) pairs."""
    from dalenius.cli.terminal import styled

    console(is_error=is_error).print(styled(*parts), soft_wrap=soft_wrap)


def print_grid(
    heads: Sequence[str],
    lines: Iterable[Sequence[str]],
    *,
    labels: int = 1,
    title: str | None = None,
    is_plain: bool = False,
    is_error: bool = False,
) -> None:
    """Print a table: `labels` columns of words, then numbers; a plain one has no frame."""
    from rich.box import HEAVY_HEAD, SIMPLE_HEAD
    from rich.table import Table

    box = SIMPLE_HEAD if is_plain else HEAVY_HEAD
    grid = Table(title=title, title_justify="left", box=box, pad_edge=not is_plain)
    for place, head in enumerate(heads):
        is_label = place < labels
        grid.add_column(head, justify="left" if is_label else "right", no_wrap=is_plain and not is_label)
    for line in lines:
        grid.add_row(*line)
    console(is_error=is_error).print(grid)


def complain(error: DaleniusError, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(error.to_dict(), default=str, ensure_ascii=False), err=True)
    else:
        say((error.code, "bold red"), f": {error.message}", is_error=True)


def translated(error: Exception) -> DaleniusError:
    """Any exception as one of ours; what is not ours is named, never quoted, because it might quote data."""
    import sqlite3
    from traceback import extract_tb

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
    frames = extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
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


def check_figure(plot: Path | None) -> None:
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ParameterError(f"A figure is drawn as .png, .svg or .pdf; received {plot.name!r}.")


def tell(notices: Iterable[str]) -> None:
    """What the caller should know and nobody asked about, on standard error."""
    for notice in notices:
        say(("Note:", "yellow"), f" {notice}", is_error=True)


def emit(document: Mapping[str, Any]) -> None:
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


def roughly(value: float) -> str:
    """An expected error: three digits say enough of it, and a large one is whole.

    >>> roughly(4382613.0), roughly(23.498), roughly(1.4), roughly(18.0), roughly(0.002213)
    ('4,382,613', '23.5', '1.40', '18', '0.0022')
    """
    if 0 < value < 0.1:
        return f"{value:.2g}"
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"
