"""`dalenius release REQUEST -o DIR`: charge, measure, store, write the documents."""

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli.plan import AsJson, LedgerPath, PolicyPath, RequestPath

Out = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="Directory for release.json, table.csv, table.html; or one file of such a kind.",
    ),
]


def release(
    request: RequestPath,
    output: Out = None,
    ledger: LedgerPath = None,
    policy: PolicyPath = None,
    analyst: Annotated[str, typer.Option(help="Who asks; their quota applies.")] = "",
    approved_by: Annotated[str, typer.Option(help="Second person, where the policy asks for one.")] = "",
    official: Annotated[
        bool, typer.Option("--official", help="The custodian's own table, paid from the official share.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Release a protected table. An identical request is answered from the ledger, free, for ever."""
    from dalenius.cli.output import console, emit, existing_ledger, output_place, print_release, stages
    from dalenius.curator.curator import Curator
    from dalenius.publish.to_json import to_document
    from dalenius.spec import load
    from dalenius.storage import save

    document = load.load_request(request)
    dataset = load.dataset_of(document, request)
    book = existing_ledger(ledger, dataset)
    source = dataset.parent / load.load_dataset(dataset).dataset.source
    inputs = [source, dataset, request, Path(book), *([policy] if policy else [])]
    output = output_place(output, inputs)
    with Curator.open(dataset, ledger=book, policy=policy) as curator, stages(quiet=as_json) as stage:
        result = curator.release(
            document, analyst=analyst, approved_by=approved_by, is_official=official, stage=stage
        )
    if output is not None:
        save(result, output)
    if as_json:
        emit(to_document(result))
        return
    print_release(result)
    if output is not None:
        files = ": release.json, table.csv, table.html" if output.is_dir() else ""
        console().print(f"Written to [bold]{output}[/]{files}.")
