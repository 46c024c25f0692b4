"""The ledger's state as a fold over its lines: what every table of the store must agree with.

The writer and `verify` use the same fold. The writer folds the lines of a batch into the part of the state that the
batch touches; `verify` folds all lines from the first one and compares the result with the stored tables.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dalenius.core.budget import MASTER
from dalenius.core.neighbours import Relation
from dalenius.errors import LedgerCorrupt
from dalenius.ledger.account import (
    CAP,
    QUOTA,
    TOTAL,
    UNRESERVED,
    WAVE,
    Balance,
    BalanceKey,
    Terms,
    balances_elsewhere,
    overlap_with,
    overlaps_of,
)
from dalenius.ledger.charge import ACCOUNTS, DATA_DEPENDENT, Registration, Units
from dalenius.ledger.entry import Entry


class ChargeRow(NamedTuple):
    """A charge and who may complete it; the lease is in no line, and bound by the state that lines name."""

    seq: int
    key: str
    entry: str
    population: str
    dataset: str
    version: str
    definition: str
    analyst: str
    fingerprint: str
    plan_digest: str
    is_tainted: bool
    is_public_data: bool
    is_done: bool = False
    lease: str = ""
    lease_until: float = 0.0


class ReleaseRow(NamedTuple):
    """A completed charge: the digest of its document, whether it is public, and the line that charged it."""

    seq: int
    entry: str
    key: str
    digest: str
    status: str


@dataclass(slots=True)
class State:
    terms: dict[str, Terms] = field(default_factory=dict)
    balances: dict[BalanceKey, Balance] = field(default_factory=dict)
    charges: dict[str, ChargeRow] = field(default_factory=dict)
    releases: dict[str, ReleaseRow] = field(default_factory=dict)
    registrations: dict[tuple[str, str], Registration] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    own_spending: dict[BalanceKey, Balance] = field(default_factory=dict)
    """What releases about a population itself have spent, by account: from its own lines, kept in no table."""

    def copy(self) -> "State":
        return State(*(dict(getattr(self, name)) for name in self.__slots__))

    def balance(self, key: BalanceKey) -> Balance:
        return self.balances.get(key) or Balance(key=key)

    def spend(self, keys: Iterable[BalanceKey], units: Units) -> None:
        for key in keys:
            self.balances[key] = self.balance(key).after(units)

    def fold_own_spending(self, entry: Entry) -> None:
        """Add what a line spent for a release about its own population."""
        key = BalanceKey(entry.population, entry.body["account"], TOTAL, "")
        before = self.own_spending.get(key) or Balance(key=key)
        self.own_spending[key] = before.after(SPENDING[entry.kind](entry.body))

    def fold(self, entry: Entry) -> None:
        step = _STEPS.get(entry.kind)
        if step is None:
            raise LedgerCorrupt(f"Line {entry.seq} is of the unknown kind {entry.kind!r}.", seq=entry.seq)
        try:
            step(self, entry, entry.body)
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerCorrupt(f"Line {entry.seq} lacks what its kind needs.", seq=entry.seq) from error


def _unchanged(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    """Accept a line that changes no balance."""


# Every grant opens these accounts, the other one with nothing; a further account opens with its own grant.
FIRST_ACCOUNTS = (MASTER, DATA_DEPENDENT)


def _grant(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    relation = Relation(body["relation"])
    state.terms.setdefault(entry.population, Terms(entry.population, relation))
    for account in dict.fromkeys((*FIRST_ACCOUNTS, body["account"])):
        rho, delta = _rho_delta(body) if account == body["account"] else (0, 0)
        for kind in (TOTAL, UNRESERVED):
            key = BalanceKey(entry.population, account, kind, "")
            balance = state.balances.get(key) or Balance(key=key, limit_rho=0, limit_delta=0)
            state.balances[key] = balance.with_limit(balance.limit_rho + rho, balance.limit_delta + delta)


def _rho_delta(body: Mapping[str, Any]) -> tuple[int, int]:
    return int(body["units"]["rho"]), int(body["units"]["delta"])


def limited_balance(population: str, body: Mapping[str, Any]) -> BalanceKey:
    """Return the balance that a limit line limits; a reserved share limits the unreserved budget."""
    kind = {"share": UNRESERVED, "quota": QUOTA, "cap": CAP}[body["kind"]]
    return BalanceKey(population, body["account"], kind, body["name"])


def _limit(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    key = limited_balance(entry.population, body)
    rho, delta = _rho_delta(body)
    if key.kind == UNRESERVED:
        total = state.balance(key._replace(kind=TOTAL))
        rho, delta = max(total.limit_rho - rho, 0), max(total.limit_delta - delta, 0)
    state.balances[key] = state.balance(key).with_limit(rho, delta)


def _approval(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    above = None if body["above"] is None else int(body["above"])
    state.terms[entry.population] = state.terms[entry.population]._replace(approval_above=above)


def _schedule(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    state.terms[entry.population] = state.terms[entry.population]._replace(is_scheduled=True)
    for wave in body["waves"]:
        key = BalanceKey(entry.population, body["account"], WAVE, wave["version"])
        state.balances[key] = state.balance(key).with_limit(int(wave["rho"]), int(wave["delta"]))


def _register(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    state.owners[body["dataset"]] = entry.population
    stated = {name: body[name] for name in ("dataset", "version", "fingerprint", "domain_digest")}
    registration = Registration(population=entry.population, entry=entry.name, **stated)
    state.registrations[registration[:2]] = registration


def _secret(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    state.checks[entry.population] = body["check"]


def _units_of(body: Mapping[str, Any]) -> Units:
    return Units(*_rho_delta(body), body["units"]["epsilon"])


def charged_balances(population: str, body: Mapping[str, Any]) -> tuple[BalanceKey, ...]:
    """Return every balance that a charge line counts against, those of overlapping populations included."""
    own = [BalanceKey(population, body["account"], kind, name) for kind, name in body["balances"]]
    overlaps = body.get("overlaps", ())
    others = balances_elsewhere(overlaps, body["account"], analyst=body["analyst"], variables=body["variables"])
    return (*own, *others)


def _charge(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    state.spend(charged_balances(entry.population, body), _units_of(body))
    state.fold_own_spending(entry)
    texts = [body[name] for name in ("dataset", "version", "definition", "analyst", "fingerprint", "plan_digest")]
    flags = [bool(body[name]) for name in ("is_tainted", "is_public_data")]
    state.charges[body["key"]] = ChargeRow(entry.seq, body["key"], entry.name, entry.population, *texts, *flags)


def _overlap(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    """Count one more overlap for each of two populations, and charge each what the other had spent before."""
    pair = (entry.population, str(body["with"]))
    state.spend((*map(overlaps_of, pair), overlap_with(*pair), overlap_with(*reversed(pair))), Units(0, 0, 0))
    for payer, account, rho, delta, epsilon in body["past"]:
        state.spend(balances_elsewhere((payer,), account), Units(int(rho), int(delta), epsilon))


def names_overlaps(state: State, population: str, named: Sequence[str]) -> bool:
    """Whether the named populations are exactly those declared to share persons with this one."""
    declared = {other for other in named if state.balance(overlap_with(population, other)).charges}
    return state.balance(overlaps_of(population)).charges == len(declared) == len(named)


def past_of(state: State, population: str, other: str) -> list[list[Any]]:
    """Return what releases about each of two populations have spent, to be charged to the other's accounts.

    Rows of (payer, account, rho, delta, epsilon), in ledger units.
    """
    past: list[list[Any]] = []
    for payer, spender in ((population, other), (other, population)):
        for account in ACCOUNTS:
            spent = state.own_spending.get(BalanceKey(spender, account, TOTAL, ""))
            if spent is not None and spent.charges:
                pure = None if spent.impure else spent.spent_epsilon
                past.append([payer, account, spent.spent_rho, spent.spent_delta, pure])
    return past


def _forfeit(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    """Count what was left as spent by charges that are not known, and so not pure."""
    for kind, name, rho, delta in body["balances"]:
        key = BalanceKey(entry.population, body["account"], kind, name)
        state.spend((key,), Units(int(rho), int(delta), None))
    state.fold_own_spending(entry)


def _forfeited(body: Mapping[str, Any]) -> Units:
    """Return what is forfeited of the total: lost lines may all have been about the population itself."""
    lost = [(int(rho), int(delta)) for kind, _, rho, delta in body["balances"] if kind == TOTAL]
    return Units(*(lost[0] if lost else (0, 0)), None)


def _release(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    charge = state.charges[body["key"]]
    state.charges[body["key"]] = charge._replace(is_done=True)
    stated = [body[name] for name in ("entry", "key", "digest", "status")]
    state.releases[body["entry"]] = ReleaseRow(charge.seq, *stated)


def _status(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    state.releases[body["entry"]] = state.releases[body["entry"]]._replace(status=body["to"])


SPENDING: dict[str, Callable[[Mapping[str, Any]], Units]] = {"charge": _units_of, "forfeit": _forfeited}
"""Kinds of lines that spend on releases about their own population, and how much of the total."""

_STEPS: dict[str, Callable[[State, Entry, Mapping[str, Any]], None]] = {
    **dict.fromkeys(("open", "note", "takeover", "abandon", "restore"), _unchanged),
    "secret": _secret,
    "register": _register,
    "grant": _grant,
    "limit": _limit,
    "approval": _approval,
    "schedule": _schedule,
    "charge": _charge,
    "overlap": _overlap,
    "forfeit": _forfeit,
    "release": _release,
    "status": _status,
}
