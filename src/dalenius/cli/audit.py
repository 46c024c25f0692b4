"""`dalenius audit …`: a claim checked from outside, by exact losses, by samples, by guesses, by definition."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli.plan import AsJson, PolicyPath, RequestPath

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

Confidence = Annotated[float, typer.Option(min=0.5, max=0.999999, help="Confidence of the bound.")]
Delta = Annotated[float, typer.Option(min=0, max=0.5, help="The delta of the claim.")]
Claimed = Annotated[
    float | None, typer.Option("--claimed", min=0, help="The claimed epsilon.", show_default=False)
]


@app.callback()
def audit() -> None:
    """A claim checked from outside: exact losses of a request, samples, guesses, definitions."""


@app.command()
def request(
    request: RequestPath,
    policy: PolicyPath = None,
    pairs: Annotated[int, typer.Option(min=1, max=100_000, help="Pairs of neighbours to compare.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the neighbours.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Attack a request of yours: its exact loss at neighbours that its declaration allows. No data are read."""
    from dalenius.audit.planned import audit_plan
    from dalenius.cli.output import emit, stages
    from dalenius.cli.plan import policy_for
    from dalenius.curator.planner import Planner
    from dalenius.spec import load

    document = load.load_request(request)
    dataset = load.load_dataset(load.dataset_of(document, request))
    domain = dataset.domain()
    plan = Planner(domain=domain, policy=policy_for(dataset, policy)).plan(document)
    with stages(quiet=as_json) as say:
        say(f"Comparing {pairs:,} pairs of neighbours")
        result = audit_plan(domain, plan, pairs=pairs, seed=seed)
    if as_json:
        emit(result.to_dict())
        return
    verdict = "never above" if result.is_kept else "ABOVE"
    typer.echo(
        f"{result.pairs:,} pairs of neighbours: the loss is {verdict} what is charged; "
        f"the largest is {result.largest:.1%} of it."
    )
    if not result.is_kept:
        raise typer.Exit(1)


@app.command()
def samples(
    first: Annotated[
        Path, typer.Argument(help="Outputs on one data set, one number a line.", show_default=False)
    ],
    second: Annotated[Path, typer.Argument(help="Outputs on its neighbour.", show_default=False)],
    delta: Delta = 0.0,
    confidence: Confidence = 0.99,
    claimed: Claimed = None,
    as_json: AsJson = False,
) -> None:
    """Bound epsilon from below by many outputs of any mechanism on two neighbouring inputs."""
    from dalenius.audit.empirical import two_sample

    _say(two_sample(_numbers(first), _numbers(second), delta=delta, confidence=confidence), claimed, as_json)


@app.command()
def guesses(
    canaries: Annotated[
        int, typer.Option(min=1, help="Records put in or left out by fair coins.", show_default=False)
    ],
    made: Annotated[
        int, typer.Option("--guesses", min=1, help="Guesses made about them.", show_default=False)
    ],
    correct: Annotated[int, typer.Option(min=0, help="Guesses that were right.", show_default=False)],
    delta: Delta = 0.0,
    confidence: Confidence = 0.95,
    claimed: Claimed = None,
    as_json: AsJson = False,
) -> None:
    """Bound epsilon from below by one run with many canaries (Steinke, Nasr and Jagielski 2023)."""
    from dalenius.audit.empirical import one_run

    _say(one_run(canaries, made, correct, delta=delta, confidence=confidence), claimed, as_json)


@app.command()
def definitions(
    epsilon: Annotated[float, typer.Option(min=0.01, max=20, help="Epsilon of the noise.")] = 1.0,
    weights: Annotated[
        list[float] | None,
        typer.Option(
            "--weight",
            help="Probability of each of the values 0, 1, 3, for the random definition; equal ones if left out.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which promise each kind of noise keeps, by enumeration of every data set of three rows with values 0, 1, 3."""
    from math import inf

    from dalenius.audit.comparison import compare_definitions
    from dalenius.cli.output import console, emit

    rows = compare_definitions(epsilon, tuple(weights) if weights else None)
    if as_json:
        emit({"epsilon": epsilon, "kinds": [row.to_dict() for row in rows]})
        return
    from rich.table import Table

    table = Table(title=f"Smallest epsilon that holds, noise of epsilon {epsilon:g}", title_justify="left")
    table.add_column("noise", no_wrap=True)
    for name in rows[0].smallest:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.noise, *("none" if value == inf else f"{value:.2f}" for value in row.smallest.values())
        )
    console().print(table)
    console().print("finite: over rows with values 0 and 1 only. random: the share of pairs drawn from the")
    console().print("declared distribution that keep this epsilon. none: no epsilon holds.")


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
        typer.echo(
            f"Epsilon is at least {result.epsilon:.3f} (confidence {result.confidence:g}; {result.event})."
        )
        if claimed is not None:
            typer.echo(f"The claim of {claimed:g} is {'refuted' if is_refuted else 'not contradicted'}.")
    if is_refuted:
        raise typer.Exit(1)
