"""What registration found in a file, for the custodian: values by variable, and whether they fit the declaration.

A share above 1 % is worth a look; above a half the custodian consents or nothing is registered. All of it is about
rows: nothing here reaches a ledger, a log or a release.
"""

from collections.abc import Collection, Mapping
from typing import Any

from dalenius.errors import Undeclared
from dalenius.spec.coding import Remark

ODD = (Remark.UNSEEN, Remark.OUTSIDE, Remark.UNREADABLE)
_WORTH_A_LOOK, _DOUBTFUL = 0.01, 0.5


def odd_shares(variables: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """For each variable the share of values that the declaration does not cover, among those that are not missing.

    >>> odd_shares({"sex": {"valid": 3, "missing": 5, "unseen": 1, "outside": 0, "unreadable": 0}})
    {'sex': 0.25}
    """
    shares = {}
    for name, notes in variables.items():
        odd = sum(notes[str(note)] for note in ODD)
        present = odd + notes[str(Remark.VALID)]
        shares[name] = odd / present if present else 0.0
    return shares


def worth_a_look(variables: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Variables of which more than 1 % of the values are not covered."""
    return [name for name, share in odd_shares(variables).items() if share > _WORTH_A_LOOK]


def check_consent(report: Any, *, accept_unseen: bool, unlisted: Collection[str] = ()) -> None:
    """Refuse a file most of whose values are not declared, unless the custodian consented.

    The declaration consents for variables that it calls unlisted. `report` is confidential; it goes with the refusal
    for the custodian's eyes, and the message holds nothing of it.
    """
    variables = report.reveal()["variables"]
    shares = odd_shares({name: notes for name, notes in variables.items() if name not in unlisted})
    if accept_unseen or all(share <= _DOUBTFUL for share in shares.values()):
        return
    refused = Undeclared(
        "More than half of the values of a variable are not declared, outside the bounds or no numbers. Tables would "
        "count what is left. Look at the confidential report and correct the declaration, or register with the "
        "consent of the custodian (--accept-unseen, accept_unseen=True). Nothing was registered."
    )
    refused.report = report
    raise refused
