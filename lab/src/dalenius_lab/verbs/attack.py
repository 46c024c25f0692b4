"""`dalenius attack`: what known attacks do to servers that are in use, and to this one."""

from typing import Annotated, Any

import typer

from dalenius.cli.plan import AsJson


def attack(
    names: Annotated[
        list[str] | None, typer.Argument(help="Attacks such as averaging; none for all.", show_default=False)
    ] = None,
    lists: Annotated[bool, typer.Option("--list", help="List the attacks and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run known attacks on a broken server and on ours. Generated people only: no data of yours are read."""
    from dalenius.cli.output import emit
    from dalenius.errors import UnknownName
    from dalenius_lab.demonstration import attacks, demonstrate

    available = attacks()
    if lists:
        typer.echo("\n".join(available))
        return
    chosen = list(names or available)
    for name in chosen:
        if name not in available:
            raise UnknownName.among("attack", name, available)
    results = {name: demonstrate(name) for name in chosen}
    if as_json:
        emit({name: [result.to_dict() for result in gains] for name, gains in results.items()})
        return
    for name, gains in results.items():
        _show(name, gains)


def _show(name: str, results: Any) -> None:
    """One table for each attack, the broken server first."""
    from rich.table import Table

    from dalenius.cli.output import console

    table = Table(title=name.replace("_", " "), title_justify="left")
    table.add_column("target", ratio=3)
    table.add_column("advantage", justify="right")
    table.add_column("outcome")
    for result in results:
        outcome = "succeeds" if result.succeeded else "gains no more than was guaranteed"
        table.add_row(result.target, f"{result.advantage:.3f}", outcome)
    console().print(table)
