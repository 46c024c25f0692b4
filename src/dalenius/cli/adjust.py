"""`dalenius adjust RELEASE`: released numbers made whole, possible or consistent, without data or cost."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from dalenius.cli.documents import ReleasePath, read_release
from dalenius.cli.output import emit
from dalenius.cli.plan import AsJson
from dalenius.errors import ParameterError


def adjust(
    release: ReleasePath,
    output: Annotated[
        Path | None, Option("-o", "--output", help="A directory, or one file; shown if left out.")
    ] = None,
    whole: Annotated[bool, Option("--whole", help="Whole numbers that add up.")] = False,
    nonnegative: Annotated[bool, Option("--nonnegative", help="The nearest tables without negative cells.")] = False,
    least: Annotated[str | None, Option(help="Show smaller values as this one.")] = None,
    most: Annotated[str | None, Option(help="Show larger values as this one.")] = None,
    consistent: Annotated[bool, Option("--consistent", help="Tables that were measured one by one agree.")] = False,
    anchor: Annotated[Path | None, Option(help="An earlier release of the same data that is agreed with.")] = None,
    published: Annotated[Path | None, Option(help="Dataset document whose [[published]] totals are respected.")] = None,
    as_json: AsJson = False,
) -> None:
    """Adjust what a release shows. Measured values stay in it, and intervals are made of them."""
    from dalenius.cli.tables import print_release
    from dalenius.postprocess import adjusted, adjustments, declared_totals
    from dalenius.publish import load, save, to_document
    from dalenius.spec.load import load_dataset
    from dalenius.spec.show import ShowPart

    measured = read_release(release)
    totals = None
    if published is not None:
        dataset = load_dataset(published)
        totals = declared_totals(
            dataset.published,
            dataset.domain(),
            [axis for table in measured.tables for axis in table.space.axes],
            has_conditions=bool(measured.provenance.request.get("where")),
        )
    asked = {"consistent": consistent, "nonnegative": nonnegative, "least": least, "most": most, "whole": whole}
    show = ShowPart.model_validate({key: value for key, value in asked.items() if value not in (None, False)})
    steps = adjustments(show, totals, None if anchor is None else load(anchor))
    if not steps:
        raise ParameterError("Say how: --whole, --nonnegative, --least, --most, --consistent, --anchor, --published.")
    measured = adjusted(measured, steps)
    if output is not None:
        save(measured, output)
    if as_json:
        emit(to_document(measured))
    elif output is None:
        print_release(measured)
    else:
        typer.echo(f"Written to {output}.")
