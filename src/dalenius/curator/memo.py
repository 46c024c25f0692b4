"""Same canonical request, same stored release, no new cost.

The key binds what was asked (the canonical request, the planner's defaults filled in), of what (declared domain and
the keyed fingerprint of the registered file), and how it is answered (law and parameters of every measurement). It
never depends on who is in a cell. The key is internal: it holds a keyed fingerprint and is not published.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from dalenius.core import registry
from dalenius.core.law import Censored, Law
from dalenius.core.plan import TablePlan
from dalenius.core.release import Release
from dalenius.ledger import Ledger
from dalenius.publish._document import from_json
from dalenius.spec.canonical import Canonical, method_of
from dalenius.spec.policy import PolicyDocument

_MOST_USUAL = 4


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
    # It refuses plans and shapes none.
    shaping.get("table", {}).pop("unbiased", None)
    return {name: part for name, part in shaping.items() if part}


def memo_key(request_digest: str, domain_digest: str, fingerprint: str, plan: str) -> str:
    """The unique key of a release."""
    return _digest({"request": request_digest, "domain": domain_digest, "data": fingerprint, "plan": plan})


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def spelled_otherwise(form: Canonical) -> Iterator[Canonical]:
    """The same question with keys of its method that say what leaving them out says, left out or written."""
    method, options = method_of(form.content), form.content["options"]
    if method not in registry.names("methods"):
        return
    fields = registry.get("methods", method).Parameters.model_fields
    usual = {name: field.default for name, field in fields.items() if field.default is not None}
    written = {name: _plain(value) for name, value in usual.items() if not isinstance(value, Fraction)}
    stated = {name: value for name, value in options.items() if written.get(name, ...) != value}
    for size in range(min(len(written), _MOST_USUAL) + 1):
        for names in combinations(sorted(written), size):
            spelling = stated | {name: written[name] for name in names if name not in stated}
            if spelling != options:
                yield replace(form, content=form.content | {"options": spelling})


def turned_round(form: Canonical) -> Canonical | None:
    """The same question with its two variables the other way round, where the answer is the same."""
    method, options = method_of(form.content), form.content["options"]
    is_method = method in registry.names("methods")
    if not is_method or not getattr(registry.get("methods", method), "is_symmetric", False):
        return None
    return replace(
        form,
        content=form.content | {"of": options["other"], "options": {**options, "other": form.content["of"]}},
    )


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def answered_otherwise(
    ledger: Ledger,
    plan: TablePlan,
    form: Canonical,
    policy: PolicyDocument,
    *,
    domain_digest: str,
    fingerprint: str,
) -> tuple[str, str] | None:
    """(key, plan digest) of a stored release of the same question in another spelling: one question has one number.

    Canonical forms stay as they are, so that whatever was stored is found under its own key first.
    """
    fixed = plan_digest(plan, policy)
    for other in spelled_otherwise(form):
        key = memo_key(other.decided(plan.mechanism, plan.strategy), domain_digest, fingerprint, fixed)
        if ledger.is_stored(key):
            return key, fixed
    turned = turned_round(form)
    if turned is None:
        return None
    decided = turned.decided(plan.mechanism, plan.strategy)
    dataset, version = form.content["dataset"], form.content["version"]
    for entry, key, digest in ledger.answered_plans(dataset, version, plan.definition):
        # The same is measured in another order, so that its plan has another digest.
        if key == memo_key(decided, domain_digest, fingerprint, digest):
            release = from_json(ledger.release(entry).document)
            return (key, digest) if release_digest(release, policy) == digest else None
    return None
