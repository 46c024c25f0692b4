"""How a ledger's statement looks in a terminal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalenius.ledger.odometer import Reading
    from dalenius.ledger.statement import Statement

_PURSES = {
    "total": "whole budget",
    "others": "besides official tables",
    "analyst": "analyst",
    "variable": "variable",
    "wave": "version",
}


def print_statement(statement: "Statement", reading: "Reading | None", last: int) -> None:
    """Movements, balances, and what they mean in words."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from dalenius.cli.output import console

    out = console()
    who = f", analyst {statement.analyst}" if statement.analyst else ""
    out.print(
        f"[bold]Statement of {escape(statement.population)}[/]{escape(who)}   [dim]{statement.relation}[/]"
    )
    grid = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    grid.add_column("when", no_wrap=True)
    grid.add_column("what, by whom, under which definition")
    for column in ("rho", "delta", "left (rho)"):
        grid.add_column(column, justify="right", no_wrap=True)
    lines = statement.lines[-last:] if last else statement.lines
    for line in lines:
        sign = "+" if line.kind == "grant" else ""
        page = " *" if line.page != "master" else ""
        about = ", ".join(part for part in (line.by, line.definition, line.status or line.kind) if part)
        grid.add_row(
            line.at[:10],
            f"{escape(line.what)}{page}\n[dim]{escape(about)}[/]",
            sign + _short(line.rho),
            _short(line.delta),
            _short(line.left_rho),
        )
    out.print(grid)
    if len(lines) < len(statement.lines):
        out.print(f"[dim]{len(statement.lines) - len(lines)} earlier lines; --last 0 prints all.[/]")
    _print_balances(statement)
    for sentence in reading.sentences() if reading else ():
        out.print(escape(sentence))
    for warning in statement.warnings:
        out.print(f"[yellow]* {escape(warning)}[/]")


def _print_balances(statement: "Statement") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from dalenius.cli.output import console

    grid = Table(header_style="bold", title="Balances", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    grid.add_column("purse")
    for column in ("limit", "spent", "left", "epsilon", "charges"):
        grid.add_column(column, justify="right", no_wrap=True)
    for balance in statement.balances:
        limit, left = balance["limit"], balance["left"]
        page = "" if balance["page"] == "master" else " *"
        grid.add_row(
            escape(f"{_PURSES[balance['kind']]} {balance['name']}".strip()) + page,
            _short(limit["rho"]) if limit else "–",
            _short(balance["spent"]["rho"]),
            _short(left["rho"]) if left else "–",
            _short(balance["pure_epsilon"] or "") or "not pure",
            str(balance["charges"]),
        )
    console().print(grid)


def _short(amount: str) -> str:
    """An exact amount for the eye; JSON and CSV hold all digits."""
    from fractions import Fraction

    return f"{float(Fraction(amount)):.6g}" if amount else ""
