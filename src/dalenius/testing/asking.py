"""Plans of plain documents, for tests and kits."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from dalenius.core.domain import Domain
from dalenius.core.evidence import Level
from dalenius.core.plan import TablePlan
from dalenius.curator.planner import Planner
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument

_named: ContextVar[Mapping[str, str] | None] = ContextVar("distributions under test", default=None)


@contextmanager
def naming(versions: Mapping[str, str]) -> Iterator[None]:
    """Inside, the policies of kits allow the extensions of these distributions."""
    token = _named.set(versions)
    try:
        yield
    finally:
        _named.reset(token)


def with_named(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy that also allows what is under test."""
    versions = _named.get()
    opened = {} if versions is None else {"extensions": versions, "evidence": list(Level)}
    return {**policy, "allow": {**opened, **policy.get("allow", {})}}


def plan_of(
    domain: Domain,
    request: RequestDocument | Mapping[str, Any],
    policy: PolicyDocument | Mapping[str, Any] | None = None,
) -> TablePlan:
    """The plan of a request under a policy, by default the plain one."""
    rules = policy if isinstance(policy, PolicyDocument) else PolicyDocument.from_dict(with_named(policy or {}))
    planner = Planner(domain=domain, policy=rules)
    with planner.allowing():
        document = request if isinstance(request, RequestDocument) else RequestDocument.from_dict(request)
    return planner.plan(document)
