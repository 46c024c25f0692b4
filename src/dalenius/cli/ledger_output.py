"""How a ledger's statement looks in a terminal."""

from typing import TYPE_CHECKING

from dalenius.cli.output import console, print_grid, say

if TYPE_CHECKING:
    from dalenius.ledger.odometer import OdometerReading
    from dalenius.ledger.statement import Statement


def print_statement(statement: "Statement", reading: "OdometerReading | None", last: int) -> None:
    """Movements, balances, and what they mean in words."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from dalenius.cli.terminal import styled

    who = f", analyst {statement.analyst}" if statement.analyst else ""
    relation = (str(statement.relation), "dim")
    say((f"Statement of {statement.population}", "bold"), f"{who}   ", relation)
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
    console().print(grid)
    if len(lines) < len(statement.lines):
        earlier = f"{len(statement.lines) - len(lines)} earlier lines; --last 0 prints all."
        say((earlier, "dim"))
    _print_balances(statement)
    for sentence in reading.sentences() if reading else ():
        say(sentence)
    for warning in statement.warnings:
        say((f"* {warning}", "yellow"))


def _print_balances(statement: "Statement") -> None:
    from dalenius.ledger.account import BALANCE_LABELS

    lines = [
        [
            f"{BALANCE_LABELS[balance['kind']]} {balance['name']}".strip()
            + ("" if balance["account"] == "master" else " *"),
            *(_short(balance[key]["rho"]) if balance[key] else "–" for key in ("limit", "spent", "left")),
            _short(balance["pure_epsilon"] or "") or "not pure",
            str(balance["charges"]),
        ]
        for balance in statement.balances
    ]
    heads = ("applies to", "limit", "spent", "left", "epsilon", "charges")
    print_grid(heads, lines, title="Balances", is_plain=True)


def _short(amount: str) -> str:
    """An exact amount for the eye; JSON and CSV hold all digits."""
    from fractions import Fraction

    return f"{float(Fraction(amount)):.6g}" if amount else ""
