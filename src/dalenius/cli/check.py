"""`dalenius check DOC`: read a document as strictly as a release would, without touching data."""

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli.plan import AsJson


def check(
    document: Annotated[
        Path, typer.Argument(help="Dataset, request or policy document.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Check a document: its kind, its keys, its names. Nothing is read but the document."""
    from dalenius.cli.output import console, emit
    from dalenius.spec import load
    from dalenius.spec.dataset import DatasetDocument

    found = load.load_any(document)
    kind = type(found).__name__.removesuffix("Document").lower()
    facts: dict[str, object] = {"document": kind, "valid": True}
    if isinstance(found, DatasetDocument):
        domain = found.domain()
        facts |= {"dataset": domain.name, "population": domain.population, "variables": len(domain.variables)}
    if as_json:
        emit(facts)
    else:
        console().print(f"[green]A valid {kind} document.[/]")
