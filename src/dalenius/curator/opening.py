"""Opening a population's account: the policy's budget, quotas, caps and shares become ledger lines, once.

A population owns its budget. A second data set, or a new version, on the same population finds the account open and
brings nothing by itself; whatever changes later is the custodian's own line in the ledger.
"""

from fractions import Fraction

from dalenius.core.domain import Domain
from dalenius.ledger import Ledger
from dalenius.ledger.charge import DATA_DEPENDENT
from dalenius.spec.policy import PolicyDocument, QuotaPart


def open_account(ledger: Ledger, domain: Domain, policy: PolicyDocument, by: str) -> bool:
    """Grant what the policy grants; False if the account was open already."""
    population = domain.population
    if population in ledger.populations():
        return False
    budget, note = policy.budget, "opening grant of the policy"
    relation = domain.neighbours.relation
    ledger.grant(population, relation, budget.rho, budget.delta, by, note)
    if policy.allow.acknowledge:
        ledger.grant(population, relation, budget.rho, budget.delta, by, note, page=DATA_DEPENDENT)
    for analyst, quota in policy.analysts.items():
        set_quota(ledger, population, analyst, quota, policy, by)
    for variable, cap in policy.sensitive.items():
        ledger.cap(population, variable, cap.rho, _delta(cap, policy), by)
    if policy.official_share:
        kept = policy.official_share
        ledger.share(population, budget.rho * kept, budget.delta * kept, by)
    if policy.approval_above is not None:
        ledger.approval(population, policy.approval_above, by)
    return True


def set_quota(
    ledger: Ledger, population: str, analyst: str, quota: QuotaPart, policy: PolicyDocument, by: str
) -> None:
    """One analyst's quota inside the budget."""
    ledger.quota(population, analyst, quota.rho, _delta(quota, policy), by)


def ensure_quota(ledger: Ledger, population: str, analyst: str, policy: PolicyDocument) -> None:
    """The policy's default quota for an analyst whom nobody gave one of their own."""
    quota = policy.quota(analyst)
    if not analyst or quota is None:
        return
    known = {purse.key.name for purse in ledger.account(population).purses if purse.is_limited}
    if analyst not in known:
        set_quota(ledger, population, analyst, quota, policy, by="policy")


def _delta(quota: QuotaPart, policy: PolicyDocument) -> Fraction:
    return policy.budget.delta if quota.delta is None else quota.delta
