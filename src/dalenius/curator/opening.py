"""Opening a population's account: the policy's budget, quotas, caps and shares become ledger lines, once.

A population owns its budget. A second data set, or a new version, on the same population finds the account open and
brings nothing by itself; whatever changes later is the custodian's own line in the ledger.
"""

from fractions import Fraction

from dalenius.core.domain import Domain
from dalenius.errors import LedgerMismatch, QuotaExhausted
from dalenius.ledger import Ledger
from dalenius.ledger.account import ANALYST
from dalenius.ledger.charge import DATA_DEPENDENT, MASTER
from dalenius.spec.policy import PolicyDocument, QuotaPart

UNIT_NOTE = "unit"


def open_account(ledger: Ledger, domain: Domain, policy: PolicyDocument, by: str) -> bool:
    """Grant what the policy grants; False if the account was open already."""
    population = domain.population
    if population in ledger.populations():
        return False
    budget, note = policy.budget, "opening grant of the policy"
    relation = domain.neighbours.relation
    ledger.grant(population, relation, budget.rho, budget.delta, by, note)
    pages = (MASTER, DATA_DEPENDENT) if policy.allow.acknowledge else (MASTER,)
    for page in pages:
        if page != MASTER:
            ledger.grant(population, relation, budget.rho, budget.delta, by, note, page=page)
        for variable, cap in policy.sensitive.items():
            ledger.cap(population, variable, cap.rho, _delta(cap, policy), by, page=page)
        if policy.official_share:
            kept = policy.official_share
            ledger.share(population, budget.rho * kept, budget.delta * kept, by, page=page)
        if policy.waves:
            waves = [(w.version, w.rho, w.delta or budget.delta / len(policy.waves)) for w in policy.waves]
            ledger.schedule(population, waves, by, page=page)
    for analyst, quota in policy.analysts.items():
        set_quota(ledger, population, analyst, quota, policy, by)
    if policy.approval_above is not None:
        ledger.approval(population, policy.approval_above, by)
    return True


def set_quota(
    ledger: Ledger, population: str, analyst: str, quota: QuotaPart, policy: PolicyDocument, by: str
) -> None:
    """One analyst's quota inside the budget, on every page that the policy opens."""
    for page in (MASTER, DATA_DEPENDENT) if policy.allow.acknowledge else (MASTER,):
        ledger.quota(population, analyst, quota.rho, _delta(quota, policy), by, page=page)


def ensure_quota(ledger: Ledger, population: str, analyst: str, policy: PolicyDocument) -> None:
    """The policy's default quota for an analyst whom nobody gave one of their own."""
    if policy.default_quota is None and analyst not in policy.analysts:
        return
    if not analyst:
        raise QuotaExhausted("The policy gives every analyst a quota; say who asks (analyst = …).")
    quota = policy.quota(analyst)
    purses = ledger.account(population).purses
    known = {p.key.name for p in purses if p.key.kind == ANALYST and p.is_limited}
    if quota is not None and analyst not in known:
        set_quota(ledger, population, analyst, quota, policy, by="policy")


def declare_unit(ledger: Ledger, domain: Domain, by: str) -> None:
    """An account promises something to one kind of unit: rows, or persons. The first data set decides."""
    population, unit = domain.population, domain.neighbours.unit
    for entry in ledger.entries(population):
        if entry.kind == "note" and entry.body.get("kind") == UNIT_NOTE:
            known = entry.body["payload"]["unit"]
            if known != unit:
                raise LedgerMismatch(
                    f"The account of {population!r} protects one {known}; a data set that protects one {unit} has a"
                    " population of its own.",
                    known=known,
                    received=unit,
                )
            return
    ledger.note(UNIT_NOTE, {"unit": unit}, by, population)


def _delta(quota: QuotaPart, policy: PolicyDocument) -> Fraction:
    return policy.budget.delta if quota.delta is None else quota.delta
