"""`dalenius inspect table | plan | dominance REQUEST`: the custodian's door. Exact values, under a banner, a ledger line each."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dalenius.cli.plan import AnchorPath, LedgerPath, PolicyPath, RequestPath

if TYPE_CHECKING:
    from collections.abc import Callable

    from dalenius.core.sealed import Confidential
    from dalenius.curator.curator import Curator
    from dalenius.spec.request import RequestDocument

app = typer.Typer(
    name="inspect",
    help="Exact values for the custodian's own eyes. Each look is a line of the ledger; nothing here may be published.",
    no_args_is_help=True,
    add_completion=False,
)
By = Annotated[str, typer.Option("--by", help="Who looks; written to the ledger.")]


def _print(
    look: "Callable[[Curator, RequestDocument], Confidential]",
    request: Path,
    ledger: str | None,
    anchor: Path | None,
    policy: Path | None,
) -> None:
    from dalenius.cli.documents import written
    from dalenius.cli.output import existing_ledger
    from dalenius.curator.curator import Curator
    from dalenius.spec import load

    origin = written(request)
    document = load.load_request(origin)
    dataset = load.load_dataset(load.dataset_of(document, origin))
    book = existing_ledger(ledger, dataset)
    with Curator.open(dataset, ledger=book, anchor=anchor, policy=policy) as curator:
        typer.echo(str(look(curator, document)))


@app.command()
def table(
    request: RequestPath,
    by: By = "custodian",
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
) -> None:
    """Print the exact counts that a request asks for."""
    _print(lambda curator, document: curator.inspect(document, by=by), request, ledger, anchor, policy)


@app.command()
def plan(
    request: RequestPath,
    record: Annotated[
        int | None, typer.Option("--record", help="Row number: what its owner could claim.")
    ] = None,
    by: By = "custodian",
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
) -> None:
    """Print what a plan whose noise follows the data would do to them: scales, expected losses, the checklist, claims."""
    _print(
        lambda curator, document: curator.inspect_plan(document, record=record, by=by),
        request,
        ledger,
        anchor,
        policy,
    )


@app.command()
def dominance(
    request: RequestPath,
    by: By = "custodian",
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
) -> None:
    """Print which cells of a request with measure = "dominance" a few contributors dominate."""
    _print(
        lambda curator, document: curator.inspect_dominance(document, by=by), request, ledger, anchor, policy
    )
