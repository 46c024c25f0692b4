"""Every exception that Dalenius raises on purpose.

DaleniusError
├── RequestError          the caller's: exit 2, HTTP 400      "change what you sent"
│   ├── DocumentError         a document is not of its schema
│   │   └── DocumentLimit         a document holds more than is parsed (HTTP 413 for bytes, else 422)
│   ├── UnknownName           a variable, category, mechanism, … that was not declared
│   ├── ParameterError        a number outside what is accepted
│   ├── TooLarge              more cells, or larger numbers, than are served
│   ├── Unsupported           a combination that no valid method covers
│   │   └── OtherRows             what was released counts other records than what is asked for
│   ├── MissingExtra          what was asked needs a package that is not installed
│   ├── MissingDistribution   a verb belongs to another distribution, which is not installed
│   └── Conflict              the same key was used for something else (HTTP 409)
├── BudgetError           refused, nothing was spent: exit 3, HTTP 403
│   ├── BudgetExhausted       the account cannot pay the cost
│   ├── QuotaExhausted        the analyst's quota cannot pay the cost
│   ├── ApprovalRequired      a second person must approve a cost of this size
│   └── LedgerMismatch        the ledger does not belong to this population or this file
│       └── AnchorMismatch        the store is not the one that its anchor knows (exit 6)
├── PolicyError           the custodian's rules forbid it: exit 4, HTTP 403
│   ├── NotRegistered         the data set was never judged and registered
│   ├── DataChanged           the file is not the one that was registered
│   ├── Unconfirmed           a declaration drafted from data was not confirmed
│   ├── Undeclared            most values of a file are outside its declaration, and nobody consented
│   ├── PolicyDiffers         the policy is not the one that the ledger recorded
│   ├── NotAllowed            weak evidence, or a definition the policy does not open
│   └── NotPublic             confidential or embargoed content was asked for as a release
├── Interrupted           stopped by a signal: exit 130; says what was charged
├── Undelivered           released and stored, but not written or shown: exit 5
└── InternalError         ours: exit 70, HTTP 500
    ├── AfterCharge           the one message after data were touched; the charge stands
    ├── LedgerCorrupt         the ledger failed its own verification, or its files were replaced (exit 6)
    └── StorageError          a disk or a database refused: full, read-only, not there (exit 7, HTTP 503)

A message shows what the caller sent and what the policy says, never what the data hold.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


class DaleniusWarning(UserWarning):
    """A choice that is allowed, and that the caller should know about."""


class DaleniusError(Exception):
    """Root of the tree; `detail` keeps the things that disagreed."""

    detail: dict[str, object]
    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, **detail: object) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail

    def to_dict(self) -> dict[str, object]:
        """The one shape in which an error leaves the library."""
        return {"error": {"code": self.code, "message": self.message, "detail": dict(self.detail)}}


class RequestError(DaleniusError):
    """What was asked cannot be answered as asked."""

    code = "bad_request"
    exit_code = 2
    http_status = 400


class DocumentError(RequestError):
    """A document is not of its schema."""

    code = "bad_document"


class DocumentLimit(DocumentError):
    """A document holds more than is parsed: bytes, depth, entries, or dots of a key."""

    code = "document_limit"

    @property
    def http_status(self) -> int:  # type: ignore[override]
        """413 for too many bytes, 422 for a structure that is not parsed."""
        return 413 if self.detail.get("limit") == "size" else 422


class UnknownName(RequestError):
    """A name that was not declared."""

    code = "unknown_name"

    @classmethod
    def among(cls, kind: str, name: str, known: Iterable[str]) -> "UnknownName":
        """Say what was received, what is nearest, and what is available."""
        names = sorted(known)
        near = get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        return cls(
            f"There is no {kind} named {name!r}.{hint} Declared: {shown or 'none'}.",
            kind=kind,
            received=name,
            known=names,
        )


class ParameterError(RequestError):
    """A number outside what is accepted."""

    code = "bad_parameter"


class TooLarge(RequestError):
    """More cells, or larger numbers, than are served."""

    code = "too_large"


class Unsupported(RequestError):
    """A combination that no valid method covers."""

    code = "unsupported"


class OtherRows(Unsupported):
    """What was released counts other records than what is asked for."""

    code = "other_rows"


class MissingExtra(RequestError):
    """What was asked needs packages that are not installed; the extra that brings them is named."""

    code = "missing_extra"

    def __init__(self, extra: str, module: str, *, instead: str = "") -> None:
        without = f" Without it: {instead}" if instead else ""
        super().__init__(
            f"This needs the extra {extra!r}, which is not installed: pip install 'dalenius[{extra}]'.{without}",
            extra=extra,
            module=module,
        )


class MissingDistribution(RequestError):
    """A verb belongs to another distribution that is not installed."""

    code = "missing_distribution"

    def __init__(self, verb: str, distribution: str) -> None:
        super().__init__(
            f"`{verb}` is a verb of {distribution!r}, which is not installed: pip install ./lab in a checkout of "
            "Dalenius.",
            verb=verb,
            distribution=distribution,
        )


class Conflict(RequestError):
    """The same key was used before for something else."""

    code = "conflict"
    http_status = 409


class BudgetError(DaleniusError):
    """Refused; nothing was spent."""

    code = "budget"
    exit_code = 3
    http_status = 403


class BudgetExhausted(BudgetError):
    """The population's account cannot pay the cost."""

    code = "budget_exhausted"


