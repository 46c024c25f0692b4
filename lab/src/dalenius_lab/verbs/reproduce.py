"""`dalenius reproduce`: a paper's table or figure beside our own numbers."""

import json as json_module
from pathlib import Path
from typing import Annotated, cast

import typer

from dalenius.errors import UnknownName


def _item_names(incomplete: str) -> list[str]:
    """Items for shell completion."""
    from dalenius_lab.reproductions import items as registry

    return [name for name in registry.items() if name.startswith(incomplete)]


def reproduce(
    items: Annotated[
        list[str] | None, typer.Argument(help="Items such as ft.table2; none for all.", autocompletion=_item_names)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw figures into this directory.")] = None,
    full: Annotated[bool, typer.Option("--full", help="The published number of repetitions.")] = False,
    names: Annotated[bool, typer.Option("--list", help="List the items and stop.")] = False,
) -> None:
    """Recompute a paper's table or figure and print each number beside the printed one, with a verdict."""
    from dalenius_lab.reproductions import items as registry

    every = registry.items()
    if names:
        typer.echo("\n".join(every))
        return
    wanted = list(items or every)
    for name in wanted:
        if name not in every:
            raise UnknownName.among("item", name, every)
    results: list[dict[str, object]] = [
        {"item": name, "rows": [row.to_dict() for row in registry.run(name, full)]} for name in wanted
    ]
    drawn = {}
    if plot is not None:
        plot.mkdir(parents=True, exist_ok=True)
        available = registry.plots()
        drawn = {name: available[name](plot, full) for name in wanted if name in available}
    if json:
        typer.echo(json_module.dumps(results[0] if items and len(results) == 1 else results, indent=1))
        return
    _show(results)
    typer.echo(_summary(results))
    for name, path in drawn.items():
        typer.echo(f"{name}: drawn in {path}")


def _show(results: list[dict[str, object]]) -> None:
    """One table for each item."""
    from rich.table import Table

    from dalenius.cli.output import console

    out = console()
    for result in results:
        rows = result["rows"]
        assert isinstance(rows, list)
        table = Table(title=str(result["item"]), title_justify="left")
        for heading in ("name", "paper", "ours", "corrected", "verdict"):
            table.add_column(heading, justify="left" if heading in ("name", "verdict") else "right")
        for row in rows:
            z = "" if row["z"] is None else f" (z = {row['z']:.1f})"
            shown = [_text(row[key]) for key in ("name", "paper", "ours", "corrected", "verdict")]
            table.add_row(*shown[:-1], shown[-1] + z)
        out.print(table)


def _summary(results: list[dict[str, object]]) -> str:
    """How many numbers were compared, and with which verdicts; the ones that differ by name."""
    from collections import Counter

    from dalenius_lab.reproductions.items import VERDICTS

    rows = [row for result in results for row in cast("list[dict[str, object]]", result["rows"])]
    counts = Counter(str(row["verdict"]) for row in rows)
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    items = f"{len(results)} item{'' if len(results) == 1 else 's'}"
    different = [str(row["name"]) for row in rows if row["verdict"] == "differs"]
    return f"{items}, {len(rows)} numbers: {said}." + (f" Different: {'; '.join(different)}." if different else "")


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
