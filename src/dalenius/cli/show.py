"""`dalenius show RELEASE`: a table in the terminal, with its margins of error."""

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli.plan import AsJson


def show(
    release: Annotated[
        Path,
        typer.Argument(help="release.json, the directory that holds it, or - for standard input.", show_default=False),
    ],
    confidence: Annotated[float, typer.Option(min=0.01, max=0.9999, help="Level of the intervals.")] = 0.95,
    rows: Annotated[int, typer.Option(min=0, help="Most rows to print; 0 prints all.")] = 60,
    as_json: AsJson = False,
) -> None:
    """Print a release with its margins of error and its guarantee."""
    from dalenius.cli.documents import read_release
    from dalenius.cli.output import emit
    from dalenius.cli.tables import print_release
    from dalenius.publish import to_document

    document = read_release(release)
    if as_json:
        emit(to_document(document))
    else:
        print_release(document, confidence=confidence, most_rows=rows or 10**9)
