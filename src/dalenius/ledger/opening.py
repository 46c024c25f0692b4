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
from dalenius.ledger.account import QUOTA
from dalenius.ledger.charge import ACCOUNTS
from dalenius.ledger.declarations import Declarations
from dalenius.spec.policy import PolicyDocument, QuotaPart

UNIT_NOTE = "unit"


def open_account(declarations: Declarations, domain: Domain, policy: PolicyDocument, by: str) -> bool:
    """Grant what the policy grants; False if the account was open already."""

    def declare(declarations: Declarations) -> None:
        population, relation = domain.population, domain.neighbours.relation
        budget, note = policy.budget, "opening grant of the policy"
        for account in _accounts_of(policy):
            declarations.grant(population, relation, budget.rho, budget.delta, by, note, account)
        declare_limits(declarations, population, policy, by)

    return declarations.open_account(domain.population, declare)


def check_opening(ledger: Ledger, domain: Domain, policy: PolicyDocument, by: str) -> None:
    """Refuse what `register` would refuse, and write nothing."""
    if domain.overlaps:
        ledger.together(lambda declarations: _opening(ledger, declarations, domain, policy, by), is_trial=True)


def register(
    ledger: Ledger, domain: Domain, policy: PolicyDocument, by: str, *, fingerprint: str, domain_digest: str
) -> None:
    """Tie a file to its version, open the population's account and declare its overlaps: all or nothing."""

    def declare(declarations: Declarations) -> None:
        declarations.register(domain.population, domain.name, domain.version, fingerprint, domain_digest, by)
        _opening(ledger, declarations, domain, policy, by)

    ledger.together(declare)


def _opening(ledger: Ledger, declarations: Declarations, domain: Domain, policy: PolicyDocument, by: str) -> None:
    open_account(declarations, domain, policy, by)
    for other in overlaps_to_declare(ledger, domain):
        declarations.overlap(domain.population, other, by)


def declare_limits(
    declarations: Declarations,
    population: str,
    policy: PolicyDocument,
    by: str,
    parts: Container[str] = ("sensitive", "official_share", "waves", "analysts", "approval_above"),
) -> None:
    """Declare the policy's caps, share, schedule, quotas and approval; `parts` names which."""
    budget = policy.budget
    for account in _accounts_of(policy):
        for variable, cap in policy.sensitive.items() if "sensitive" in parts else ():
            declarations.cap(population, variable, cap.rho, _delta(cap, policy), by, account)
        if "official_share" in parts and policy.official_share:
            share = policy.official_share
            declarations.share(population, budget.rho * share, budget.delta * share, by, account)
        if "waves" in parts and policy.waves:
            even = budget.delta / len(policy.waves)
            waves = [(w.version, w.rho, even if w.delta is None else w.delta) for w in policy.waves]
            declarations.schedule(population, waves, by, account)
    for analyst, quota in policy.analysts.items() if "analysts" in parts else ():
        for account in _accounts_of(policy):
            declarations.quota(population, analyst, quota.rho, _delta(quota, policy), by, account)
    if "approval_above" in parts and policy.approval_above is not None:
        declarations.approval(population, policy.approval_above, by)


def _accounts_of(policy: PolicyDocument) -> tuple[str, ...]:
    """Return the master account, and those of the definitions that the policy opens by name."""
    opened = set(policy.allow.acknowledge) & set(registry.names("definitions"))
    accounts = {registry.get("definitions", name).account for name in opened}
    return tuple(account for account in ACCOUNTS if account == MASTER or account in accounts)


def ensure_quota(
    ledger: Ledger, population: str, analyst: str, policy: PolicyDocument, declarations: Declarations | None = None
) -> None:
    """Declare the policy's quota of an analyst who has none yet, by the ledger's `declarations` unless given."""
    if policy.default_quota is None and analyst not in policy.analysts:
        return
    if not analyst:
        raise QuotaExhausted("The policy gives every analyst a quota. Name the analyst (`analyst = …`).")
    quota = policy.quota(analyst)
    balances = ledger.reader.account(population).balances
    limited = {b.key.account for b in balances if b.key[2:] == (QUOTA, analyst) and b.is_limited}
    for account in _accounts_of(policy):
        # A quota that the custodian set in one account does not hold in the others.
        if quota is not None and account not in limited:
            submitter = declarations or ledger.declarations
            submitter.quota(population, analyst, quota.rho, _delta(quota, policy), "policy", account)


def declare_unit(ledger: Ledger, domain: Domain, by: str) -> None:
    """Record the unit that an account protects, rows or persons; the first data set decides."""
    population, unit = domain.population, domain.neighbours.unit
    if _unit_of(ledger, population) is None:
        ledger.declarations.note(UNIT_NOTE, {"unit": unit}, by, population)
    # Read again: of two that were written at the same moment, the first line decides.
    known = _unit_of(ledger, population)
    if known != unit:
        raise LedgerMismatch(
            f"The account of {population!r} protects one {known}, this document protects one {unit}. If the data are "
            "about the same people, declare the same [unit] (`id` names the column that tells them apart) and "
            "register again; another population name is for other people only, because it would give the same people "
            "a second budget.",
            known=known,
            received=unit,
        )


def overlaps_to_declare(ledger: Ledger, domain: Domain) -> tuple[str, ...]:
    """Return the overlapping populations that are not declared yet; refuses those with another unit."""
    declared = ledger.reader.overlaps(domain.population)
    others = tuple(other for other in dict.fromkeys(domain.overlaps) if other not in declared)
    for other in others:
        unit = _unit_of(ledger, other)
        if unit is not None and unit != domain.neighbours.unit:
            raise LedgerMismatch(
                f"The account of {other!r} protects one {unit}, this document protects one {domain.neighbours.unit}: "
                "persons who are in both are protected by neither account alone. Declare the same [unit] in both.",
                known=unit,
                received=domain.neighbours.unit,
            )
    return others


def _unit_of(ledger: Ledger, population: str) -> str | None:
    notes = ledger.reader.notes(population, UNIT_NOTE)
    return str(notes[0].body["payload"]["unit"]) if notes else None


def _delta(quota: QuotaPart, policy: PolicyDocument) -> Fraction:
    return policy.budget.delta if quota.delta is None else quota.delta
