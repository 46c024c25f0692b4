"""Opening a population's account: the policy's budget, quotas, caps and shares become ledger lines, once.

A population owns its budget. A second data set, or a new version, on the same population finds the account open and
brings nothing by itself; whatever changes later is the custodian's own line in the ledger.
"""

from collections.abc import Container
from fractions import Fraction

from dalenius.core import registry
from dalenius.core.budget import MASTER
from dalenius.core.domain import Domain
from dalenius.errors import LedgerMismatch, QuotaExhausted
from dalenius.ledger import Ledger
from dalenius.ledger.account import ANALYST
from dalenius.ledger.charge import PAGES
from dalenius.ledger.declarations import Declarations
from dalenius.spec.policy import PolicyDocument, QuotaPart

UNIT_NOTE = "unit"


def open_account(book: Ledger | Declarations, domain: Domain, policy: PolicyDocument, by: str) -> bool:
    """Grant what the policy grants; False if the account was open already."""
    return book.open_account(domain.population, lambda parts: _declare(parts, domain, policy, by))


def check_opening(ledger: Ledger, domain: Domain, policy: PolicyDocument, by: str) -> None:
    """Refuse what the ledger would refuse, before anything is written: nothing is left of a refused registration."""
    if domain.overlaps:
        ledger.together(lambda book: _opening(ledger, book, domain, policy, by), is_trial=True)


def register(
    ledger: Ledger, domain: Domain, policy: PolicyDocument, by: str, *, fingerprint: str, domain_digest: str
) -> None:
    """Tie a file to its version, open the population's account and declare with whom it shares persons: all of it, or
    nothing.
    """

    def declare(book: Declarations) -> None:
        book.register(
            population=domain.population,
            dataset=domain.name,
            version=domain.version,
            fingerprint=fingerprint,
            domain_digest=domain_digest,
            by=by,
        )
        _opening(ledger, book, domain, policy, by)

    ledger.together(declare)


def _opening(ledger: Ledger, book: Declarations, domain: Domain, policy: PolicyDocument, by: str) -> None:
    open_account(book, domain, policy, by)
    for other in overlaps_to_declare(ledger, domain):
        book.overlap(domain.population, other, by)


def _declare(ledger: Declarations, domain: Domain, policy: PolicyDocument, by: str) -> None:
    population, relation = domain.population, domain.neighbours.relation
    budget, note = policy.budget, "opening grant of the policy"
    ledger.grant(population, relation, budget.rho, budget.delta, by, note)
    for page in _pages(policy):
        if page != MASTER:
            ledger.grant(population, relation, budget.rho, budget.delta, by, note, page=page)
    declare_limits(ledger, population, policy, by)


def declare_limits(
    ledger: Declarations,
    population: str,
    policy: PolicyDocument,
    by: str,
    parts: Container[str] = ("sensitive", "official_share", "waves", "analysts", "approval_above"),
) -> None:
    """The policy's caps, share, schedule, quotas and approval as lines inside the budget; `parts` names which."""
    budget = policy.budget
    for page in _pages(policy):
        for variable, cap in policy.sensitive.items() if "sensitive" in parts else ():
            ledger.cap(population, variable, cap.rho, _delta(cap, policy), by, page=page)
        if "official_share" in parts and policy.official_share:
            kept = policy.official_share
            ledger.share(population, budget.rho * kept, budget.delta * kept, by, page=page)
        if "waves" in parts and policy.waves:
            even = budget.delta / len(policy.waves)
            waves = [(w.version, w.rho, even if w.delta is None else w.delta) for w in policy.waves]
            ledger.schedule(population, waves, by, page=page)
    for analyst, quota in policy.analysts.items() if "analysts" in parts else ():
        set_quota(ledger, population, analyst, quota, policy, by)
    if "approval_above" in parts and policy.approval_above is not None:
        ledger.approval(population, policy.approval_above, by)


def set_quota(
    ledger: Declarations, population: str, analyst: str, quota: QuotaPart, policy: PolicyDocument, by: str
) -> None:
    """One analyst's quota inside the budget, on every page that the policy opens."""
    for page in _pages(policy):
        ledger.quota(population, analyst, quota.rho, _delta(quota, policy), by, page=page)


def _pages(policy: PolicyDocument) -> tuple[str, ...]:
    """The master page, and the pages of the definitions that the policy opens by name; no other name opens a page."""
    opened = set(policy.allow.acknowledge) & set(registry.names("definitions"))
    pages = {registry.get("definitions", name).page for name in opened}
    return tuple(page for page in PAGES if page == MASTER or page in pages)


def ensure_quota(
    ledger: Ledger, population: str, analyst: str, policy: PolicyDocument, declarations: Declarations | None = None
) -> None:
    """Hand the policy's quota of an analyst who has none yet to `declarations`, those of the ledger unless given."""
    if policy.default_quota is None and analyst not in policy.analysts:
        return
    if not analyst:
        raise QuotaExhausted("The policy gives every analyst a quota; say who asks (analyst = …).")
    quota = policy.quota(analyst)
    purses = ledger.account(population).purses
    pages = {p.key.page for p in purses if p.key.kind == ANALYST and p.key.name == analyst and p.is_limited}
    for page in _pages(policy):
        # A quota that the custodian set on one page says nothing about the other.
        if quota is not None and page not in pages:
            book = declarations or ledger.declarations
            book.quota(population, analyst, quota.rho, _delta(quota, policy), by="policy", page=page)


def declare_unit(ledger: Ledger, domain: Domain, by: str) -> None:
    """An account guarantees something to one kind of unit: rows, or persons. The first data set decides."""
    population, unit = domain.population, domain.neighbours.unit
    if _unit_of(ledger, population) is None:
        ledger.note(UNIT_NOTE, {"unit": unit}, by, population)
    # Read again: of two that were written at the same moment, the first line decides.
    known = _unit_of(ledger, population)
    if known != unit:
        raise LedgerMismatch(
            f"The account of {population!r} protects one {known}, this document protects one {unit}. If the data are "
            "about"
            " the same people, declare the same [unit] (`id` names the column that tells them apart) and register "
            "again;"
            " another population name is for other people only, because it would give the same people a second budget.",
            known=known,
            received=unit,
        )


def overlaps_to_declare(ledger: Ledger, domain: Domain) -> tuple[str, ...]:
    """Populations that share some persons with this one and are not declared to, each once; refused for other units."""
    declared = ledger.overlaps(domain.population)
    others = tuple(other for other in dict.fromkeys(domain.overlaps) if other not in declared)
    for other in others:
        unit = _unit_of(ledger, other)
        if unit is not None and unit != domain.neighbours.unit:
            raise LedgerMismatch(
                f"The account of {other!r} protects one {unit}, this document protects one {domain.neighbours.unit}: "
                "persons who are"
                " in both are protected by neither account alone. Declare the same [unit] in both.",
                known=unit,
                received=domain.neighbours.unit,
            )
    return others


def _unit_of(ledger: Ledger, population: str) -> str | None:
    notes = ledger.notes(population, UNIT_NOTE)
    return str(notes[0].body["payload"]["unit"]) if notes else None


def _delta(quota: QuotaPart, policy: PolicyDocument) -> Fraction:
    return policy.budget.delta if quota.delta is None else quota.delta
