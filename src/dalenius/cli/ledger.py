"""`dalenius ledger …`: a statement like a bank's, and the custodian's lines."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from dalenius.cli.output import console, emit, ledger_location, print_grid, say
from dalenius.cli.plan import AnchorPath, AsJson
from dalenius.errors import LedgerCorrupt, LedgerMismatch, ParameterError, UnknownName

if TYPE_CHECKING:
    from dalenius.ledger import Ledger
    from dalenius.ledger.odometer import OdometerReading
    from dalenius.ledger.statement import Statement

app = typer.Typer(no_args_is_help=True)

Location = Annotated[str, Option(help="Ledger: a SQLite file or a postgresql:// address.", envvar="DALENIUS_LEDGER")]
KeysPath = Annotated[Path | None, Option(help="Private folder of keys, if kept elsewhere.")]
PublicKey = Annotated[str | None, Option(help="Look with the ledger's public key instead of its folder of keys.")]
Population = Annotated[str | None, Option(help="Whose account; needed if there are several.")]
By = Annotated[str, Option(help="Who declares this; written to the ledger.")]
AccountName = Annotated[str, Option(help="master, data-dependent or public-attributes.")]


@contextmanager
def _opened(
    location: str,
    anchor: Path | None,
    keys: Path | None,
    public_key: str | None = None,
    *,
    may_create: bool = False,
    may_write: bool = True,
) -> Iterator["Ledger"]:
    """The ledger; looking at one that does not exist does not create it, and one that is broken can be looked at."""
    from dalenius.ledger import Ledger
    from dalenius.ledger.ledger import connect

    ledger_location(location)
    if not may_create:
        if "://" not in location and not Path(location).is_file():
            raise LedgerMismatch(f"There is no ledger at {location!r}.")
        connect(location, may_write=False).close()
    with Ledger.open(location, anchor=anchor, keys=keys, public_key=public_key, may_write=may_write) as ledger:
        yield ledger


def _only(ledger: "Ledger", population: str | None) -> str:
    populations = ledger.reader.populations()
    if population is None and len(populations) != 1:
        raise ParameterError(f"Name a population with --population. Known: {', '.join(populations) or 'none'}.")
    return population or populations[0]


@app.command()
def show(
    ledger: Location,
    population: Population = None,
    analyst: Annotated[str | None, Option(help="Only this analyst's statement.")] = None,
    delta: Annotated[str, Option(help="Failure probability of the odometer.")] = "1e-6",
    last: Annotated[int, Option(min=0, help="Most lines to print; 0 prints all.")] = 50,
    anchor: AnchorPath = None,
    keys: KeysPath = None,
    public_key: PublicKey = None,
    as_json: AsJson = False,
) -> None:
    """Print the statement: who, when, what, under which definition, at what cost, and what was left."""
    with _opened(ledger, anchor, keys, public_key, may_write=False) as book:
        name = _only(book, population)
        statement = book.reader.statement(name, analyst)
        reading = book.reader.odometer(name, delta) if analyst is None else None
    if as_json:
        emit(statement.to_dict() | ({"odometer": reading.to_dict()} if reading else {}))
    else:
        _print_statement(statement, reading, last)


@app.command()
def verify(
    ledger: Location,
    anchor: AnchorPath = None,
    keys: KeysPath = None,
    public_key: PublicKey = None,
    without_anchor: Annotated[bool, Option("--without-anchor", help="Check the store against itself only.")] = False,
    head: Annotated[list[str] | None, Option(help="A head kept elsewhere, such as a published release's.")] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute chain, totals and digests of releases; exit 6 if anything disagrees."""
    with _opened(ledger, anchor, keys, public_key, may_write=False) as book:
        report = book.reader.verify(heads=head or (), is_anchored=not without_anchor)
        key = book.public_key
    if as_json:
        emit(report.to_dict() | {"public_key": key})
    else:
        say(("The ledger holds.", "green") if report.is_ok else ("The ledger does not hold.", "bold red"))
        say(
            f"Lines: {report.lines:,}. Charges: {report.charges:,}. Releases: {report.releases:,}. "
            f"Charged and not completed: {report.unfinished:,}."
        )
        say(f"Head {report.head}")
        say(f"Public key {key}")
        for problem in report.problems:
            say((f"- {problem}", "red"))
        for unknown in ("Not known:", *(f"- {text}" for text in report.unknown)):
            say((unknown, "dim"))
    if not report.is_ok:
        raise typer.Exit(LedgerCorrupt.exit_code)


