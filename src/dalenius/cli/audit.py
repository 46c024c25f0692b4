"""`dalenius audit …`: a claim checked by exact losses and by definition, and by samples with the laboratory."""

from typing import Annotated

import typer
from typer import Option

from dalenius.cli.flags import Verbs
from dalenius.cli.output import emit, print_grid, say, stages
from dalenius.cli.plan import AsJson, PolicyPath, RequestPath, planned_at


class AuditVerbs(Verbs):
    prefix = "audit."


app = typer.Typer(cls=AuditVerbs, no_args_is_help=True, pretty_exceptions_enable=False)


@app.command()
def request(
    request: RequestPath,
    policy: PolicyPath = None,
    pairs: Annotated[int, Option(min=1, max=100_000, help="Pairs of neighbours to compare.")] = 50,
    seed: Annotated[int, Option(help="Seed of the neighbours.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Attack a request of yours: its exact loss at neighbours that its declaration allows. No data are read."""
    from dalenius.audit.planned import audit_plan

    domain, plan = planned_at(request, policy)
    with stages(quiet=as_json) as stage:
        stage(f"Comparing {pairs:,} pairs of neighbours")
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
def definitions(
    epsilon: Annotated[float, Option(min=0.01, max=20, help="Epsilon of the noise.")] = 1.0,
    weights: Annotated[
        list[float] | None,
        Option(
            "--weight",
            help="Probability of each of the values 0, 1, 3, for the random definition; equal ones if left out.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which guarantee each kind of noise keeps, by enumeration of every data set of three rows with values 0, 1, 3."""
    from math import inf

    from dalenius.audit.definitions import compare_definitions

    rows = compare_definitions(epsilon, tuple(weights) if weights else None)
    if as_json:
        emit({"epsilon": epsilon, "kinds": [row.to_dict() for row in rows]})
        return
    lines = [[row.noise, *("none" if e == inf else f"{e:.2f}" for e in row.smallest.values())] for row in rows]
    title = f"Smallest epsilon that holds, noise of epsilon {epsilon:g}"
    print_grid(["noise", *rows[0].smallest], lines, title=title)
    say("finite: over rows with values 0 and 1 only. random: the share of pairs drawn from the")
    say("declared distribution that keep this epsilon. none: no epsilon holds.")
