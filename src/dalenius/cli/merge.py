"""`dalenius merge RELEASE`: the axis for the next request, with small categories merged along a declared level."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from dalenius.cli.output import emit
from dalenius.cli.plan import AsJson


def merge(
    release: Annotated[Path, Argument(help="A release that counts the categories, or its directory.")],
    dataset: Annotated[Path, Option(help="Dataset document that declares the level.")],
    variable: Annotated[str, Option(help="The variable whose categories are merged.")],
    level: Annotated[str, Option(help="The declared level along which to merge.")],
    minimum: Annotated[float, Option(help="Released count below which a category is too small.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Print the axis for the next request. Free: looks at what was released, never at data."""
    import json

    from dalenius.lists.merging import merged_axis, merged_groups, released_counts
    from dalenius.publish import load as load_release
    from dalenius.spec import load

    declared = load.load_dataset(dataset).domain().variable(variable)
    axis = merged_axis(declared, level, released_counts(load_release(release), declared), minimum)
    groups = merged_groups(declared, axis)
    if as_json:
        emit({"variable": variable, "groups": groups})
        return
    # A JSON text of strings and lists of strings is TOML as well.
    parts = ", ".join(
        f"{json.dumps(label, ensure_ascii=False)} = {json.dumps(members, ensure_ascii=False)}"
        for label, members in groups.items()
    )
    typer.echo(f"{{ variable = {json.dumps(variable, ensure_ascii=False)}, groups = {{ {parts} }} }}")
