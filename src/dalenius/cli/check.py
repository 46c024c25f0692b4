"""`dalenius check DOC`: read a document as strictly as a release would, without touching data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli.documents import written
from dalenius.cli.output import emit, say
from dalenius.cli.plan import AsJson


def _kinds(incomplete: str) -> list[str]:
    from dalenius.spec.schema import kinds

    return [name for name in kinds() if name.startswith(incomplete)]


def check(
    document: Annotated[
        Path | None,
        typer.Argument(help="Dataset, request or policy document, or - for standard input.", show_default=False),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="KIND",
            help="Print the JSON Schema of a kind of document, for editors: dataset, request, batch, policy or "
            "release.",
            show_default=False,
            autocompletion=_kinds,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a document: its keys, its names, and that the file it names has the declared columns.

    Of a data file only the names and types of its columns are read. A request is checked against its dataset document.
    """
    if schema is not None:
        from dalenius.spec.schema import schema_text

        typer.echo(schema_text(schema), nl=False)
        return
    if document is None:
        raise typer.BadParameter("name a document, or a kind of document with --schema.", param_hint="DOCUMENT")
    from dalenius.spec import load
    from dalenius.spec.batch import BatchDocument
    from dalenius.spec.dataset import DatasetDocument
    from dalenius.spec.request import RequestDocument

    origin = written(document)
    content = load.load_any(origin)
    kind = type(content).__name__.removesuffix("Document").lower()
    facts: dict[str, Any] = {"document": kind, "valid": True}
    if isinstance(content, DatasetDocument):
        facts |= _dataset(content)
    elif isinstance(content, RequestDocument | BatchDocument) and content.dataset:
        facts |= _request(content, origin)
    if as_json:
        emit(facts)
        return
    say((f"A valid {kind} document.", "green"))
    if unconfirmed := facts.get("unconfirmed"):
        say(f"Not confirmed yet, so not usable: {', '.join(unconfirmed)}.")
    for name, sentence in facts.get("derived", {}).items():
        say((name, "bold"), f": {sentence}")


def _dataset(document: Any) -> dict[str, Any]:
    from dalenius.curator.source import check_source
    from dalenius.spec.derived_words import derivation

    domain = document.domain()
    said = {name: derivation(variable, domain) for name, variable in domain.variables.items()}
    derived = {name: sentence for name, sentence in said.items() if sentence}
    if document.dataset.source:
        check_source(document)
    return {
        "dataset": domain.name,
        "population": domain.population,
        "variables": len(domain.variables),
        "unconfirmed": [name for name, variable in domain.variables.items() if not variable.is_confirmed],
        "source": "columns found" if document.dataset.source else "none named",
    } | ({"derived": derived} if derived else {})


def _request(document: Any, origin: Path | str) -> dict[str, Any]:
    from dalenius.curator.rules import check_weight
    from dalenius.spec import load
    from dalenius.spec.batch import form_of, members_of

    domain = load.load_dataset(load.dataset_of(document, origin)).domain()
    for member in members_of(document):
        check_weight(member, domain)
    cells = sum(form_of(member, domain).space.size for member in members_of(document))
    return {"dataset": document.dataset, "cells": cells, "digest": form_of(document, domain).digest}
