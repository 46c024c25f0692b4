"""A statement like a bank's: who, when, what, under which definition, at what cost, and what was left."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dalenius.core.budget import MASTER, UNIT
from dalenius.core.rationals import plain
from dalenius.errors import UnknownName
from dalenius.ledger.account import ANALYST, OTHERS, PURSES, TOTAL, WARNINGS, Account, Purse, PurseKey
from dalenius.ledger.entry import Entry
from dalenius.ledger.state import State
from dalenius.rendering import grid, two_lines

FORMS = ("json", "jsonl", "csv")
COLUMNS = (
    "at",
    "entry",
    "kind",
    "by",
    "what",
    "definition",
    "page",
    "rho",
    "delta",
    "epsilon",
    "left_rho",
    "left_delta",
    "status",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLine:
    """One movement, with the balance after it; amounts are exact text."""

    at: str
    entry: str
    kind: str
    by: str
    what: str
    definition: str = ""
    page: str = MASTER
    rho: str = ""
    delta: str = ""
    epsilon: str = ""
    left_rho: str = ""
    left_delta: str = ""
    status: str = ""

    def to_dict(self) -> dict[str, str]:
        """For documents, in the order of a statement's columns."""
        return {name: getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Movements and balances of a population, or of one analyst inside it."""

    population: str
    analyst: str | None
    relation: str
    lines: tuple[StatementLine, ...]
    balances: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        whose = f", {self.analyst}" if self.analyst else ""
        return two_lines(
            f"Statement of {self.population}{whose}: {len(self.lines)} movements ({self.relation})", self._balance()
        )

    def _balance(self) -> str:
        """What is left of each purse that has a limit."""
        limited = [b for b in self.balances if b["left"] is not None]
        wholes = {b["page"]: b["left"] for b in limited if b["kind"] == TOTAL}
        left = [
            f"{_purse(b)}: rho {b['left']['rho']}, delta {b['left']['delta']}"
            for b in limited
            # Where nothing is kept for official tables, what others may spend is the whole.
            if b["kind"] != OTHERS or b["left"] != wholes.get(b["page"])
        ]
        return f"left of {'; '.join(left)}" if left else "no limit was granted"

    def _repr_html_(self) -> str:
        names = ("rho", "delta", "left_rho", "left_delta")
        lines = [
            [line.at[:16].replace("T", " "), line.kind, line.by, line.what, line.definition]
            + [_roughly(line.to_dict()[name]) for name in names]
            for line in self.lines
        ]
        heads = ["at", "kind", "by", "what", "definition", *(name.replace("_", " ") for name in names)]
        whose = f", {self.analyst}" if self.analyst else ""
        notes = [self._balance(), *self.warnings]
        return grid(f"Statement of {self.population}{whose}", heads, lines, labels=5, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """For documents."""
        return {
            "population": self.population,
            "analyst": self.analyst,
            "relation": self.relation,
            "lines": [line.to_dict() for line in self.lines],
            "balances": [dict(balance) for balance in self.balances],
            "warnings": list(self.warnings),
        }


def _purse(balance: Mapping[str, Any]) -> str:
    """What a balance is of: the whole budget of a page, or a part of it by name."""
    words = " ".join(filter(None, (PURSES[balance["kind"]], str(balance["name"]))))
    return words if balance["page"] == MASTER else f"{words} ({balance['page']})"


def _roughly(amount: str) -> str:
    """An exact amount for readers.

    >>> _roughly("1/3"), _roughly("0.000001"), _roughly("")
    ('0.333333', '1e-06', '')
    """
    return f"{float(Fraction(amount)):.6g}" if amount else ""


def what_of(body: Mapping[str, Any]) -> str:
    """A request in a few words: what is measured, over which variables."""
    request = body.get("request", {})
    if isinstance(request.get("title"), str) and request["title"]:
        return str(request["title"])
    if request.get("tables"):
        return f"batch of {len(request['tables'])} tables"
    axes = request.get("axes") or request.get("by") or body.get("variables") or ()
    words = [str(a.get("variable", "")) if isinstance(a, Mapping) else str(a) for a in axes]
    name = str(request.get("measure") or request.get("statistic") or "release")
    subject = f" of {request['of']}" if isinstance(request.get("of"), str) and request["of"] else ""
    return f"{name}{subject}" + (f" by {' x '.join(words)}" if words else "")


def _status(state: State, key: str) -> str:
    row = state.charges[key]
    release = state.releases.get(row.entry)
    return release.status if release else "charged"


def make_statement(entries: Iterable[Entry], account: Account, analyst: str | None = None) -> Statement:
    """Movements in order; an analyst sees own requests and own quota, never everybody's remainder."""
    state = State()
    drafts: list[tuple[Entry, Purse | None]] = []
    for entry in entries:
        state.fold(entry)
        page = str(entry.body.get("page", MASTER))
        kind, name = (TOTAL, "") if analyst is None else (ANALYST, analyst)
        drafts.append((entry, state.purses.get(PurseKey(account.population, page, kind, name))))
    lines = [
        _movement(entry, purse, state, account.population)
        for entry, purse in drafts
        if entry.kind
        in ("charge", "grant", "limit", "schedule", "approval", "register", "note", "status", "forfeit", "overlap")
        and (analyst is None or (entry.kind == "charge" and entry.body["analyst"] == analyst))
    ]
    shown = [p for p in account.purses if analyst is None or p.key[2:] == (ANALYST, analyst)]
    return Statement(
        population=account.population,
        analyst=analyst,
        relation=str(account.relation),
        lines=tuple(lines),
        balances=tuple(p.to_dict() for p in shown if p.charges or (p.is_limited and p.limit_rho)),
        warnings=account.warnings if analyst is None else _own_warnings(shown),
    )


def _own_warnings(purses: Iterable[Purse]) -> tuple[str, ...]:
    """On the pages that these purses paid for."""
    pages = {p.key.page for p in purses if p.charges}
    return tuple(said for page, said in WARNINGS.items() if page in pages)


def _movement(entry: Entry, purse: Purse | None, state: State, population: str) -> StatementLine:
    body, is_own = entry.body, entry.population == population
    left = {}
    is_paid = entry.kind in ("charge", "grant", "forfeit") or bool(body.get("past"))
    if purse is not None and purse.is_limited and is_paid:
        left = {
            "left_rho": plain((purse.limit_rho - purse.spent_rho) * UNIT),
            "left_delta": plain((purse.limit_delta - purse.spent_delta) * UNIT),
        }
    common = {"at": entry.at, "entry": entry.name, "kind": entry.kind, "by": entry.by}
    if entry.kind == "charge":
        cost = body["cost"]
        return StatementLine(
            **common,
            **left,
            what=what_of(body) + ("" if is_own else f" (about {entry.population})"),
            definition=body["definition"],
            page=body["page"],
            rho=cost["rho"],
            delta=cost["delta"],
            epsilon=cost["epsilon"] or "",
            status=_status(state, body["key"]),
        )
    amounts = body.get("amounts", {}) | _paid_late(body, population)
    return StatementLine(
        **common,
        **left,
        what=_declaration(entry),
        page=str(body.get("page", MASTER)),
        rho=amounts.get("rho", ""),
        delta=amounts.get("delta", ""),
    )


def _paid_late(body: Mapping[str, Any], population: str) -> dict[str, str]:
    """What a declaration of shared persons charged to this population's master account for the other's past."""
    paid = [(int(p[2]), int(p[3])) for p in body.get("past", ()) if p[:2] == [population, MASTER]]
    return {"rho": plain(paid[0][0] * UNIT), "delta": plain(paid[0][1] * UNIT)} if paid else {}


def _declaration(entry: Entry) -> str:
    """What the custodian declared, in a few words."""
    body = entry.body
    match entry.kind:
        case "grant":
            return f"granted {body['note']}".strip()
        case "limit":
            return f"{body['as']} {body['name']}".strip()
        case "schedule":
            return f"schedule of {len(body['waves'])} waves"
        case "approval":
            return "approval of large charges"
        case "forfeit":
            return "counted as spent by lines that a restore found lost"
        case "register":
            return f"registered {body['dataset']} {body['version']}"
        case "overlap":
            said = f"shares persons with {body['with']}; both accounts pay for releases about either"
            return f"{said}, and for earlier ones" if body["past"] else said
        case "status":
            return f"{body['entry'][:8]}: {body['from']} to {body['to']}"
        case "note" if body["kind"] == "policy":
            policy = body["payload"]
            return f"policy {str(policy['digest'])[:12]} of {policy['dataset']}, {policy['how']}"
        case "note" if body["kind"] == "unit":
            return f"protects one {body['payload']['unit']}"
        case _:
            return str(body["kind"])


def export_lines(entries: Iterable[Entry], form: str) -> str:
    """Every line as JSON (one document), JSON lines, or CSV with the canonical line in the last column."""
    if form == "json":
        return json.dumps([entry.to_dict() for entry in entries], indent=1) + "\n"
    if form == "jsonl":
        return "".join(entry.line + "\n" for entry in entries)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["seq", "at", "entry", "kind", "population", "by", "rho", "delta", "epsilon", "digest", "line"])
    for e in entries:
        amounts = e.body.get("cost") or e.body.get("amounts") or {}
        cost = [amounts.get(name) or "" for name in ("rho", "delta", "epsilon")]
        writer.writerow([e.seq, e.at, e.name, e.kind, e.population, e.by, *cost, e.digest, e.line])
    return out.getvalue()


def export_statement(statement: Statement, form: str) -> str:
    """The statement's own lines, as JSON, JSON lines or CSV."""
    if form not in FORMS:
        raise UnknownName.among("format", form, FORMS)
    rows = [line.to_dict() for line in statement.lines]
    if form == "json":
        return json.dumps(statement.to_dict(), indent=1) + "\n"
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