@app.command()
def export(
    ledger: Location,
    form: Annotated[str | None, Option("--format", help="json (unless another is named), jsonl or csv.")] = None,
    population: Population = None,
    statement: Annotated[bool, Option("--statement", help="The statement's lines instead of the ledger's.")] = False,
    out: Annotated[Path | None, Option(help="Write to a file.")] = None,
    anchor: AnchorPath = None,
    keys: KeysPath = None,
    public_key: PublicKey = None,
) -> None:
    """Write every line of the ledger, with its digests, or the statement as CSV or JSON."""
    from dalenius.ledger.statement import FORMS, export_statement

    beside = (Path(f"{Path(ledger).resolve()}{ending}") for ending in ("", "-wal", "-shm", ".lock", ".anchor"))
    kept = [*beside, *([anchor] if anchor else [])]
    if out is not None and out.exists() and any(path.exists() and out.samefile(path) for path in kept):
        raise ParameterError(f"--out would overwrite {str(out)!r}, which belongs to the ledger.")
    with _opened(ledger, anchor, keys, public_key, may_write=False) as book:
        if statement:
            text = export_statement(book.reader.statement(_only(book, population)), form or FORMS[0])
        else:
            text = book.reader.export(form or FORMS[0], population)
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")


@app.command()
def grant(
    ledger: Location,
    population: Annotated[str, Option(help="Who owns the budget.")],
    rho: Annotated[str, Option(help="How much to add, such as 0.5 or 1/3.")],
    delta: Annotated[str, Option(help="Failure probability to add.")] = "0",
    relation: Annotated[str, Option(help="add-remove or replace; fixed by the first grant.")] = "add-remove",
    note: Annotated[str, Option(help="Why; written to the ledger.")] = "",
    account: AccountName = "master",
    by: By = "custodian",
    anchor: AnchorPath = None,
    keys: KeysPath = None,
    as_json: AsJson = False,
) -> None:
    """Add to a population's budget. It can never be taken back."""
    from dalenius.core.budget import UNIT
    from dalenius.core.neighbours import Relation
    from dalenius.core.rationals import rational

    if not population.strip():
        raise ParameterError("--population must not be empty: it names who owns the budget.")
    if 0 < rational(rho, "rho") < UNIT:
        raise ParameterError(f"--rho must be at least {float(UNIT):g}; received {rho}.")
    UnknownName.check("relation", relation, list(Relation))
    with _opened(ledger, anchor, keys, may_create=True) as book:
        entry = book.declarations.grant(population, relation, rho, delta, by=by, note=note, account=account)
        _confirm(book, population, entry.name, as_json)


@app.command()
def quota(
    ledger: Location,
    analyst: Annotated[str, Option(help="Whose quota.")],
    rho: Annotated[str, Option(help="What may be spent in all, such as 0.5 or 1/3.")],
    delta: Annotated[str, Option(help="Failure probability in all.")] = "0",
    population: Population = None,
    account: Annotated[
        str | None,
        Option(help="master, data-dependent or public-attributes; by default every account that has a budget."),
    ] = None,
    by: By = "custodian",
    anchor: AnchorPath = None,
    keys: KeysPath = None,
    as_json: AsJson = False,
) -> None:
    """Set an analyst's quota inside the budget; what was spent before counts."""
    with _opened(ledger, anchor, keys) as book:
        name = _only(book, population)
        if account is None:
            entry = book.quota_in_every_account(name, analyst, rho, delta, by=by)[0]
        else:
            entry = book.declarations.quota(name, analyst, rho, delta, by=by, account=account)
        _confirm(book, name, entry.name, as_json)


@app.command()
def restore(
    ledger: Location,
    note: Annotated[str, Option(help="Why; written to the ledger.")],
    by: By = "custodian",
    anchor: AnchorPath = None,
    keys: KeysPath = None,
    as_json: AsJson = False,
) -> None:
    """Go on from a store that lost its last lines; what is left of every budget is counted as spent."""
    from dalenius.ledger.restore import restore as restore_ledger

    with _opened(ledger, anchor, keys, may_write=False):
        pass
    first, *forfeited = restore_ledger(ledger, by=by, note=note, anchor=anchor, keys=keys)
    if as_json:
        emit({"entry": first.name, "forfeited": [line.to_dict() for line in forfeited]})
        return
    say(("Written", "green"), f" {first.name}.")
    for line in forfeited:
        say(f"Counted as spent: rho {line.body['cost']['rho']} of {line.population}, {line.body['account']} account.")
    if first.body["anchored"] is None:
        say(
            "The anchor was missing, so nothing shows whether lines are missing too. Compare the head with the heads "
            "printed in published releases: dalenius ledger verify --head."
        )
    else:
        say("Grants that were among the lost lines are not known; count what was spent of them yourself.")


def _confirm(book: "Ledger", population: str, entry: str, as_json: bool) -> None:
    from dalenius.core.rationals import plain

    account = book.reader.account(population)
    if as_json:
        amounts = {"limit": account.limit.to_dict(), "left": account.left.to_dict()}
        emit({"entry": entry, "population": population, **amounts})
    else:
        left = f"rho {plain(account.left.rho)} left of {plain(account.limit.rho)}"
        say(("Written", "green"), f" {entry}. Master account of {population}: {left}.")


def _print_statement(statement: "Statement", reading: "OdometerReading | None", last: int) -> None:
    """Movements, balances, and what they mean in words."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from dalenius.cli.terminal import styled

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
    from dalenius.ledger.account import BALANCE_LABELS

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
