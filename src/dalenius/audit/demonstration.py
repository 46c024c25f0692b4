"""The attacks that can be shown, found in their package."""

import importlib

from dalenius.audit.attacks.result import AttackResult
from dalenius.core import registry


def attacks() -> tuple[str, ...]:
    """Names of the attacks."""
    return registry.names("audit.demonstrations")


def demonstrate(name: str) -> tuple[AttackResult, ...]:
    """What an attack gains on a broken server, and on ours."""
    module = importlib.import_module(f"dalenius.audit.demonstrations.{name}")
    results: tuple[AttackResult, ...] = module.demonstrate()
    return results
