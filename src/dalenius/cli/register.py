"""`dalenius register DATASET`: judge the content once, for the custodian, and tie the file to its version."""

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli.plan import AnchorPath, AsJson, LedgerPath, PolicyPath


def register(
    dataset: Annotated[Path, typer.Argument(help="Dataset document.", show_default=False)],
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
    by: Annotated[str, typer.Option(help="Who registers; written to the ledger.")] = "custodian",
    report: Annotated[
        bool, typer.Option("--report", help="Print the confidential report on the content.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Register a data set: its keyed fingerprint goes to the ledger; a changed file will be refused."""
    from dalenius.cli.output import console, emit, ledger_location
    from dalenius.cli.terminal import styled
    from dalenius.curator.curator import Curator
    from dalenius.curator.source import check_source
    from dalenius.errors import Unconfirmed
    from dalenius.spec import load

    location = None if ledger is None else ledger_location(ledger)
    document = load.load_dataset(dataset)
    check_source(document)
    if unconfirmed := [name for name, part in document.variables.items() if not part.confirmed]:
        raise Unconfirmed(
            f"Not confirmed: {', '.join(unconfirmed)}. Registration ties the declaration to this version, so confirm"
            " these variables (confirmed = true) or take them out first.",
            variables=unconfirmed,
        )
    with Curator.open(dataset, ledger=location, anchor=anchor, policy=policy) as curator:
        findings = curator.register(by=by)
        name, version = curator.domain.name, curator.domain.version
    if as_json:
        emit({"registered": name, "version": version})
    else:
        console().print(styled(("Registered", "green"), f" {name} {version}."))
    if report:
        typer.echo(str(findings), err=True)
