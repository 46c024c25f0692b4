"""Plans of plain documents, for tests and kits."""

from collections.abc import Mapping
from typing import Any

from dalenius.core.domain import Domain
from dalenius.core.plan import TablePlan
from dalenius.curator.planner import Planner
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument


def plan_of(
    domain: Domain,
    request: RequestDocument | Mapping[str, Any],
    policy: PolicyDocument | Mapping[str, Any] | None = None,
) -> TablePlan:
    """The plan of a request under a policy, by default the plain one."""
    document = request if isinstance(request, RequestDocument) else RequestDocument.from_dict(request)
    rules = policy if isinstance(policy, PolicyDocument) else PolicyDocument.from_dict(policy or {})
    return Planner(domain=domain, policy=rules).plan(document)
