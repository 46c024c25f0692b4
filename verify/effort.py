"""Every large request of the kit of effort: a free preview is planned or refused within a second of processor time and 256 MB."""

from typing import Any

from dalenius.core import registry
from verify import _large_requests as large_requests
from verify._usage import Usage

_SLOWEST = 5


def run(*, quick: bool = False) -> dict[str, Any]:
    """Walk over all methods and strategies; quickly, every tenth case."""
    large_requests.warm()
    cases = [
        (name, case)
        for name in registry.names("methods")
        for case in large_requests.cases(registry.get("methods", name))
    ]
    cases += [("margins", case) for case in large_requests.strategy_cases()]
    taken: list[tuple[str, Usage]] = []
    broken: list[str] = []
    for name, case in cases[:: 10 if quick else 1]:
        try:
            taken.append((f"{name}, {case.name}, {case.people}", large_requests.check(case)))
        except AssertionError as error:
            broken.append(f"{name}: {str(error)[:300]}")
    taken.sort(key=lambda one: -one[1].seconds)
    return {
        "ok": bool(taken) and not broken,
        "cases": len(taken) + len(broken),
        "refused": sum(bool(usage.refusal) for _, usage in taken),
        "most_seconds": round(max(usage.seconds for _, usage in taken), 2),
        "most_megabytes": round(max(usage.megabytes for _, usage in taken)),
        "slowest": {name: round(usage.seconds, 2) for name, usage in taken[:_SLOWEST]},
        "broken": broken,
    }
