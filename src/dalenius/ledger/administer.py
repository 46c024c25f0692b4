"""The custodian's commands: registrations, grants, limits, approval, schedules, status, notes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core.neighbours import Relation
from dalenius.core.release import Status
from dalenius.errors import Conflict, DataChanged, LedgerMismatch, ParameterError, UnknownName
from dalenius.ledger.account import OTHERS, TOTAL, WAVE, PurseKey, overlap_with, overlaps_of
from dalenius.ledger.charge import PAGES, Registration, Units
from dalenius.ledger.draft import Command, Draft, Needs
from dalenius.ledger.entry import Entry
from dalenius.ledger.state import past_of

_NEXT = {
    Status.DRAFT: (Status.EMBARGOED, Status.PUBLISHED, Status.WITHDRAWN),
    Status.EMBARGOED: (Status.PUBLISHED, Status.WITHDRAWN),
    Status.PUBLISHED: (Status.WITHDRAWN,),
    Status.WITHDRAWN: (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
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
        """What was registered under this name."""
        return Needs(datasets=frozenset({self.dataset}))

    def decide(self, draft: Draft) -> Registration:
        """The registration as it stands."""
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
                    f"Another file is registered as {self.dataset!r}, version {self.version!r}. Register the "
                    "changed file under a new version; both share the population's budget.",
                    dataset=self.dataset,
                    version=self.version,
                )
            if registration.domain_digest != self.domain_digest:
                raise Conflict(
                    f"{self.dataset!r}, version {self.version!r}, is registered with another declaration. "
                    "Register the changed declaration under a new version."
                )
            return registration
        body = {
            "dataset": self.dataset,
            "version": self.version,
            "fingerprint": self.fingerprint,
            "domain_digest": self.domain_digest,
        }
        draft.emit("register", population=self.population, by=self.by, body=body)
        return draft.state.registrations[self.dataset, self.version]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Add to a population's limit on one page."""

    population: str
    relation: Relation
    body: Mapping[str, Any]
    by: str

    @property
    def needs(self) -> Needs:
        """The account."""
        keys = [PurseKey(self.population, page, kind, "") for page in PAGES for kind in (TOTAL, OTHERS)]
        return Needs(populations=frozenset({self.population}), purses=frozenset(keys))

    def decide(self, draft: Draft) -> Entry:
        """The line."""
        terms = draft.state.terms.get(self.population)
        if terms is not None and terms.relation is not self.relation:
            raise LedgerMismatch(
                f"The account of {self.population!r} is kept under {terms.relation}; a grant under "
                f"{self.relation} is never added to it."
            )
        return draft.emit("grant", population=self.population, by=self.by, body=self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Set the limit of one purse, keep a share back, set the size that needs approval, or declare a schedule."""

    kind: str
    population: str
    body: Mapping[str, Any]
    by: str

    @property
    def needs(self) -> Needs:
        """The account and the purses in question."""
        page = str(self.body.get("page", PAGES[0]))
        keys = {PurseKey(self.population, page, TOTAL, "")}
        if "purse" in self.body:
            keys.add(PurseKey(self.population, page, str(self.body["purse"]), str(self.body["name"])))
        for wave in self.body.get("waves", ()):
            keys.add(PurseKey(self.population, page, WAVE, wave["version"]))
        return Needs(populations=frozenset({self.population}), purses=frozenset(keys))

    def decide(self, draft: Draft) -> Entry:
        """The line."""
        if self.population not in draft.state.terms:
            raise UnknownName.among("population", self.population, draft.state.terms)
        if "waves" in self.body:
            total = draft.state.purse(PurseKey(self.population, str(self.body["page"]), TOTAL, ""))
            rho, delta = (sum(int(w[name]) for w in self.body["waves"]) for name in ("rho", "delta"))
            if rho > total.limit_rho or delta > total.limit_delta:
                raise ParameterError("The waves of the schedule add up to more than was granted.")
        if self.body.get("purse") == OTHERS:
            self._check_share(draft)
        return draft.emit(self.kind, population=self.population, by=self.by, body=self.body)

    def _check_share(self, draft: Draft) -> None:
        """A share larger than what is left would be given to the others by the next grant."""
        page, units = str(self.body["page"]), self.body["units"]
        total, others = (draft.state.purse(PurseKey(self.population, page, k, "")) for k in (TOTAL, OTHERS))
        if (
            int(units["rho"]) > total.limit_rho - others.spent_rho
            or int(units["delta"]) > total.limit_delta - others.spent_delta
        ):
            raise ParameterError("A share cannot be larger than what others have left of the grant.")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAccount:
    """The declarations that open a population's account: all of them in one segment, once, or none."""

    population: str
    parts: tuple[Command, ...]

    @property
    def needs(self) -> Needs:
        """Whatever its parts must see."""
        return Needs.of_all(part.needs for part in self.parts)

    def decide(self, draft: Draft) -> bool:
        """Whether the account was opened now."""
        if self.population in draft.state.terms:
            return False
        OneSegment(parts=self.parts).decide(draft)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSegment:
    """Several commands in one segment: all of them, or none. A trial writes nothing, and refuses what would
    be refused.
    """

    parts: tuple[Command, ...]
    is_trial: bool = False

    @property
    def needs(self) -> Needs:
        """Whatever its parts must see."""
        return Needs.of_all(part.needs for part in self.parts)

    def decide(self, draft: Draft) -> tuple[Any, ...]:
        """The answers, in order."""
        # Tried beside the draft first: a part that refuses leaves nothing of the others.
        trial = Draft(draft.state, draft.tip, draft.now)
        answers = tuple(part.decide(trial) for part in self.parts)
        return answers if self.is_trial else tuple(part.decide(draft) for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareOverlap:
    """Two populations share some persons: from now on both accounts pay for every release about either.

    Each account is charged at once what releases about the other have spent so far, on every page; where one cannot
    pay, nothing is declared. What is declared already stays as it is.

    What the other account paid for third populations is not charged. A person of both who is in a third population too
    makes each of them share persons with it, so that this is declared by itself. Whenever it is declared, an account
    then holds the same: the releases about its population, and about every one that shares persons with it.
    """

    population: str
    other: str
    by: str

    @property
    def needs(self) -> Needs:
        """Both accounts with what they paid, and whether it is declared."""
        both = (self.population, self.other)
        keys = [PurseKey(name, page, kind, "") for name in both for page in PAGES for kind in (TOTAL, OTHERS)]
        pair = (overlap_with(*both), overlap_with(*reversed(both)))
        return Needs(
            populations=frozenset(both),
            purses=frozenset({*keys, *pair, *map(overlaps_of, both)}),
            pasts=frozenset(both),
        )

    def decide(self, draft: Draft) -> Entry | None:
        """The line, none if it stands; refused where an account is missing, or cannot pay for the other's past."""
        if self.population == self.other:
            raise ParameterError("A population shares all persons with itself; name another one.")
        terms = [draft.state.terms.get(name) for name in (self.population, self.other)]
        for name, one in zip((self.population, self.other), terms, strict=True):
            if one is None:
                raise UnknownName(
                    f"No account was opened for the population {name!r} in this ledger; register its data set first.",
                    received=name,
                )
        if len({one.relation for one in terms if one is not None}) > 1:
            raise LedgerMismatch(
                f"The accounts of {self.population!r} and {self.other!r} are kept under different relations, so that "
                "neither can pay"
                " for the other's releases."
            )
        if draft.state.purse(overlap_with(self.population, self.other)).charges:
            return None
        past = past_of(draft.state, self.population, self.other)
        for payer, page, rho, delta, epsilon in past:
            for kind in (TOTAL, OTHERS):
                purse = draft.state.purse(PurseKey(payer, page, kind, ""))
                if not purse.is_limited or not purse.pays(Units(rho, delta, epsilon)):
                    raise Conflict(
                        f"{self.population!r} and {self.other!r} share persons, and something was released about one "
                        "of them before that"
                        f" was declared. The account of {payer!r} cannot pay on the {page} page what releases about "
                        "the other have spent until"
                        " now: grant it more, or give both data sets one population, in a ledger of their own. "
                        "Nothing was declared."
                    )
        body = {"with": self.other, "past": past}
        return draft.emit("overlap", population=self.population, by=self.by, body=body)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStatus:
    """Move a release along draft, embargoed, published, withdrawn; nothing is given back."""

    entry: str
    status: str
    by: str

    @property
    def needs(self) -> Needs:
        """The release."""
        return Needs(entries=frozenset({self.entry}))

    def decide(self, draft: Draft) -> str:
        """The entry to read back."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A line that changes no balance: the opening of the ledger, the check value of a secret, an inspection."""

    kind: str
    population: str
    body: Mapping[str, Any]
    by: str

    @property
    def needs(self) -> Needs:
        """For a secret, whether there is one already."""
        return Needs(checks=frozenset({self.population}) if self.kind == "secret" else frozenset())

    def decide(self, draft: Draft) -> Any:
        """The line, or the check value that was there first; a ledger opens once."""
        if self.kind == "secret" and self.population in draft.state.checks:
            return draft.state.checks[self.population]
        if self.kind == "open" and draft.head.seq:
            return None
        entry = draft.emit(self.kind, population=self.population, by=self.by, body=self.body)
        return self.body["check"] if self.kind == "secret" else entry
