"""`dalenius policy …`: which policy is in force, putting another one in force, and what one can demand."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from dalenius.cli.output import console, emit, existing_ledger, say, tell
from dalenius.cli.plan import AnchorPath, AsJson, LedgerPath, PolicyPath
from dalenius.errors import ParameterError

app = typer.Typer(no_args_is_help=True)
DatasetPath = Annotated[Path, Argument(help="Dataset document.")]


@app.command()
def show(dataset: DatasetPath, ledger: LedgerPath = None, anchor: AnchorPath = None, as_json: AsJson = False) -> None:
    """Print the policy in force, since when and by whom, and what the dataset document's own file says otherwise."""
    from dalenius.ledger import Ledger
    from dalenius.ledger.policy import differences, recorded
    from dalenius.spec import load
    from dalenius.spec.policy import PolicyDocument

    document = load.load_dataset(dataset)
    with Ledger.open(existing_ledger(ledger, document), anchor=anchor, may_write=False) as book:
        in_force = recorded(book, document.domain())
    file_policy = load.load_policy(document.policy_location) if document.policy_location else None
    changes = differences(in_force.policy, file_policy, PolicyDocument.model_fields) if in_force and file_policy else []
    if as_json:
        facts = {} if in_force is None else {"digest": in_force.digest, "by": in_force.by, "at": in_force.at}
        content = None if in_force is None else in_force.policy.to_dict()
        emit(facts | {"policy": content, "differences": changes})
        return
    if in_force is None:
        say("The ledger records no policy for this data set yet; the first registration or release will.")
        return
    say(f"Policy {in_force.digest[:12]}, recorded {in_force.at[:10]} by {in_force.by or 'nobody named'}.")
    console().print_json(data=in_force.policy.to_dict())
    for change in changes:
        say(f"Different: {change}")


@app.command()
def adopt(
    dataset: DatasetPath,
    policy: PolicyPath = None,
    note: Annotated[str, Option(help="Why; written to the ledger.")] = "",
    by: Annotated[str, Option(help="Who decides this; written to the ledger.")] = "custodian",
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    as_json: AsJson = False,
) -> None:
    """Put a policy in force for a data set, as a line of the ledger. The budget is not changed: `ledger grant` adds to
    it.

    Changed quotas, caps, shares, waves and approvals become lines of their own. The command line trusts whoever may
    write to the ledger.
    """
    from dalenius.ledger import Ledger
    from dalenius.ledger.policy import adopt as adopt_policy
    from dalenius.ledger.policy import notices, policy_digest
    from dalenius.spec import load

    document = load.load_dataset(dataset)
    place = policy or document.policy_location
    if place is None:
        raise ParameterError("Name the policy: --policy, or `policy = …` in [dataset] of the document.")
    rules, domain = load.load_policy(place), document.domain()
    with Ledger.open(existing_ledger(ledger, document), anchor=anchor) as book:
        changes = adopt_policy(book, domain, rules, by, note)
        warnings = notices(book, domain, rules)
    if as_json:
        emit({"adopted": policy_digest(rules), "dataset": domain.name, "changes": changes, "notices": warnings})
        return
    say(("Adopted", "green"), f" {policy_digest(rules)[:12]} for {domain.name}.")
    for change in changes:
        say(f"Changed: {change}")
    tell(warnings)


@app.command()
def options(as_json: AsJson = False) -> None:
    """List what a policy can demand of every table: how each rule is kept, and what it costs."""
    from dalenius.spec.properties import PROPERTIES

    if as_json:
        emit({"options": [option._asdict() for option in PROPERTIES]})
        return
    say("Keys of [table] in a policy. No rule looks at exact counts: that would be a release.")
    for option in PROPERTIES:
        say("\n", (option.option, "bold"), f": {option.wanted}")
        say(f"  How: {option.how}")
        say(f"  Cost: {option.cost}")
