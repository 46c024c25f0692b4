"""Protected tables and estimates from confidential microdata: exact, accounted for, and ready for inference."""

from typing import TYPE_CHECKING, Any

from dalenius.version import VERSION

if TYPE_CHECKING:
    from dalenius.curator.curator import Curator
    from dalenius.publish import load, save

__version__ = VERSION

# In the order in which data flow; imported on first use, so that `import dalenius` and --help stay fast.
_HOMES = {
    "Curator": "dalenius.curator.curator",
    "Ledger": "dalenius.ledger",
    "Release": "dalenius.core.release",
    "Estimate": "dalenius.core.estimate",
    "save": "dalenius.publish",
    "load": "dalenius.publish",
}

__all__ = ["Curator", "Ledger", "Release", "Estimate", "save", "load", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dalenius' has no attribute {name!r}")
