"""`dalenius register DATASET`: judge the content once, for the custodian, and tie the file to its version."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from dalenius.cli.documents import written
from dalenius.cli.output import emit, ledger_location, print_grid, say, tell
from dalenius.cli.plan import AnchorPath, AsJson, LedgerPath, PolicyPath
from dalenius.errors import Unconfirmed, Undeclared

if TYPE_CHECKING:
    from dalenius.core.sealed import Confidential
    from dalenius.curator.curator import Curator


def register(
    dataset: Annotated[Path, Argument(help="Dataset document, or - for standard input.")],
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
    by: Annotated[str, Option(help="Who registers; written to the ledger.")] = "custodian",
    accept_unseen: Annotated[
        bool, Option("--accept-unseen", help="Consent to a file most of whose values are outside its declaration.")
    ] = False,
    report: Annotated[bool, Option("--report", help="Print every figure of the confidential report.")] = False,
    as_json: AsJson = False,
) -> None:
    """Register a data set: its keyed fingerprint goes to the ledger; a changed file will be refused.

    The report on the content goes to standard error, for the custodian's eyes; --json leaves it out unless --report
    asks for it.
    """
    from dalenius.curator.curator import Curator
    from dalenius.curator.source import check_source
    from dalenius.spec import load

    location = None if ledger is None else ledger_location(ledger)
    origin = written(dataset)
    document = load.load_dataset(origin)
    check_source(document)
    parts = {**document.variables, **document.records}
    if unconfirmed := [name for name, part in parts.items() if not part.confirmed]:
        raise Unconfirmed(
            f"Not confirmed: {', '.join(unconfirmed)}. Registration ties the declaration to this version, so confirm"
            " these variables (confirmed = true) or take them out first.",
            variables=unconfirmed,
        )
    with Curator.open(origin, ledger=location, anchor=anchor, policy=policy) as curator:
        tell(curator.notices)
        try:
            findings = curator.register(by=by, accept_unseen=accept_unseen)
        except Undeclared as refused:
            print_content(refused.report)
            raise
        facts = _facts(curator, location or document.ledger_location, policy or document.policy_location)
    if as_json:
        emit(facts)
    else:
        say(("Registered", "green"), f" {facts['registered']} {facts['version']}.")
        for label, text in _lines(facts).items():
            say((f"{label:<7}", "bold"), text)
        print_content(findings)
    if report:
        typer.echo(str(findings), err=True)


def _facts(curator: "Curator", ledger: str, policy: Path | None) -> dict[str, Any]:
    """Where the account is kept, what it was granted and what that means, and which policy is in force."""
    from fractions import Fraction

    from dalenius.core.conversions import rho_to_epsilon
    from dalenius.core.rationals import plain
    from dalenius.ledger.policy import recorded

    in_force = recorded(curator.ledger, curator.domain)
    account = curator.ledger.reader.account(curator.domain.population)
    slack = Fraction(1, 10**6)
    return {
        "registered": curator.domain.name,
        "version": curator.domain.version,
        # An address may hold a password.
        "ledger": ledger if "://" not in ledger else "a PostgreSQL database",
        "population": account.population,
        "budget": {"rho": plain(account.limit.rho), "delta": plain(account.limit.delta)},
        "left": {"rho": plain(account.left.rho), "delta": plain(account.left.delta)},
        "together": {
            "epsilon": float(rho_to_epsilon(account.limit.rho, slack)) if account.limit.rho else 0.0,
            "delta": float(account.limit.delta + slack),
        },
        "policy": None if policy is None else str(policy),
        "policy_digest": "" if in_force is None else in_force.digest,
    }


def _lines(facts: dict[str, Any]) -> dict[str, str]:
    budget, together = facts["budget"], facts["together"]
    named = facts["policy"] or "none was named; what the ledger recorded, or else the default budget, holds"
    return {
        "Ledger": facts["ledger"],
        "Budget": f"rho {budget['rho']}, delta {budget['delta']} for all releases about {facts['population']!r}, for "
        f"ever: together at most ({together['epsilon']:.3g}, {together['delta']:.2g})-differentially private. Left: "
        f"rho {facts['left']['rho']}.",
        "Policy": f"{named} (digest {facts['policy_digest'][:12]})",
        "Next": "dalenius plan REQUEST (free), then dalenius release REQUEST -o DIRECTORY",
    }


def print_content(findings: "Confidential | object") -> None:
    """Values by variable, under the banner, on standard error."""
    from dalenius.core.sealed import BANNER, Confidential
    from dalenius.spec.coding import Remark
    from dalenius.spec.content import ODD, worth_a_look

    if not isinstance(findings, Confidential):
        return
    content = findings.reveal()
    variables = content["variables"]
    say((BANNER, "bold yellow"), is_error=True)
    columns = [str(note) for note in (Remark.VALID, Remark.MISSING, *ODD)]
    lines = [[name, *(f"{notes[column]:,}" for column in columns)] for name, notes in variables.items()]
    print_grid([f"{findings.title}: {content['rows']:,} rows", *columns], lines, is_plain=True, is_error=True)
    if odd := worth_a_look(variables):
        say(
            ("Look at ", "yellow"),
            f"{', '.join(odd)}: more than 1 % of the values are not declared, outside the bounds or no numbers; the"
            " rules `unseen`, `outside` and `missing` decide what becomes of them.",
            is_error=True,
        )
