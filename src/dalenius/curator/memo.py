"""Same canonical request, same stored release, no new cost.

The key binds what was asked (the canonical request, the planner's defaults filled in), of what (declared domain and
the keyed fingerprint of the registered file), and how it is answered (law and parameters of every measurement). It
never depends on who is in a cell. The key is internal: it holds a keyed fingerprint and is not published.

A tighter proof lets the planner choose less noise for the same request. The key of a release holds its law, so the new plan
has another key; what was published under the old one still answers the request, for ever and for free. It is served only if
the request, the declared domain, the file and the rules that shape an answer are the same: everything that the old key
binds is recomputed, but for the law, which is read from the release itself.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from dalenius.core import registry
from dalenius.core.law import Censored, Law
from dalenius.core.plan import TablePlan
from dalenius.core.release import Release
from dalenius.ledger import Ledger
from dalenius.publish._document import from_json
from dalenius.spec.canonical import Canonical
from dalenius.spec.policy import PolicyDocument


def plan_digest(plan: TablePlan, policy: PolicyDocument) -> str:
    """Digest of what the plan will do: the law of every measurement, and the policy's rules that shape the answer.

    What is measured is in the canonical request; names of measurements follow its spelling and are left out.
    """
    return _digest(
        {
            "definition": plan.definition,
            "budget": plan.budget.to_dict(),
            "strategy": plan.strategy,
            "mechanism": plan.mechanism,
            "measurements": [m.law.to_dict() for m in plan.measurements],
            "law": plan.law.to_dict(),
            "rules": _shaping(policy),
        }
    )


def release_digest(release: Release, policy: PolicyDocument) -> str:
    """`plan_digest` of the plan that a stored release was made by, if these rules were in force."""
    made = release.provenance
    return _digest(
        {
            "definition": made.definition,
            "budget": dict(made.budget),
            "strategy": made.strategy,
            "mechanism": made.mechanism,
            "measurements": [_measured(block.law) for block in release.blocks],
            "law": release.law.to_dict(),
            "rules": _shaping(policy),
        }
    )


def _measured(law: Law) -> dict[str, object]:
    """The law of a measurement, where a rule hides a part of what it gave."""
    return law.additive.to_dict() if isinstance(law, Censored) else law.to_dict()


def _shaping(policy: PolicyDocument) -> dict[str, Any]:
    """The rules that shape an answer."""
    rules = policy.to_dict()
    shaping = {name: dict(rules[name]) for name in ("table", "show", "floors") if name in rules}
    if shaping.get("table", {}).get("unbiased"):
        # It refuses plans and shapes none, and older versions kept its text out of the key.
        del shaping["table"]["unbiased"]
    return {name: part for name, part in shaping.items() if part}


def memo_key(request_digest: str, domain_digest: str, fingerprint: str, plan: str) -> str:
    """The unique key of a release."""
    return _digest({"request": request_digest, "domain": domain_digest, "data": fingerprint, "plan": plan})


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def may_differ(plan: TablePlan) -> bool:
    """Whether an earlier version could have planned the same request with another law."""
    named = (("definitions", plan.definition), ("mechanisms", plan.mechanism))
    used = [registry.get(package, name) for package, name in named if name in registry.names(package)]
    return any(getattr(extension, "is_recalibrated", False) for extension in used)


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
