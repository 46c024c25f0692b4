"""The custodian's commands: registrations, grants, limits, approval, schedules, overlaps, status, notes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core.neighbours import Relation
from dalenius.core.release import Status
from dalenius.errors import Conflict, DataChanged, LedgerMismatch, ParameterError, UnknownName
from dalenius.ledger.account import TOTAL, UNRESERVED, WAVE, BalanceKey, overlap_with, overlaps_of
from dalenius.ledger.charge import ACCOUNTS, Registration, Units
from dalenius.ledger.draft import Command, Draft, Needs
from dalenius.ledger.entry import Entry
from dalenius.ledger.state import limited_balance, past_of

_NEXT = {
    Status.DRAFT: (Status.EMBARGOED, Status.PUBLISHED, Status.WITHDRAWN),
    Status.EMBARGOED: (Status.PUBLISHED, Status.WITHDRAWN),
    Status.PUBLISHED: (Status.WITHDRAWN,),
    Status.WITHDRAWN: (),
}


def _budgets(*populations: str) -> list[BalanceKey]:
    kinds = (TOTAL, UNRESERVED)
    return [BalanceKey(name, account, kind, "") for name in populations for account in ACCOUNTS for kind in kinds]


@dataclass(frozen=True, slots=True)
class Register:
    """Tie a file to its version; the same again changes nothing, another file is refused."""

    population: str
    dataset: str
    version: str
    fingerprint: str
    domain_digest: str
    by: str

    @property
    def needs(self) -> Needs:
        return Needs(datasets=frozenset({self.dataset}))

    def decide(self, draft: Draft) -> Registration:
        owner = draft.state.owners.get(self.dataset, self.population)
        if owner != self.population:
            raise LedgerMismatch(
                f"Data set {self.dataset!r} belongs to population {owner!r}; a new version of it cannot belong to "
                f"{self.population!r}, because a new version brings no new budget."
            )
        registration = draft.state.registrations.get((self.dataset, self.version))
        if registration is not None:
            if registration.fingerprint != self.fingerprint:
                raise DataChanged(
                    f"Another file is registered as {self.dataset!r}, version {self.version!r}. Register the changed "
                    "file under a new version; both share the population's budget.",
                    dataset=self.dataset,
                    version=self.version,
                )
            if registration.domain_digest != self.domain_digest:
                raise Conflict(
                    f"{self.dataset!r}, version {self.version!r}, is registered with another declaration. Register the "
                    "changed declaration under a new version."
                )
            return registration
        body = {name: getattr(self, name) for name in ("dataset", "version", "fingerprint", "domain_digest")}
        draft.emit("register", population=self.population, by=self.by, body=body)
        return draft.state.registrations[self.dataset, self.version]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneLine:
    kind: str
    population: str
    body: Mapping[str, Any]
    by: str

    def emit(self, draft: Draft) -> Entry:
        return draft.emit(self.kind, population=self.population, by=self.by, body=self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant(OneLine):
    kind: str = "grant"

    @property
    def needs(self) -> Needs:
        return Needs(populations=frozenset({self.population}), balances=frozenset(_budgets(self.population)))

    def decide(self, draft: Draft) -> Entry:
        terms, relation = draft.state.terms.get(self.population), Relation(self.body["relation"])
        if terms is not None and terms.relation is not relation:
            raise LedgerMismatch(
                f"The account of {self.population!r} is kept under {terms.relation}; a grant under {relation} is "
                "never added to it."
            )
        return self.emit(draft)


class Limit(OneLine):
    @property
    def needs(self) -> Needs:
        total = BalanceKey(self.population, str(self.body.get("account", ACCOUNTS[0])), TOTAL, "")
        keys = {total}
        if self.kind == "limit":
            keys.add(limited_balance(self.population, self.body))
        for wave in self.body.get("waves", ()):
            keys.add(total._replace(kind=WAVE, name=wave["version"]))
        return Needs(populations=frozenset({self.population}), balances=frozenset(keys))

    def decide(self, draft: Draft) -> Entry:
        if self.population not in draft.state.terms:
            raise UnknownName.among("population", self.population, draft.state.terms)
        if self.kind == "schedule":
            total = draft.state.balance(BalanceKey(self.population, str(self.body["account"]), TOTAL, ""))
            rho, delta = (sum(int(wave[name]) for wave in self.body["waves"]) for name in ("rho", "delta"))
            if rho > total.limit_rho or delta > total.limit_delta:
                raise ParameterError("The waves of the schedule add up to more than was granted.")
        if self.kind == "limit" and self.body["kind"] == "share":
            self._check_share(draft)
        return self.emit(draft)

    def _check_share(self, draft: Draft) -> None:
        """Refuse a share larger than what is left, which the next grant would give to unofficial requests."""
        unreserved = draft.state.balance(limited_balance(self.population, self.body))
        total, units = draft.state.balance(unreserved.key._replace(kind=TOTAL)), self.body["units"]
        rho, delta = total.limit_rho - unreserved.spent_rho, total.limit_delta - unreserved.spent_delta
        if int(units["rho"]) > rho or int(units["delta"]) > delta:
            raise ParameterError("A share cannot be larger than what others have left of the grant.")


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSegment:
    """Several commands in one segment, all or none; a trial writes nothing and refuses the same."""

    parts: tuple[Command, ...]
    is_trial: bool = False

    @property
    def needs(self) -> Needs:
        return Needs.of_all(part.needs for part in self.parts)

    def decide(self, draft: Draft) -> tuple[Any, ...]:
        # Tried beside the draft first: a part that refuses leaves nothing of the others.
        trial = Draft(draft.state, draft.tip, draft.now)
        results = tuple(part.decide(trial) for part in self.parts)
        return results if self.is_trial else tuple(part.decide(draft) for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAccount(OneSegment):
    """Declare all that opens a population's account in one segment; nothing if it is open already."""

    population: str

    def decide(self, draft: Draft) -> tuple[Any, ...]:
        return () if self.population in draft.state.terms else OneSegment(parts=self.parts).decide(draft)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareOverlap:
    """Declare that two populations share some persons: from now on every release charges the accounts of both.

    Each account is charged at once what releases about the other have spent so far; where one cannot pay, nothing is
    declared. A repeated declaration changes nothing.

    What the other account paid for third populations is not charged. A person of both who is in a third population too
    makes each of them share persons with it, so that this is declared by itself. Whenever it is declared, an account
    then holds the same: the releases about its population, and about every one that shares persons with it.
    """

    population: str
    other: str
    by: str

    @property
    def needs(self) -> Needs:
        both = (self.population, self.other)
        pair = (overlap_with(*both), overlap_with(*reversed(both)))
        return Needs(
            populations=frozenset(both),
            balances=frozenset({*_budgets(*both), *pair, *map(overlaps_of, both)}),
            spenders=frozenset(both),
        )

    def decide(self, draft: Draft) -> Entry | None:
        if self.population == self.other:
            raise ParameterError("A population shares all persons with itself; name another one.")
        relations = set()
        for name in (self.population, self.other):
            if name not in draft.state.terms:
                raise UnknownName(
                    f"No account was opened for the population {name!r} in this ledger; register its data set first.",
                    received=name,
                )
            relations.add(draft.state.terms[name].relation)
        if len(relations) > 1:
            raise LedgerMismatch(
                f"The accounts of {self.population!r} and {self.other!r} are kept under different relations, so that "
                "neither can pay for the other's releases."
            )
        if draft.state.balance(overlap_with(self.population, self.other)).charges:
            return None
        past = past_of(draft.state, self.population, self.other)
        for payer, account, rho, delta, epsilon in past:
            for kind in (TOTAL, UNRESERVED):
                balance = draft.state.balance(BalanceKey(payer, account, kind, ""))
                if not balance.is_limited or not balance.covers(Units(rho, delta, epsilon)):
                    raise Conflict(
                        f"{self.population!r} and {self.other!r} share persons, and something was released about one "
                        f"of them before that was declared. The {account} account of {payer!r} cannot pay what "
                        "releases about the other have spent until now: grant it more, or give both data sets one "
                        "population, in a ledger of their own. Nothing was declared."
                    )
        body = {"with": self.other, "past": past}
        return draft.emit("overlap", population=self.population, by=self.by, body=body)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStatus:
    """Move a release along draft, embargoed, published, withdrawn; its charge stands. Returns its entry."""

    entry: str
    status: str
    by: str

    @property
    def needs(self) -> Needs:
        return Needs(entries=frozenset({self.entry}))

    def decide(self, draft: Draft) -> str:
        release = draft.state.releases.get(self.entry)
        if release is None:
            raise UnknownName(f"There is no release under the entry {self.entry!r}.", received=self.entry)
        if self.status not in list(Status):
            raise UnknownName.among("status", self.status, list(Status))
        if release.status == self.status:
            return self.entry
        if Status(self.status) not in _NEXT[Status(release.status)]:
            raise Conflict(f"A release that is {release.status} cannot become {self.status}.")
        population = draft.state.charges[release.key].population
        body = {"entry": self.entry, "from": release.status, "to": self.status}
        draft.emit("status", population=population, by=self.by, body=body)
        return self.entry


class Note(OneLine):
    """A line that changes no balance: the opening of the ledger, the check value of a secret, an inspection."""

    @property
    def needs(self) -> Needs:
        return Needs(checks=frozenset({self.population}) if self.kind == "secret" else frozenset())

    def decide(self, draft: Draft) -> Any:
        """Return the line, or of a secret the check value that was written first; a ledger opens once."""
        if self.kind == "secret" and self.population in draft.state.checks:
            return draft.state.checks[self.population]
        if self.kind == "open" and draft.head.seq:
            return None
        entry = self.emit(draft)
        return self.body["check"] if self.kind == "secret" else entry
