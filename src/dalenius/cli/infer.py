"""`dalenius infer …`: what a release means, from its document alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dalenius.core.estimate import TestResult
    from dalenius.core.release import Release

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

Where = Annotated[
    Path,
    typer.Argument(
        metavar="RELEASE", help="release.json, or the directory that holds it.", show_default=False
    ),
]
More = Annotated[
    list[Path] | None,
    typer.Option(
        "--also", help="A further release of the same table, analysed together.", show_default=False
    ),
]
Axes = Annotated[
    list[str] | None,
    typer.Option("--axis", "-a", help="An axis of the table; repeat for each.", show_default=False),
]
Method = Annotated[str, typer.Option(help="monte-carlo, asymptotic or chi-square.")]
Nested = Annotated[str, typer.Option(help="monte-carlo, or asymptotic where that is safe.")]
Replicates = Annotated[int, typer.Option(min=19, max=100_000, help="Simulated measurements.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same answer.")]
Confidence = Annotated[float, typer.Option(min=0.01, max=0.9999, help="Level of the intervals.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Plot = Annotated[
    Path | None,
    typer.Option(help="Also draw the result into this file: .png, .svg or .pdf.", show_default=False),
]


def _load(path: Path, more: list[Path] | None = None) -> "Release | list[Release]":
    from dalenius.publish import load as load_release

    first = load_release(path)
    return first if not more else [first, *(load_release(p) for p in more)]


def _say(result: Any, as_json: bool, plot: Path | None = None) -> None:
    """Print a result that prints itself, or its document."""
    from dalenius.cli.output import console, emit
    from dalenius.cli.terminal import styled
    from dalenius.core.estimate import plain_values
    from dalenius.errors import ParameterError

    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ParameterError(f"A figure is drawn as .png, .svg or .pdf; received {plot.name!r}.")
    if as_json:
        emit(plain_values(result.to_dict()))
    else:
        first, *rest = str(result).split("\n")
        out = console()
        out.print(styled((first, "bold")), soft_wrap=True)
        for line in rest:
            out.print(line, soft_wrap=True)
    if plot is not None:
        result.plot(plot)


def _verdict(test: "TestResult", as_json: bool) -> None:
    """One plain sentence under a test."""
    if as_json:
        return
    from dalenius.cli.output import console
    from dalenius.cli.terminal import styled

    word = "speaks against" if test.p_value <= 0.05 else "does not contradict"
    console().print(styled((f"At 5 % the release {word} this hypothesis.", "dim")))


@app.command()
def independence(
    release: Where,
    axis: Axes = None,
    also: More = None,
    method: Method = "monte-carlo",
    replicates: Replicates = 999,
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Test that the axes of a table are independent."""
    from dalenius.inference import independence as test

    found = test(_load(release, also), *(axis or ()), method=method, replicates=replicates, seed=seed)
    _say(found, as_json, plot)
    _verdict(found, as_json)


@app.command()
def interval(
    release: Where,
    axis: Axes = None,
    also: More = None,
    kind: Annotated[
        str, typer.Option(help="population (noise only) or parameter (noise and sampling).")
    ] = "population",
    method: Annotated[str, typer.Option(help="exact, guarded or mid-p; for the parameter only.")] = "exact",
    simultaneous: Annotated[bool, typer.Option(help="Hold for all cells together.")] = False,
    confidence: Confidence = 0.95,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Intervals for every cell of a table or of a margin."""
    from dalenius.inference import intervals

    found = intervals(
        _load(release, also),
        *(axis or ()),
        kind=kind,
        confidence=confidence,
        method=method,
        is_simultaneous=simultaneous,
    )
    _say(found, as_json, plot)


@app.command()
def compare(
    release: Where,
    null: Annotated[str, typer.Argument(help='The smaller model, such as "A*C + B*C".', show_default=False)],
    alternative: Annotated[
        str | None, typer.Argument(help="The larger model; the saturated one if left out.")
    ] = None,
    axis: Axes = None,
    also: More = None,
    method: Nested = "monte-carlo",
    replicates: Replicates = 999,
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Compare two nested log-linear models."""
    from dalenius.inference import compare as test

    found = test(
        _load(release, also),
        null,
        alternative,
        *(axis or ()),
        method=method,
        replicates=replicates,
        seed=seed,
    )
    _say(found, as_json, plot)
    _verdict(found, as_json)


@app.command()
def loglinear(
    release: Where,
    model: Annotated[str, typer.Argument(help='A formula, such as "A*B + C".', show_default=False)],
    axis: Axes = None,
    also: More = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Fit a log-linear model."""
    from dalenius.inference import loglinear as fit

    _say(fit(_load(release, also), model, *(axis or ())), as_json, plot)


@app.command()
def gof(
    release: Where,
    probability: Annotated[
        list[float] | None,
        typer.Option("--probability", "-p", help="One for each cell, in order; equal if left out."),
    ] = None,
    axis: Axes = None,
    also: More = None,
    replicates: Replicates = 999,
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Test that the counts follow given probabilities."""
    from dalenius.inference import goodness_of_fit

    found = goodness_of_fit(
        _load(release, also), probability, *(axis or ()), replicates=replicates, seed=seed
    )
    _say(found, as_json, plot)
    _verdict(found, as_json)


@app.command("odds-ratio")
def odds_ratio(
    release: Where,
    axis: Axes = None,
    also: More = None,
    confidence: Confidence = 0.95,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Odds ratio of the first two rows and columns, with a profile-likelihood interval."""
    from dalenius.inference import odds_ratio as estimate

    _say(estimate(_load(release, also), *(axis or ()), confidence=confidence), as_json, plot)


@app.command()
def binomial(
    release: Where,
    size: Annotated[int, typer.Option(min=1, help="The known number of trials.", show_default=False)],
    label: Annotated[
        list[str], typer.Option(help="axis=label of the cell; repeat for each axis.", show_default=False)
    ],
    probability: Annotated[float, typer.Option(min=0, max=1, help="The hypothesis.")] = 0.5,
    alternative: Annotated[str, typer.Option(help="two-sided, greater or less.")] = "two-sided",
    method: Annotated[str, typer.Option(help="likelihood-ratio or tulap.")] = "likelihood-ratio",
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Exact test of a proportion in a group of known size."""
    from dalenius.inference.binomial import binomial_test_of_cell

    found = binomial_test_of_cell(
        _load(release),
        _labels(label),
        size,
        probability=probability,
        alternative=alternative,
        method=method,
        seed=seed,
    )
    _say(found, as_json, plot)
    _verdict(found, as_json)


def _labels(pairs: list[str]) -> Mapping[str, str]:
    from dalenius.errors import ParameterError

    found = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise ParameterError(f"A label is written axis=label; received {pair!r}.")
        found[name.strip()] = value.strip()
    return found
