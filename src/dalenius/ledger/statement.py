"""A statement like a bank's: who, when, what, under which definition, at what cost, and what was left."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any

from dalenius.core.budget import MASTER
from dalenius.errors import UnknownName
from dalenius.ledger.account import (
    BALANCE_LABELS,
    QUOTA,
    TOTAL,
    UNRESERVED,
    WARNINGS,
    Account,
    Balance,
    BalanceKey,
    exact_text,
)
from dalenius.ledger.entry import Entry
from dalenius.ledger.state import State
from dalenius.rendering import grid, two_lines

FORMS = ("json", "jsonl", "csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLine:
    """One movement, with what was left after it; numbers are exact text. The fields are the columns of exports."""

    at: str
    entry: str
    kind: str
    by: str
    what: str
    definition: str = ""
    account: str = MASTER
    rho: str = ""
    delta: str = ""
    epsilon: str = ""
    left_rho: str = ""
    left_delta: str = ""
    status: str = ""

    def to_dict(self) -> dict[str, str]:
        return asdict(self)


COLUMNS = tuple(field.name for field in fields(StatementLine))


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
        return two_lines(f"{self._title}: {len(self.lines)} movements ({self.relation})", self._balance())

    @property
    def _title(self) -> str:
        return f"Statement of {self.population}" + (f", {self.analyst}" if self.analyst else "")

    def _balance(self) -> str:
        """Return what is left of each balance that has a limit, in words."""
        limited = [b for b in self.balances if b["left"] is not None]
        wholes = {b["account"]: b["left"] for b in limited if b["kind"] == TOTAL}
        left = [
            f"{label_of(b)}: rho {b['left']['rho']}, delta {b['left']['delta']}"
            for b in limited
            # Where nothing is reserved for official tables, the unreserved budget is the whole.
            if b["kind"] != UNRESERVED or b["left"] != wholes.get(b["account"])
        ]
        return f"left of {'; '.join(left)}" if left else "no limit was granted"

    def _repr_html_(self) -> str:
        heads = ["at", "kind", "by", "what", "definition", "rho", "delta", "left rho", "left delta"]
        lines = [
            [line.at[:16].replace("T", " "), line.kind, line.by, line.what, line.definition]
            + [_roughly(exact) for exact in (line.rho, line.delta, line.left_rho, line.left_delta)]
            for line in self.lines
        ]
        return grid(self._title, heads, lines, labels=5, notes=[self._balance(), *self.warnings])

    def to_dict(self) -> dict[str, Any]:
        return {
            "population": self.population,
            "analyst": self.analyst,
            "relation": self.relation,
            "lines": [line.to_dict() for line in self.lines],
            "balances": [dict(balance) for balance in self.balances],
            "warnings": list(self.warnings),
        }


def label_of(balance: Mapping[str, Any]) -> str:
    """Return what a balance limits, in words; an account other than the master account is named."""
    words = " ".join(filter(None, (BALANCE_LABELS[balance["kind"]], str(balance["name"]))))
    return words if balance["account"] == MASTER else f"{words} ({balance['account']})"


def _roughly(exact: str) -> str:
    """Return an exact number for readers.

    >>> _roughly("1/3"), _roughly("0.000001"), _roughly("")
    ('0.333333', '1e-06', '')
    """
    return f"{float(Fraction(exact)):.6g}" if exact else ""


def what_of(body: Mapping[str, Any]) -> str:
    """Return what a request measures, over which variables, in a few words."""
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


def make_statement(entries: Iterable[Entry], account: Account, analyst: str | None = None) -> Statement:
    """Return movements in order; an analyst sees own requests and own quota, never what is left to others."""
    state = State()
    kind, name = (TOTAL, "") if analyst is None else (QUOTA, analyst)
    movements: list[tuple[Entry, Balance]] = []
    for entry in entries:
        state.fold(entry)
        if entry.kind in ("charge", *_DECLARED) and analyst in (None, entry.body.get("analyst")):
            key = BalanceKey(account.population, str(entry.body.get("account", MASTER)), kind, name)
            movements.append((entry, state.balance(key)))
    shown = [b for b in account.balances if analyst is None or b.key[2:] == (QUOTA, analyst)]
    charged = {b.key.account for b in shown if b.charges}
    own_warnings = tuple(warning for other, warning in WARNINGS.items() if other in charged)
    return Statement(
        population=account.population,
        analyst=analyst,
        relation=str(account.relation),
        lines=tuple(_movement(entry, balance, state, account.population) for entry, balance in movements),
        balances=tuple(b.to_dict() for b in shown if b.charges or (b.is_limited and b.limit_rho)),
        warnings=account.warnings if analyst is None else own_warnings,
    )


def _movement(entry: Entry, balance: Balance, state: State, population: str) -> StatementLine:
    body, is_own = entry.body, entry.population == population
    common = {"at": entry.at, "entry": entry.name, "kind": entry.kind, "by": entry.by}
    common["account"] = str(body.get("account", MASTER))
    if balance.is_limited and (entry.kind in ("charge", "grant", "forfeit") or body.get("past")):
        common |= {f"left_{name}": text for name, text in exact_text(*balance.left).items()}
    if entry.kind == "charge":
        cost, charge = body["cost"], state.charges[body["key"]]
        release = state.releases.get(charge.entry)
        return StatementLine(
            **common,
            what=what_of(body) + ("" if is_own else f" (about {entry.population})"),
            definition=body["definition"],
            rho=cost["rho"],
            delta=cost["delta"],
            epsilon=cost["epsilon"] or "",
            status=release.status if release else "charged",
        )
    stated = body.get("budget") or body.get("cost") or _paid_late(body, population)
    rho, delta = stated.get("rho", ""), stated.get("delta", "")
    return StatementLine(**common, what=_DECLARED[entry.kind](body), rho=rho, delta=delta)


def _paid_late(body: Mapping[str, Any], population: str) -> dict[str, str]:
    """Return what a declared overlap charged to this population's master account for the other's past."""
    paid = [(int(p[2]), int(p[3])) for p in body.get("past", ()) if p[:2] == [population, MASTER]]
    return exact_text(*paid[0]) if paid else {}


def _note_words(body: Mapping[str, Any]) -> str:
    if body["kind"] == "policy":
        policy = body["payload"]
        return f"policy {str(policy['digest'])[:12]} of {policy['dataset']}, {policy['how']}"
    return f"protects one {body['payload']['unit']}" if body["kind"] == "unit" else str(body["kind"])


# What the custodian declared, in a few words, by the kind of the line.
_DECLARED: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "grant": lambda body: f"granted {body['note']}".strip(),
    "limit": lambda body: f"{body['kind']} {body['name']}".strip(),
    "schedule": lambda body: f"schedule of {len(body['waves'])} waves",
    "approval": lambda _: "approval of large charges",
    "forfeit": lambda _: "counted as spent by the lines that a restore found missing",
    "register": lambda body: f"registered {body['dataset']} {body['version']}",
    "overlap": lambda body: (
        f"shares persons with {body['with']}; releases about either are charged to both"
        + (", and earlier ones too" if body["past"] else "")
    ),
    "status": lambda body: f"{body['entry'][:8]}: {body['from']} to {body['to']}",
    "note": _note_words,
}


def check_form(form: str) -> None:
    if form not in FORMS:
        raise UnknownName.among("format", form, FORMS)


def export_lines(entries: Iterable[Entry], form: str) -> str:
    if form == "json":
        return json.dumps([entry.to_dict() for entry in entries], indent=1) + "\n"
    if form == "jsonl":
        return "".join(entry.line + "\n" for entry in entries)
    rows = []
    for e in entries:
        stated = e.body.get("cost") or e.body.get("budget") or {}
        cost = [stated.get(name) or "" for name in ("rho", "delta", "epsilon")]
        rows.append([e.seq, e.at, e.name, e.kind, e.population, e.by, *cost, e.digest, e.line])
    return _csv(["seq", "at", "entry", "kind", "population", "by", "rho", "delta", "epsilon", "digest", "line"], rows)


def export_statement(statement: Statement, form: str) -> str:
    check_form(form)
    if form == "json":
        return json.dumps(statement.to_dict(), indent=1) + "\n"
    rows = [line.to_dict() for line in statement.lines]
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    return _csv(COLUMNS, [list(row.values()) for row in rows])


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()
