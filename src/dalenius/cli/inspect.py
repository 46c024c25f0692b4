"""`dalenius inspect …`: exact values for the custodian, under a banner, a ledger line each."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from dalenius.cli.flags import signed
from dalenius.cli.output import existing_ledger
from dalenius.cli.plan import AnchorPath, LedgerPath, PolicyPath, RequestPath, asked_at
from dalenius.errors import ParameterError

if TYPE_CHECKING:
    from dalenius.core.sealed import Confidential
    from dalenius.curator.inspection import Inspection
    from dalenius.spec.request import RequestDocument

app = typer.Typer(no_args_is_help=True)
By = Annotated[str, Option(help="Who looks; written to the ledger.")]


def _verb(look: "Callable[..., Confidential]") -> Callable[..., None]:
    """Make a verb of a look at a request, with the look's own options and those that all of them share."""

    def command(
        request: RequestPath,
        by: By = "custodian",
        ledger: LedgerPath = None,
        anchor: AnchorPath = None,
        policy: PolicyPath = None,
        **own: Any,
    ) -> None:
        from dalenius.curator.curator import Curator
        from dalenius.spec import load

        document, place = asked_at(load.load_request, request, policy, ledger)
        dataset = load.load_dataset(place)
        book = existing_ledger(ledger, dataset)
        with Curator.open(dataset, ledger=book, anchor=anchor, policy=policy) as curator:
            typer.echo(str(look(curator.inspection, document, by=by, **own)))

    own = list(signature(look).parameters.values())[3:]
    return signed(command, own, name=look.__name__, words=look.__doc__)


@app.command()
@_verb
def table(inspection: "Inspection", request: "RequestDocument", by: str) -> "Confidential":
    """Print the exact counts that a request asks for."""
    return inspection.table(request, by=by)


@app.command()
@_verb
def losses(
    inspection: "Inspection",
    request: "RequestDocument",
    by: str,
    release: Annotated[Path, Argument(help="The release whose numbers are compared with the exact ones.")],
) -> "Confidential":
    """Print how far released counts are from the exact ones: l1, l2, l3, Hellinger, and Cramér's V before and after."""
    from dalenius.publish import load

    return inspection.compare(request, load(release), by=by)


@app.command()
@_verb
def sensitivity(
    inspection: "Inspection",
    request: "RequestDocument",
    by: str,
    function: Annotated[
        str | None, Option(help="FILE.py:NAME, a function of a tuple of values, in place of the measure.")
    ] = None,
    upper: Annotated[str | None, Option(help="A bound on that function's sensitivity, proved elsewhere.")] = None,
) -> "Confidential":
    """Print how far one record can move a statistic: on any data, at these data, and between data sets made of their
    records.
    """
    if function is None:
        return inspection.sensitivity(request, by=by)
    return inspection.values(request, _black_box(function, upper), by=by)


def _black_box(function: str, upper: str | None) -> Callable[[list[int]], dict[str, object]]:
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

    def look(values: list[int]) -> dict[str, object]:
        bracket = bootstrap_sensitivity(own, values, upper=bound)
        return {
            "found": float(bracket.found),
            "proved": None if bracket.proved is None else float(bracket.proved),
            "is exact": bracket.is_exact,
            "evaluations": bracket.evaluations,
        }

    return look


@app.command()
@_verb
def plan(
    inspection: "Inspection",
    request: "RequestDocument",
    by: str,
    record: Annotated[int | None, Option(help="Row number: what its owner could claim.")] = None,
) -> "Confidential":
    """Print what a plan whose noise follows the data would do to them: scales, expected losses, the
    checklist, claims.
    """
    return inspection.plan(request, record=record, by=by)


@app.command()
@_verb
def dominance(inspection: "Inspection", request: "RequestDocument", by: str) -> "Confidential":
    """Print which cells of a request with measure = "dominance" a few contributors dominate."""
    return inspection.dominance(request, by=by)
