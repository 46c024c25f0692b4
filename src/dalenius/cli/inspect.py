"""`dalenius inspect …`: exact values for the custodian, under a banner, a ledger line each."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dalenius.cli.documents import written
from dalenius.cli.output import existing_ledger
from dalenius.cli.plan import AnchorPath, LedgerPath, PolicyPath, RequestPath
from dalenius.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dalenius.core.sealed import Confidential
    from dalenius.curator.curator import Curator
    from dalenius.spec.request import RequestDocument

app = typer.Typer(no_args_is_help=True)
By = Annotated[str, typer.Option("--by", help="Who looks; written to the ledger.")]


def _print(
    look: "Callable[[Curator, RequestDocument], Confidential]",
    request: Path,
    ledger: str | None,
    anchor: Path | None,
    policy: Path | None,
) -> None:
    from dalenius.curator.curator import Curator
    from dalenius.spec import load

    origin = written(request)
    document = load.load_request(origin)
    dataset = load.load_dataset(load.dataset_of(document, origin))
    book = existing_ledger(ledger, dataset)
    with Curator.open(dataset, ledger=book, anchor=anchor, policy=policy) as curator:
        typer.echo(str(look(curator, document)))


@app.command()
def table(
    request: RequestPath,
    by: By = "custodian",
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
) -> None:
    """Print the exact counts that a request asks for."""
    _print(lambda curator, document: curator.inspect(document, by=by), request, ledger, anchor, policy)


@app.command()
def losses(
    request: RequestPath,
    release: Annotated[Path, typer.Argument(help="The release whose numbers are compared with the exact ones.")],
    by: By = "custodian",
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
) -> None:
    """Print how far released counts are from the exact ones: l1, l2, l3, Hellinger, and Cramér's V before and after."""
    from dalenius.publish import load

    made = load(release / "release.json" if release.is_dir() else release)
    _print(lambda curator, document: curator.compare(document, made, by=by), request, ledger, anchor, policy)


@app.command()
def sensitivity(
    request: RequestPath,
    function: Annotated[
        str | None,
        typer.Option("--function", help="FILE.py:NAME, a function of a tuple of values, in place of the measure."),
    ] = None,
    upper: Annotated[
        str | None, typer.Option("--upper", help="A bound on that function's sensitivity, proved elsewhere.")
    ] = None,
    by: By = "custodian",
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
) -> None:
    """Print how far one record can move a statistic: on any data, at these data, and between data sets made of their
    records.
    """
    if function is None:
        _print(lambda curator, document: curator.inspect_sensitivity(document, by=by), request, ledger, anchor, policy)
        return
    look = _black_box(function, upper)
    _print(lambda curator, document: curator.inspect_values(document, look, by=by), request, ledger, anchor, policy)


def _black_box(function: str, upper: str | None) -> "Callable[[list[int]], Mapping[str, object]]":
    """Bootstrap sensitivity of the custodian's own function, enumerated where possible and searched for elsewhere."""
    import runpy

    from dalenius.audit.black_box import bootstrap_sensitivity
    from dalenius.core.rationals import rational

    file, _, name = function.rpartition(":")
    if not file.endswith(".py") or not Path(file).is_file():
        raise ParameterError("A function is named as FILE.py:NAME, in a file that is there.", name="function")
    own = runpy.run_path(file).get(name)
    if not callable(own):
        raise ParameterError(f"The file has no function {name!r}.", name="function")
    bound = None if upper is None else rational(upper, "upper")

    def look(values: list[int]) -> "Mapping[str, object]":
        bracket = bootstrap_sensitivity(own, values, upper=bound)
        return {
            "found": float(bracket.found),
            "proved": None if bracket.proved is None else float(bracket.proved),
            "is exact": bracket.is_exact,
            "evaluations": bracket.evaluations,
        }

    return look


@app.command()
def plan(
    request: RequestPath,
    record: Annotated[int | None, typer.Option("--record", help="Row number: what its owner could claim.")] = None,
    by: By = "custodian",
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
) -> None:
    """Print what a plan whose noise follows the data would do to them: scales, expected losses, the
    checklist, claims.
    """
    _print(
        lambda curator, document: curator.inspect_plan(document, record=record, by=by), request, ledger, anchor, policy
    )


@app.command()
def dominance(
    request: RequestPath,
    by: By = "custodian",
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
) -> None:
    """Print which cells of a request with measure = "dominance" a few contributors dominate."""
    _print(lambda curator, document: curator.inspect_dominance(document, by=by), request, ledger, anchor, policy)
