"""The attacks that can be shown, found in their package."""

import importlib
import pkgutil

from dalenius_lab import demonstrations
from dalenius_lab.attacks.result import AttackResult


def attacks() -> tuple[str, ...]:
    """Names of the attacks."""
    names = (module.name for module in pkgutil.iter_modules(demonstrations.__path__))
    return tuple(sorted(name for name in names if not name.startswith("_")))


def demonstrate(name: str) -> tuple[AttackResult, ...]:
    """What an attack gains on a broken server, and on ours."""
    module = importlib.import_module(f"dalenius_lab.demonstrations.{name}")
    results: tuple[AttackResult, ...] = module.demonstrate()
    return results
