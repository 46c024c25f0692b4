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

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import ClassVar


class DaleniusError(Exception):
    """Root of the tree; `detail` keeps the things that disagreed."""

    detail: dict[str, object]
    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init_subclass__(
        cls, code: str | None = None, exit_code: int | None = None, http_status: int | None = None
    ) -> None:
        """Take what a class states where it is declared; what it leaves out is its parent's."""
        super().__init_subclass__()
        for name, value in (("code", code), ("exit_code", exit_code), ("http_status", http_status)):
            if value is not None:
                setattr(cls, name, value)

    def __init__(self, message: str, **detail: object) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows in place of a traceback: the sentence and its code."""
        return [f"{type(self).__name__} [{self.code}]: {self.message}"]

    def to_dict(self) -> dict[str, object]:
        """The one shape in which an error leaves the library."""
        return {"error": {"code": self.code, "message": self.message, "detail": dict(self.detail)}}


class RequestError(DaleniusError, code="bad_request", exit_code=2, http_status=400):
    """What was asked cannot be answered as asked."""


class DocumentError(RequestError, code="bad_document"):
    """A document is not of its schema."""


class DocumentLimit(DocumentError, code="document_limit"):
    """A document holds more than is parsed: bytes, depth, entries, or dots of a key."""

    @property
    def http_status(self) -> int:  # type: ignore[override]
        """413 for too many bytes, 422 for a structure that is not parsed."""
        return 413 if self.detail.get("limit") == "size" else 422


class UnknownName(RequestError, code="unknown_name"):
    """A name that was not declared."""

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

    @classmethod
    def check(cls, kind: str, name: str, names: Collection[str]) -> None:
        """Raise what `among` says unless the name is one of these."""
        if name not in names:
            raise cls.among(kind, name, names)


class ParameterError(RequestError, code="bad_parameter"):
    """A number outside what is accepted."""


class TooLarge(RequestError, code="too_large"):
    """More cells, or larger numbers, than are served."""


class Unsupported(RequestError, code="unsupported"):
    """A combination that no valid method covers."""


class OtherRows(Unsupported, code="other_rows"):
    """What was released counts other records than what is asked for."""


class MissingExtra(RequestError, code="missing_extra"):
    """What was asked needs packages that are not installed; the extra that brings them is named."""

    def __init__(self, extra: str, module: str, *, instead: str = "") -> None:
        without = f" Without it: {instead}" if instead else ""
        super().__init__(
            f"This needs the extra {extra!r}, which is not installed: pip install 'dalenius[{extra}]'.{without}",
            extra=extra,
            module=module,
        )


class MissingDistribution(RequestError, code="missing_distribution"):
    """A verb belongs to another distribution that is not installed."""

    def __init__(self, verb: str, distribution: str) -> None:
        super().__init__(
            f"`{verb}` is a verb of {distribution!r}, which is not installed: pip install ./lab in a checkout of "
            "Dalenius.",
            verb=verb,
            distribution=distribution,
        )


class Conflict(RequestError, code="conflict", http_status=409):
    """The same key was used before for something else."""


class BudgetError(DaleniusError, code="budget", exit_code=3, http_status=403):
    """Refused; nothing was spent."""


class BudgetExhausted(BudgetError, code="budget_exhausted"):
    """The population's account cannot pay the cost."""


class QuotaExhausted(BudgetError, code="quota_exhausted"):
    """The analyst's quota cannot pay the cost."""


class ApprovalRequired(BudgetError, code="approval_required"):
    """A second person must approve a cost of this size."""


class LedgerMismatch(BudgetError, code="ledger_mismatch"):
    """The ledger does not belong to this population or this file."""


class AnchorMismatch(LedgerMismatch, code="anchor_mismatch", exit_code=6):
    """The store is not the one that its anchor knows: an older copy, a new one, or another ledger's."""


class PolicyError(DaleniusError, code="policy", exit_code=4, http_status=403):
    """The custodian's rules forbid it."""


class NotRegistered(PolicyError, code="not_registered"):
    """The data set was never judged and registered."""


class DataChanged(PolicyError, code="data_changed"):
    """The file is not the one that was registered."""


class Unconfirmed(PolicyError, code="unconfirmed"):
    """A declaration drafted from data was not confirmed by the custodian."""


class Undeclared(PolicyError, code="undeclared"):
    """Most values of a file lie outside what was declared, and the custodian did not consent to that."""

    # The confidential report on the content, for whoever registers; never part of the message or of `to_dict`.
    report: object = None


class PolicyDiffers(PolicyError, code="policy_differs"):
    """The policy is not the one that the ledger recorded for this data set."""


class NotAllowed(PolicyError, code="not_allowed"):
    """Weak evidence, or a definition that the policy does not open."""


class NotPublic(PolicyError, code="not_public"):
    """Confidential or embargoed content was asked for as a release."""


class Interrupted(DaleniusError, code="interrupted", exit_code=130):
    """Somebody stopped the command; the message says what was charged by then."""


class Undelivered(DaleniusError, code="undelivered", exit_code=5):
    """The release is stored in the ledger and could not be written or shown; asking again is free."""


class InternalError(DaleniusError, code="internal", exit_code=70, http_status=500):
    """A fault of ours."""


class AfterCharge(InternalError, code="after_charge"):
    """The one message after data were touched: the charge stands."""

    def __init__(self, entry: str | None = None) -> None:
        super().__init__(
            "The release could not be completed. Its charge stands; the ledger entry says what was charged. Asking "
            "again for the same costs nothing more.",
            entry=entry,
        )


class LedgerCorrupt(InternalError, code="ledger_corrupt", exit_code=6):
    """The ledger failed its own verification, or its files were replaced while it was open."""


class StorageError(InternalError, code="storage", exit_code=7, http_status=503):
    """A disk or a database refused: full, read-only, or not there."""
