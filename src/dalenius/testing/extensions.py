"""The kits on what another distribution offers: one call for its tests, and what `dalenius check` lists.

>>> check_distribution("office-statistics")                               # doctest: +SKIP

Kits run on toy data, under a policy that allows nothing but the extension itself.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dalenius.core import registry
from dalenius.core.registry import Extension
from dalenius.testing import (
    adjustment_kit,
    combinations,
    definition_kit,
    engine_kit,
    error_kit,
    estimator_kit,
    format_kit,
    inference_kit,
    measurement_kit,
    mechanism_kit,
    method_kit,
    rule_kit,
    statistic_kit,
    strategy_kit,
)
from dalenius.testing.asking import naming

Kit = Callable[[Any, Path], object]


def _method(made: Any, folder: Path) -> None:
    method_kit.check(made, folder)
    error_kit.check(made, {})
    ledgers = (folder / f"rule-{number}.sqlite" for number in count())
    ignored, _ = rule_kit.findings(lambda policy: method_kit.opened(next(ledgers), policy), method=made.name)
    assert not ignored, f"the rule {ignored[0].rule} of a policy is not kept for {ignored[0].document}"


KITS: Mapping[str, Kit] = MappingProxyType(
    {
        "statistics": lambda made, _: statistic_kit.check(made),
        "mechanisms": lambda made, _: mechanism_kit.check(made),
        "definitions": lambda made, _: definition_kit.check(made),
        "measurements": lambda made, _: measurement_kit.check(made),
        "engines": lambda made, folder: engine_kit.check(engine_kit.factory_of(made, folder)),
        "methods": _method,
        "modifiers": lambda made, _: combinations.check(made),
        "estimators": lambda made, _: estimator_kit.check(made),
        "plans.margins.strategies": lambda made, _: strategy_kit.check(made.name),
        "postprocess": lambda made, _: adjustment_kit.check(made),
        "publish": format_kit.check,
        "inference.questions": lambda made, _: inference_kit.check(made),
    }
)
"""What is run on a member of each package; with a folder to write in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KitResult:
    """What the kit of its package says of an extension; no failure where it passes."""

    extension: Extension
    failure: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        judged = {"passes": not self.failure, "failure": self.failure, "seconds": round(self.seconds, 2)}
        return self.extension.to_dict() | {"is_unvetted": self.extension.is_unvetted} | judged


def run_kit(extension: Extension) -> KitResult:
    """Run the kit of its package on an extension; nothing that it does ends the program."""
    started = time.process_time()
    failure = extension.fault or _failure(extension)
    return KitResult(extension=extension, failure=failure, seconds=time.process_time() - started)


def _failure(extension: Extension) -> str:
    versions = {extension.distribution: extension.version}
    with (
        tempfile.TemporaryDirectory() as folder,
        naming(versions),
        registry.allowing(registry.Allowed.of(versions, is_unvetted=True)),
    ):
        made, fault = registry.load(extension)
        if fault:
            return fault
        try:
            KITS[extension.package](made, Path(folder))
        except AssertionError as failure:
            return f"its kit fails: {failure or 'an assertion without words'}"
        except (Exception, SystemExit) as error:
            return f"its kit ends with {type(error).__name__}: {error}"
    return ""


def check_distribution(name: str) -> tuple[KitResult, ...]:
    """Run the kits on everything that an installed distribution offers; raises `AssertionError` with what fails."""
    offers = [e for e in registry.installed() if e.distribution == registry.canonical_name(name)]
    assert offers, f"No distribution named {name!r} is installed that offers extensions."
    results = tuple(map(run_kit, offers))
    failures = [f"{each.extension.package} {each.extension}: {each.failure}" for each in results if each.failure]
    assert not failures, "; ".join(failures)
    return results