class QuotaExhausted(BudgetError):
    """The analyst's quota cannot pay the cost."""

    code = "quota_exhausted"


class ApprovalRequired(BudgetError):
    """A second person must approve a cost of this size."""

    code = "approval_required"


class LedgerMismatch(BudgetError):
    """The ledger does not belong to this population or this file."""

    code = "ledger_mismatch"


class AnchorMismatch(LedgerMismatch):
    """The store is not the one that its anchor knows: an older copy, a new one, or another ledger's."""

    code = "anchor_mismatch"
    exit_code = 6


class PolicyError(DaleniusError):
    """The custodian's rules forbid it."""

    code = "policy"
    exit_code = 4
    http_status = 403


class NotRegistered(PolicyError):
    """The data set was never judged and registered."""

    code = "not_registered"


class DataChanged(PolicyError):
    """The file is not the one that was registered."""

    code = "data_changed"


class Unconfirmed(PolicyError):
    """A declaration drafted from data was not confirmed by the custodian."""

    code = "unconfirmed"


class Undeclared(PolicyError):
    """Most values of a file lie outside what was declared, and the custodian did not consent to that."""

    code = "undeclared"
    # The confidential report on the content, for whoever registers; never part of the message or of `to_dict`.
    report: object = None


class PolicyDiffers(PolicyError):
    """The policy is not the one that the ledger recorded for this data set."""

    code = "policy_differs"


class NotAllowed(PolicyError):
    """Weak evidence, or a definition that the policy does not open."""

    code = "not_allowed"


class NotPublic(PolicyError):
    """Confidential or embargoed content was asked for as a release."""

    code = "not_public"


class Interrupted(DaleniusError):
    """Somebody stopped the command; the message says what was charged by then."""

    code = "interrupted"
    exit_code = 130


class Undelivered(DaleniusError):
    """The release is stored in the ledger and could not be written or shown; asking again is free."""

    code = "undelivered"
    exit_code = 5


class InternalError(DaleniusError):
    """A fault of ours."""

    code = "internal"
    exit_code = 70
    http_status = 500


class AfterCharge(InternalError):
    """The one message after data were touched: the charge stands."""

    code = "after_charge"

    def __init__(self, entry: str | None = None) -> None:
        super().__init__(
            "The release could not be completed. Its charge stands; the ledger entry says what was charged. Asking "
            "again for the same costs nothing more.",
            entry=entry,
        )


class LedgerCorrupt(InternalError):
    """The ledger failed its own verification, or its files were replaced while it was open."""

    code = "ledger_corrupt"
    exit_code = 6


class StorageError(InternalError):
    """A disk or a database refused: full, read-only, or not there."""

    code = "storage"
    exit_code = 7
    http_status = 503
