"""What was published of a request before its noise was chosen as it is today.

A tighter proof lets the planner choose less noise for the same request. The key of a release holds its law, so the new plan
has another key; what was published under the old one still answers the request, for ever and for free. It is served only if
the request, the declared domain, the file and the rules that shape an answer are the same: everything that the old key
binds is recomputed, but for the law, which is read from the release itself.
"""

from dalenius.core import registry
from dalenius.core.plan import TablePlan
from dalenius.curator.memo import memo_key, release_digest
from dalenius.ledger import Ledger
from dalenius.publish.to_json import from_json
from dalenius.spec.canonical import Canonical
from dalenius.spec.policy import PolicyDocument

# Laws that are calibrated by a tighter statement than in earlier versions.
_RECALIBRATED = ("truncated_laplace", "truncated_normal", "max_entropy", "custom_utility")


def may_differ(plan: TablePlan) -> bool:
    """Whether an earlier version could have planned the same request with another law."""
    return plan.definition == "probabilistic" or plan.mechanism in _RECALIBRATED


def published_before(
    ledger: Ledger,
    plan: TablePlan,
    form: Canonical,
    policy: PolicyDocument,
    *,
    domain_digest: str,
    fingerprint: str,
) -> tuple[str, str] | None:
    """(key, plan digest) of the oldest stored release that answers the request under another law, if there is one."""
    named = form.content["mechanism"]
    mechanisms = {plan.mechanism} if named else {plan.mechanism, *registry.names("mechanisms")}
    decided = [form.decided(mechanism, plan.strategy) for mechanism in sorted(mechanisms)]
    dataset, version = form.content["dataset"], form.content["version"]
    for entry, key, digest in ledger.answered_plans(dataset, version, plan.definition):
        if not any(key == memo_key(request, domain_digest, fingerprint, digest) for request in decided):
            continue
        release = from_json(ledger.release(entry).document)
        made = release.provenance
        # Noise that somebody named is not the answer to a request that leaves the choice to the planner.
        is_same = made.mechanism == plan.mechanism or made.request.get("mechanism") is None
        if is_same and release_digest(release, policy) == digest:
            return key, digest
    return None
