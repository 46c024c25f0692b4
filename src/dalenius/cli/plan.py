"""`dalenius plan REQUEST`: cells, cost, law and expected error, before any data are read."""

from pathlib import Path
from typing import Annotated

import typer

RequestPath = Annotated[Path, typer.Argument(help="Request document (TOML or JSON).", show_default=False)]
LedgerPath = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="Ledger: a SQLite file or a postgresql:// address; dalenius.sqlite beside the dataset document if left out.",
        envvar="DALENIUS_LEDGER",
    ),
]
AnchorPath = Annotated[
    Path | None,
    typer.Option("--anchor", help="File of signed heads, if kept elsewhere.", envvar="DALENIUS_ANCHOR"),
]
PolicyPath = Annotated[Path | None, typer.Option("--policy", help="Policy document.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def plan(request: RequestPath, policy: PolicyPath = None, as_json: AsJson = False) -> None:
    """Say what a request would cost and how far off a cell would be. Free: no data are read, nothing is spent."""
    from dalenius.cli.output import console, emit, number
    from dalenius.cli.terminal import styled
    from dalenius.curator.planner import Planner
    from dalenius.spec import load
    from dalenius.spec.policy import PolicyDocument

    document = load.load_request(request)
    dataset = load.load_dataset(load.dataset_of(document, request))
    rules = load.load_policy(policy) if policy else PolicyDocument()
    planned = Planner(domain=dataset.domain(), policy=rules).plan(document)
    content = {
        "definition": planned.definition,
        "budget": planned.budget.to_dict(),
        "mechanism": planned.mechanism,
        "strategy": planned.strategy,
        "cost": planned.reservation.to_dict(),
        "evidence": planned.evidence.to_dict(),
        "warnings": list(planned.warnings),
        **planned.preview,
    }
    if as_json:
        emit(content)
        return
    out = console()
    cells = content.get("cells")
    size = "" if cells is None else f"{cells:,} cell{'' if cells == 1 else 's'}"
    out.print(styled((size, "bold"), ", " if size else "", f"{planned.mechanism} ({planned.strategy})"))
    what = "the total in a cell" if document.table.measure == "mean" else "a cell"
    if "std_error" in content:
        out.print(f"Expected error of {what}: standard error {float(str(content['std_error'])):,.2f}")
    if "half_width_95" in content:
        out.print(f"95 % margin of error of {what}: ±{number(content['half_width_95'])}")
    for margin in planned.preview.get("margins") or ():
        axes = " x ".join(margin["axes"]) or "total"
        out.print(f"Expected error of a cell of {axes}: standard error {margin['std_error']:,.2f}")
    if "note" in content:
        out.print(styled((f"Note: {content['note']}.", "dim")))
    cost = planned.reservation
    pure = f", epsilon {float(cost.epsilon):g}" if cost.epsilon is not None else ""
    out.print(f"Cost: rho {float(cost.rho):.6g}, delta {float(cost.delta):.3g}{pure} ({cost.relation})")
    for warning in planned.warnings:
        out.print(styled(("Note:", "yellow"), f" {warning}"))
