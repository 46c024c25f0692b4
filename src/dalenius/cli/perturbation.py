"""`dalenius perturbation …`: tables p(a, b) for reading, exchange and judgement; free, and without data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from dalenius.cli.output import console, emit
from dalenius.cli.plan import AsJson, planned_at

if TYPE_CHECKING:
    from dalenius.core.law import Kernel

app = typer.Typer(no_args_is_help=True)
SOURCE = "A table (.csv, .tsv, .txt with the columns i, j, p), a request document, or a release."
Source = Annotated[Path, Argument(help=SOURCE)]
Largest = Annotated[int, Option(min=0, max=1000, help="Largest count that is listed.")]
_LABEL, _COLUMN = 6, 7


@app.command()
def show(
    source: Source,
    largest: Largest = 10,
    draw: Annotated[Path | None, Option(help="Draw it to this file (.png, .svg, .pdf); needs the extra plot.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print p(a, b): with which probability a count of a is shown as b."""
    from dalenius.exact import perturbation
    from dalenius.publish import draw_kernel

    kernel = kernel_at(source, largest)
    if draw is not None:
        draw_kernel(kernel, draw)
    if as_json:
        emit(kernel.to_dict())
        return
    columns = max(1, (console().width - _LABEL) // _COLUMN)
    typer.echo(perturbation.show(kernel, most=columns, largest=largest))


@app.command()
def design(
    limit: Annotated[int, Option(min=1, max=100, help="Largest perturbation.")],
    variance: Annotated[float, Option(min=0, help="Variance of the perturbation.")],
    threshold: Annotated[int, Option(min=0, max=100, help="Positive counts up to this are never shown.")] = 0,
    output: Annotated[Path | None, Option("-o", "--output", help="Write to this file; printed if left out.")] = None,
) -> None:
    """Write the classical table of cell keys: most entropy within a largest perturbation and a variance."""
    from dalenius.exact import perturbation

    _write(perturbation.to_text(perturbation.max_entropy_kernel(limit, variance, threshold)), output)


@app.command()
def export(
    source: Source,
    output: Annotated[Path | None, Option("-o", "--output", help="Write to this file; printed if left out.")] = None,
    largest: Largest = 10,
) -> None:
    """Write the table in the format of the R packages ptable and cellKey."""
    from dalenius.exact import perturbation

    _write(perturbation.to_text(kernel_at(source, largest)), output)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        typer.echo(f"Written to {output}.")


@app.command("import")
def import_(
    table: Annotated[Path, Argument(help="Table with the columns i, j, p (ptable, cellKey).")],
    epsilon: Annotated[str, Option(help="The epsilon of the guarantee.")],
    delta: Annotated[str, Option(help="The delta of the guarantee.")],
    cells: Annotated[int, Option(min=1, max=12, help="Cells that one unit can move: 1, or 2 under replace.")] = 1,
) -> None:
    r"""Judge a table exactly, and print the \[privacy] section of a request that uses it."""
    from dalenius.core.rationals import plain, rational
    from dalenius.core.sensitivity import Sensitivity
    from dalenius.exact import perturbation

    amounts = rational(epsilon, "epsilon"), rational(delta, "delta")
    moved = Sensitivity.of_patterns(((1,) * cells,))
    exact = perturbation.judge(kernel_at(table, 0), moved, *amounts)
    typer.echo(
        f"# The exact delta at epsilon {plain(amounts[0])} is {float(exact):.6g}.\n"
        f'[privacy]\ndefinition = "approximate"\nepsilon = "{plain(amounts[0])}"\ndelta = "{plain(amounts[1])}"\n'
        f'mechanism = "perturbation_table"\n\n[privacy.noise]\ntable_file = "{table.as_posix()}"'
    )


@app.command()
def audit(
    source: Source,
    epsilon: Annotated[list[str] | None, Option(help="An epsilon; may be repeated.")] = None,
    moves: Annotated[int, Option(min=1, max=12, help="Largest move of one cell to examine.")] = 1,
    cells: Annotated[int, Option(min=1, max=12, help="Cells that move together.")] = 1,
    largest: Largest = 10,
    as_json: AsJson = False,
) -> None:
    """Say what a table gives away, from its own integers: largest loss, impossible outputs, delta at an epsilon."""
    answer = findings(kernel_at(source, largest), epsilon or ["1"], moves, cells)
    if as_json:
        emit(answer)
        return
    typer.echo(f"{answer['rows']} rows, {answer['entries']:,} entries")
    for move in answer["moves"]:
        one, other = move["counts"]
        typer.echo(
            f"Move by at most {move['size']}: largest finite loss {move['largest_finite_loss']:.6g}; with probability"
            f" {move['impossible']:.4g} a count of {one} is shown as a value that a count of {other} never shows."
        )
    for line in answer["deltas"]:
        typer.echo(f"epsilon {line['epsilon']}: delta {line['delta']:.6g}")


def findings(kernel: "Kernel", epsilons: list[str], moves: int, cells: int) -> dict[str, Any]:
    from dalenius.core.rationals import plain, rational
    from dalenius.core.sensitivity import Sensitivity
    from dalenius.exact.perturbation import loss_of, table_delta

    pattern = Sensitivity.of_patterns(((moves,) * cells,))
    return {
        "rows": len(kernel.rows),
        "entries": sum(len(row) for row in kernel.rows),
        "moves": [
            {
                "size": loss.size,
                "largest_finite_loss": float(loss.largest_finite),
                "impossible": float(loss.impossible),
                "counts": list(loss.rows),
            }
            for loss in (loss_of(kernel, size) for size in range(1, moves + 1))
        ],
        "cells": cells,
        "deltas": [
            {"epsilon": plain(epsilon), "delta": float(table_delta(kernel, pattern, epsilon))}
            for epsilon in (rational(text, "epsilon") for text in epsilons)
        ],
    }


def kernel_at(source: Path, largest: int) -> "Kernel":
    """The table that a file holds, or that the noise of a request or release is for counts up to `largest`."""
    from dalenius.exact import perturbation
    from dalenius.publish import load
    from dalenius.spec.load import read_mapping
    from dalenius.spec.screening import read_text

    if source.suffix.lower() in (".csv", ".tsv", ".txt"):
        return perturbation.from_text(read_text(source, f"perturbation table {str(source)!r}"), source.stem)
    is_release = source.is_dir() or "blocks" in read_mapping(source)[0]
    law = load(source).law if is_release else planned_at(source)[1].law
    return perturbation.kernel_of_law(law, largest)
