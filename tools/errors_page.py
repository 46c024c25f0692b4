"""The page of error codes: code, exit code, HTTP status and cause from the classes, a remedy from here. `python tools/errors_page.py` writes it."""

import inspect
from collections.abc import Iterator
from pathlib import Path

from dalenius.errors import DaleniusError

PLACE = Path(__file__).parents[1] / "docs/reference/errors.md"
HEAD = """# Error codes

Every refusal has a stable code. A message says what was sent and what is allowed, never what the data hold. The command line ends with the exit code
and prints `code: message`; HTTP has the status and `{"error": {"code": …, "message": …, "detail": …}}`; Python raises the class.
"""
REMEDIES = {
    "bad_request": "Change what the message names.",
    "bad_document": "Correct the key that the message names; `dalenius check DOC` reads a document alone. [Documents](documents.md) has every key.",
    "document_limit": "Split the document, or put long lists into files of their own.",
    "unknown_name": "Use a declared name; the message has the nearest one.",
    "bad_parameter": "Choose a number inside the range that the message gives.",
    "too_large": "Ask for fewer cells, levels or margins, or narrow the bounds.",
    "unsupported": "Leave out what cannot be combined: [what can be combined](combinations.md).",
    "other_rows": "Add the conditions that the refusal lists, or release the table as a new one.",
    "missing_extra": "Install the extra that the message names.",
    "missing_distribution": "Install the laboratory: `pip install ./lab`.",
    "conflict": "Use what is stored, or another key.",
    "budget": "Ask the custodian what is left: [read a statement](../how-to/read-a-statement.md).",
    "budget_exhausted": "Spend less, use a released table, or [change the budget](../how-to/change-a-policy-or-a-budget.md).",
    "quota_exhausted": "Spend less, or ask the custodian for a larger quota.",
    "approval_required": "Ask a second person to approve: [two custodians](../how-to/run-the-server.md#two-custodians-and-a-second-person).",
    "ledger_mismatch": "Open the ledger that the data set document names.",
    "anchor_mismatch": "Do not go on. Restore the newest copy: [back up the ledger](../how-to/back-up-the-ledger.md).",
    "policy": "Ask the custodian; the message names the rule.",
    "not_registered": "Run `dalenius register` on the data set document.",
    "data_changed": "Give the changed file a new `version`, and register it.",
    "unconfirmed": "Read the drafted declaration, correct it, and confirm it.",
    "undeclared": "Declare the values that the confidential report names, or consent to leaving them out.",
    "policy_differs": "Record the new rules with `dalenius policy adopt`, or use the recorded ones.",
    "not_allowed": "Choose a definition that the policy opens; the custodian can [open another](../how-to/release-under-a-weaker-guarantee.md).",
    "not_public": "Wait for the end of the embargo, or ask for a release instead of an inspection.",
    "interrupted": "Ask again; what was charged is not charged twice.",
    "undelivered": "Ask again with another place to write to; it is free.",
    "internal": "Report it, with the request and without data.",
    "after_charge": "Ask again for the same, which costs nothing more. If it fails again, report it.",
    "ledger_corrupt": "Stop, keep the files, and restore a backup: [back up the ledger](../how-to/back-up-the-ledger.md).",
    "storage": "Free the disk, or start the database, and ask again.",
}


def kinds(parent: type[DaleniusError] = DaleniusError) -> Iterator[type[DaleniusError]]:
    """Every class below, each after its parent."""
    for kind in parent.__subclasses__():
        if kind.__module__ == DaleniusError.__module__:
            yield kind
            yield from kinds(kind)


def page() -> str:
    """The whole page."""
    lines = [HEAD, "| code | class | exit | HTTP | cause | remedy |", "|---|---|---|---|---|---|"]
    for kind in kinds():
        status = kind.http_status if isinstance(kind.http_status, int) else "413, 422"
        cause = " ".join((inspect.getdoc(kind) or "").split())
        lines.append(
            f"| `{kind.code}` | `{kind.__name__}` | {kind.exit_code} | {status} | {cause} | {REMEDIES[kind.code]} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PLACE.write_text(page(), encoding="utf-8")
