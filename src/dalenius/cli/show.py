"""`dalenius show RELEASE`: a table in the terminal, with its margins of error."""

from typing import Annotated

from typer import Option

from dalenius.cli.documents import ReleasePath, read_release
from dalenius.cli.output import emit
from dalenius.cli.plan import AsJson


def show(
    release: ReleasePath,
    confidence: Annotated[float, Option(min=0.01, max=0.9999, help="Level of the intervals.")] = 0.95,
    rows: Annotated[int, Option(min=0, help="Most rows to print; 0 prints all.")] = 60,
    as_json: AsJson = False,
) -> None:
    """Print a release with its margins of error and its guarantee."""
    from dalenius.cli.tables import print_release
    from dalenius.publish import to_document

    document = read_release(release)
    if as_json:
        emit(to_document(document))
    else:
        print_release(document, confidence=confidence, most_rows=rows or 10**9)
