"""`dalenius describe DATA`: a first draft of a dataset document."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from dalenius.cli.output import emit, say
from dalenius.cli.plan import AsJson
from dalenius.errors import ParameterError


def describe(
    data: Annotated[Path, Argument(help="CSV or Parquet file.")],
    from_data: Annotated[
        bool, Option("--from-data", help="Read categories and bounds from rows; marked unconfirmed.")
    ] = False,
    output: Annotated[Path | None, Option("-o", "--output", help="Write to a new file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draft a dataset document: names and types from the file, for you to complete and confirm."""
    import tomllib

    from dalenius.curator.drafting import draft

    if output is not None and output.exists():
        raise ParameterError(f"{str(output)!r} exists; a draft never overwrites a file.", received=str(output))
    text = draft(data, from_data=from_data)
    if output is not None:
        output.write_text(text)
        advice = ". Confirm every variable before you register it."
        say("Draft written to ", (str(output), "bold"), advice)
    elif as_json:
        emit(tomllib.loads(text))
    else:
        typer.echo(text, nl=False)
