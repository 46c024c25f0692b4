"""Protected tables and estimates from confidential microdata: exact, accounted for, and ready for inference."""

from typing import TYPE_CHECKING

from dalenius.version import VERSION

__version__ = VERSION

# In the order in which data flow.
__all__ = [
    "describe",
    "table",
    "batch",
    "Request",
    "Curator",
    "Ledger",
    "Release",
    "Estimate",
    "save",
    "load",
    "inference",
    "errors",
    "__version__",
]

if TYPE_CHECKING:
    from dalenius import errors, inference
    from dalenius.core.estimate import Estimate
    from dalenius.core.release import Release
    from dalenius.curator.curator import Curator
    from dalenius.curator.drafting import describe
    from dalenius.ledger import Ledger
    from dalenius.publish import load, save
    from dalenius.spec.request import RequestDocument as Request
    from dalenius.spec.table import batch, table
else:
    # Imported on first use, so that `import dalenius` and --help stay fast.
    _HOMES = {
        "describe": "curator.drafting",
        "table": "spec.table",
        "batch": "spec.table",
        "Request": "spec.request:RequestDocument",
        "Curator": "curator.curator",
        "Ledger": "ledger",
        "Release": "core.release",
        "Estimate": "core.estimate",
        "save": "publish",
        "load": "publish",
        "inference": "",
        "errors": "",
    }

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module 'dalenius' has no attribute {name!r}")
        from dalenius.core.registry import module_of

        home, _, inner = _HOMES[name].partition(":")
        return getattr(module_of(home), inner or name) if home else module_of(name)


def __dir__() -> list[str]:
    return sorted(__all__)
