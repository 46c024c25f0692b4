"""How a ledger's statement looks in a terminal."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from dalenius.cli.output import console, print_grid, say
from dalenius.cli.terminal import styled
from dalenius.ledger.account import BALANCE_LABELS
from dalenius.ledger.odometer import OdometerReading
from dalenius.ledger.statement import Statement


def print_statement(statement: Statement, reading: OdometerReading | None, last: int) -> None:
    """Movements, balances, and what they mean in words."""
    who = f", analyst {statement.analyst}" if statement.analyst else ""
    say((f"Statement of {statement.population}", "bold"), f"{who}   ", (str(statement.relation), "dim"))
    grid = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    grid.add_column("when", no_wrap=True)
    grid.add_column("what, by whom, under which definition")
    for column in ("rho", "delta", "left (rho)"):
        grid.add_column(column, justify="right", no_wrap=True)
    lines = statement.lines[-last:] if last else statement.lines
    for line in lines:
        what = line.what + (" *" if line.account != "master" else "")
        about = ", ".join(filter(None, (line.by, line.definition, line.status or line.kind)))
        rho = ("+" if line.kind == "grant" else "") + _short(line.rho)
        grid.add_row(line.at[:10], styled(f"{what}\n", (about, "dim")), rho, _short(line.delta), _short(line.left_rho))
    console().print(grid)
    if len(lines) < len(statement.lines):
        say((f"{len(statement.lines) - len(lines)} earlier lines; --last 0 prints all.", "dim"))
    heads = ("applies to", "limit", "spent", "left", "epsilon", "charges")
    print_grid(heads, map(_balance, statement.balances), title="Balances", is_plain=True)
    for sentence in reading.sentences() if reading else ():
        say(sentence)
    for warning in statement.warnings:
        say((f"* {warning}", "yellow"))


def _balance(balance: Mapping[str, Any]) -> list[str]:
    mark = "" if balance["account"] == "master" else " *"
    return [
        f"{BALANCE_LABELS[balance['kind']]} {balance['name']}".strip() + mark,
        *(_short(balance[key]["rho"]) if balance[key] else "–" for key in ("limit", "spent", "left")),
        _short(balance["pure_epsilon"] or "") or "not pure",
        str(balance["charges"]),
    ]


def _short(amount: str) -> str:
    """An exact amount for the eye; JSON and CSV hold all digits."""
    return f"{float(Fraction(amount)):.6g}" if amount else ""
