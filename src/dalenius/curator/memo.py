"""Same canonical request, same stored release, no new cost.

The key binds what was asked (the canonical request, the planner's defaults filled in), of what (declared domain and
the keyed fingerprint of the registered file), and how it is answered (law and parameters of every measurement). It
never depends on who is in a cell. The key is internal: it holds a keyed fingerprint and is not published.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from dalenius.core.plan import TablePlan
from dalenius.spec.policy import PolicyDocument


def plan_digest(plan: TablePlan, policy: PolicyDocument) -> str:
    """Digest of what the plan will do: the law of every measurement, extensions, and the rules that shape the answer.

    What is measured is in the canonical request; names of measurements follow its spelling and are left out.
    """
    rules = policy.to_dict()
    shaping = {name: dict(rules[name]) for name in ("table", "show", "floors") if name in rules}
    # It refuses plans and shapes none.
    shaping.get("table", {}).pop("unbiased", None)
    return _digest(
        {
            "definition": plan.definition,
            "budget": plan.budget.to_dict(),
            "strategy": plan.strategy,
            "mechanism": plan.mechanism,
            "measurements": [m.law.to_dict() for m in plan.measurements],
            "law": plan.law.to_dict(),
            "rules": {name: part for name, part in shaping.items() if part},
            **({"extensions": [extension.to_dict() for extension in plan.extensions]} if plan.extensions else {}),
        }
    )


def memo_key(request_digest: str, domain_digest: str, fingerprint: str, plan: str) -> str:
    return _digest({"request": request_digest, "domain": domain_digest, "data": fingerprint, "plan": plan})


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
