"""`dalenius audit samples` and `dalenius audit guesses`: a claim checked by what came out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli.plan import AsJson

Confidence = Annotated[float, typer.Option(min=0.5, max=0.999999, help="Confidence of the bound.")]
Delta = Annotated[float, typer.Option(min=0, max=0.5, help="The delta of the claim.")]
Claimed = Annotated[float | None, typer.Option("--claimed", min=0, help="The claimed epsilon.", show_default=False)]


def samples(
    first: Annotated[Path, typer.Argument(help="Outputs on one data set, one number a line.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Outputs on its neighbour.", show_default=False)],
    delta: Delta = 0.0,
    confidence: Confidence = 0.99,
    claimed: Claimed = None,
    as_json: AsJson = False,
) -> None:
    """Bound epsilon from below by many outputs of any mechanism on two neighbouring inputs."""
    from dalenius_lab.empirical import two_sample

    _say(two_sample(_numbers(first), _numbers(second), delta=delta, confidence=confidence), claimed, as_json)


def guesses(
    canaries: Annotated[int, typer.Option(min=1, help="Records put in or left out by fair coins.", show_default=False)],
    made: Annotated[int, typer.Option("--guesses", min=1, help="Guesses made about them.", show_default=False)],
    correct: Annotated[int, typer.Option(min=0, help="Guesses that were right.", show_default=False)],
    delta: Delta = 0.0,
    confidence: Confidence = 0.95,
    claimed: Claimed = None,
    as_json: AsJson = False,
) -> None:
    """Bound epsilon from below by one run with many canaries (Steinke, Nasr and Jagielski 2023)."""
    from dalenius_lab.empirical import one_run

    _say(one_run(canaries, made, correct, delta=delta, confidence=confidence), claimed, as_json)


def _numbers(path: Path) -> Any:
    """Whole numbers, one a line."""
    import numpy as np

    from dalenius.errors import ParameterError

    try:
        return np.array([int(line) for line in path.read_text().split()], dtype=np.int64)
    except (OSError, ValueError, OverflowError):
        raise ParameterError(f"{path.name} must be a file of whole numbers, one a line.") from None


def _say(result: Any, claimed: float | None, as_json: bool) -> None:
    from dalenius.cli.output import emit

    is_refuted = claimed is not None and result.refutes(claimed)
    if as_json:
        emit(
            {
                "epsilon": result.epsilon,
                "confidence": result.confidence,
                "event": result.event,
                "is_refuted": is_refuted if claimed is not None else None,
            }
        )
    else:
        typer.echo(f"Epsilon is at least {result.epsilon:.3f} (confidence {result.confidence:g}; {result.event}).")
        if claimed is not None:
            typer.echo(f"The claim of {claimed:g} is {'refuted' if is_refuted else 'not contradicted'}.")
    if is_refuted:
        raise typer.Exit(1)
