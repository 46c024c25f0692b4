"""The ledger's state as a fold over its lines: what every table of the store must agree with.

The writer and `verify` use the same fold. The writer folds the lines of a batch into the part of the state that the
batch touches; `verify` folds all lines from the first one and compares the result with the stored tables.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from dalenius.core.budget import MASTER
from dalenius.core.neighbours import Relation
from dalenius.errors import LedgerCorrupt
from dalenius.ledger.account import (
    ANALYST,
    OTHERS,
    TOTAL,
    VARIABLE,
    WAVE,
    Purse,
    PurseKey,
    Terms,
    overlap_with,
    overlaps_of,
    purses_elsewhere,
)
from dalenius.ledger.charge import DATA_DEPENDENT, PAGES, Registration, Units
from dalenius.ledger.entry import Entry


class ChargeRow(NamedTuple):
    """A charge and who may complete it; the lease is in no line, and bound by the state that lines name."""

    entry: str
    key: str
    seq: int
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

    entry: str
    key: str
    digest: str
    status: str
    seq: int


@dataclass(slots=True)
class State:
    """All of it, or the part that a batch touches."""

    terms: dict[str, Terms] = field(default_factory=dict)
    purses: dict[PurseKey, Purse] = field(default_factory=dict)
    charges: dict[str, ChargeRow] = field(default_factory=dict)
    releases: dict[str, ReleaseRow] = field(default_factory=dict)
    registrations: dict[tuple[str, str], Registration] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    own: dict[PurseKey, Purse] = field(default_factory=dict)
    """What was spent for releases about a population itself, by page: of its own lines alone, and kept in no table."""

    def copy(self) -> "State":
        """Independent dictionaries over the same frozen rows."""
        return State(
            dict(self.terms),
            dict(self.purses),
            dict(self.charges),
            dict(self.releases),
            dict(self.registrations),
            dict(self.owners),
            dict(self.checks),
            dict(self.own),
        )

    def purse(self, key: PurseKey) -> Purse:
        """The purse, or an empty one without limit."""
        return self.purses.get(key) or Purse(key=key)

    def fold_own(self, entry: Entry) -> None:
        """Of a line that was written before: only what it spent for a release about its own population."""
        key = PurseKey(entry.population, entry.body["page"], TOTAL, "")
        before = self.own.get(key) or Purse(key=key)
        self.own[key] = before.after(SPENT[entry.kind](entry.body))

    def fold(self, entry: Entry) -> None:
        """Apply one line."""
        step = _STEPS.get(entry.kind)
        if step is None:
            raise LedgerCorrupt(f"Line {entry.seq} is of the unknown kind {entry.kind!r}.", seq=entry.seq)
        try:
            step(self, entry, entry.body)
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerCorrupt(f"Line {entry.seq} lacks what its kind needs.", seq=entry.seq) from error


def _nothing(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    """Lines that record something without changing a balance."""


# Every grant opens these pages, the other ones with nothing; a further page has no purse before its own grant.
FIRST_PAGES = (MASTER, DATA_DEPENDENT)


def _grant(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    relation = Relation(body["relation"])
    state.terms.setdefault(entry.population, Terms(population=entry.population, relation=relation))
    for page in dict.fromkeys((*FIRST_PAGES, body["page"])):
        rho, delta = (int(body["units"]["rho"]), int(body["units"]["delta"])) if page == body["page"] else (0, 0)
        for kind in (TOTAL, OTHERS):
            key = PurseKey(entry.population, page, kind, "")
            purse = state.purses.get(key) or Purse(key=key, limit_rho=0, limit_delta=0)
            state.purses[key] = purse.with_limit(purse.limit_rho + rho, purse.limit_delta + delta)


def _limit(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    key = PurseKey(entry.population, body["page"], body["purse"], body["name"])
    rho, delta = int(body["units"]["rho"]), int(body["units"]["delta"])
    if key.kind == OTHERS:
        total = state.purse(key._replace(kind=TOTAL))
        rho, delta = max(total.limit_rho - rho, 0), max(total.limit_delta - delta, 0)
    state.purses[key] = state.purse(key).with_limit(rho, delta)


def _approval(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    above = None if body["above"] is None else int(body["above"])
    state.terms[entry.population] = replace(state.terms[entry.population], approval_above=above)


def _schedule(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    state.terms[entry.population] = replace(state.terms[entry.population], is_scheduled=True)
    for wave in body["waves"]:
        key = PurseKey(entry.population, body["page"], WAVE, wave["version"])
        state.purses[key] = state.purse(key).with_limit(int(wave["rho"]), int(wave["delta"]))


def _register(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    state.owners[body["dataset"]] = entry.population
    state.registrations[body["dataset"], body["version"]] = Registration(
        population=entry.population,
        dataset=body["dataset"],
        version=body["version"],
        fingerprint=body["fingerprint"],
        domain_digest=body["domain_digest"],
        entry=entry.name,
    )


def _secret(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    state.checks[entry.population] = body["check"]


def _units_of(body: Mapping[str, Any]) -> Units:
    return Units(int(body["units"]["rho"]), int(body["units"]["delta"]), body["units"]["epsilon"])


def _charge(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    units = _units_of(body)
    for kind, name in body["purses"]:
        key = PurseKey(entry.population, body["page"], kind, name)
        state.purses[key] = state.purse(key).after(units)
    for key in elsewhere_of(body):
        state.purses[key] = state.purse(key).after(units)
    state.fold_own(entry)
    state.charges[body["key"]] = ChargeRow(
        entry=entry.name,
        key=body["key"],
        seq=entry.seq,
        population=entry.population,
        dataset=body["dataset"],
        version=body["version"],
        definition=body["definition"],
        analyst=body["analyst"],
        fingerprint=body["fingerprint"],
        plan_digest=body["plan_digest"],
        is_tainted=bool(body["is_tainted"]),
        is_public_data=bool(body["is_public_data"]),
    )


def elsewhere_of(body: Mapping[str, Any]) -> tuple[PurseKey, ...]:
    """The purses of other populations that a charge is paid by, from its line."""
    return purses_elsewhere(
        body.get("overlaps", ()), body["page"], analyst=body["analyst"], variables=body["variables"]
    )


def _overlap(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    """Two populations that share persons: each counts one more, and pays for what the other had spent before."""
    pair = (entry.population, str(body["with"]))
    for key in (*map(overlaps_of, pair), overlap_with(*pair), overlap_with(*reversed(pair))):
        state.purses[key] = state.purse(key).after(Units(0, 0, 0))
    for payer, page, rho, delta, epsilon in body["past"]:
        for key in purses_elsewhere((payer,), page):
            state.purses[key] = state.purse(key).after(Units(int(rho), int(delta), epsilon))


def names_overlaps(state: State, population: str, named: Sequence[str]) -> bool:
    """Whether the named populations are those that were declared to share persons with this one, each once."""
    declared = {other for other in named if state.purse(overlap_with(population, other)).charges}
    return state.purse(overlaps_of(population)).charges == len(declared) == len(named)


def past_of(state: State, population: str, other: str) -> list[list[Any]]:
    """What was spent on each page for releases about each of two, beside the account of the other, which pays for it:
    (payer, page, rho, delta, epsilon).
    """
    past: list[list[Any]] = []
    for payer, spender in ((population, other), (other, population)):
        for page in PAGES:
            purse = state.own.get(PurseKey(spender, page, TOTAL, ""))
            if purse is not None and purse.charges:
                pure = None if purse.impure else purse.spent_epsilon
                past.append([payer, page, purse.spent_rho, purse.spent_delta, pure])
    return past


def _forfeit(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    """What was left is counted as spent by something that is not known, and so was not pure."""
    for kind, name, rho, delta in body["purses"]:
        key = PurseKey(entry.population, body["page"], kind, name)
        state.purses[key] = state.purse(key).after(Units(int(rho), int(delta), None))
    state.fold_own(entry)


def _forfeited(body: Mapping[str, Any]) -> Units:
    """Of the whole budget: lost lines may all have been about the population itself."""
    lost = [(int(rho), int(delta)) for kind, _, rho, delta in body["purses"] if kind == TOTAL]
    return Units(*(lost[0] if lost else (0, 0)), None)


def _release(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    charge = state.charges[body["key"]]
    state.charges[body["key"]] = charge._replace(is_done=True)
    state.releases[body["entry"]] = ReleaseRow(
        entry=body["entry"], key=body["key"], digest=body["digest"], status=body["status"], seq=charge.seq
    )


def _status(state: State, entry: Entry, body: Mapping[str, Any]) -> None:
    state.releases[body["entry"]] = state.releases[body["entry"]]._replace(status=body["to"])


SPENT: dict[str, Callable[[Mapping[str, Any]], Units]] = {"charge": _units_of, "forfeit": _forfeited}
"""Lines that spend something for releases about their own population, and how much of the whole budget."""

_STEPS: dict[str, Callable[[State, Entry, Mapping[str, Any]], None]] = {
    "open": _nothing,
    "note": _nothing,
    "takeover": _nothing,
    "abandon": _nothing,
    "secret": _secret,
    "register": _register,
    "grant": _grant,
    "limit": _limit,
    "approval": _approval,
    "schedule": _schedule,
    "charge": _charge,
    "overlap": _overlap,
    "restore": _nothing,
    "forfeit": _forfeit,
    "release": _release,
    "status": _status,
}

LIMIT_KINDS = {"share": OTHERS, "quota": ANALYST, "cap": VARIABLE}
