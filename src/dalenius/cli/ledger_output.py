"""How a ledger's statement looks in a terminal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalenius.ledger.odometer import OdometerReading
    from dalenius.ledger.statement import Statement


def print_statement(statement: "Statement", reading: "OdometerReading | None", last: int) -> None:
    """Movements, balances, and what they mean in words."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from dalenius.cli.output import console
    from dalenius.cli.terminal import styled

    out = console()
    who = f", analyst {statement.analyst}" if statement.analyst else ""
    relation = (str(statement.relation), "dim")
    out.print(styled((f"Statement of {statement.population}", "bold"), f"{who}   ", relation))
    grid = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    grid.add_column("when", no_wrap=True)
    grid.add_column("what, by whom, under which definition")
    for column in ("rho", "delta", "left (rho)"):
        grid.add_column(column, justify="right", no_wrap=True)
    lines = statement.lines[-last:] if last else statement.lines
    for line in lines:
        sign = "+" if line.kind == "grant" else ""
        mark = " *" if line.account != "master" else ""
        about = ", ".join(part for part in (line.by, line.definition, line.status or line.kind) if part)
        grid.add_row(
            line.at[:10],
            styled(f"{line.what}{mark}\n", (about, "dim")),
            sign + _short(line.rho),
            _short(line.delta),
            _short(line.left_rho),
        )
    out.print(grid)
    if len(lines) < len(statement.lines):
        earlier = f"{len(statement.lines) - len(lines)} earlier lines; --last 0 prints all."
        out.print(styled((earlier, "dim")))
    _print_balances(statement)
    for sentence in reading.sentences() if reading else ():
        out.print(sentence)
    for warning in statement.warnings:
        out.print(styled((f"* {warning}", "yellow")))


def _print_balances(statement: "Statement") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from dalenius.cli.output import console
    from dalenius.ledger.account import BALANCE_LABELS

    grid = Table(header_style="bold", title="Balances", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    grid.add_column("applies to")
    for column in ("limit", "spent", "left", "epsilon", "charges"):
        grid.add_column(column, justify="right", no_wrap=True)
    for balance in statement.balances:
        limit, left = balance["limit"], balance["left"]
        mark = "" if balance["account"] == "master" else " *"
        grid.add_row(
            f"{BALANCE_LABELS[balance['kind']]} {balance['name']}".strip() + mark,
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
