"""Extensions are found, never listed: one public object per module of an extension package.

The module's name is the extension's name; its public object is the first name in `__all__`.
"""

import importlib
import pkgutil
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any

from dalenius.errors import UnknownName

PACKAGES = (
    "statistics",
    "mechanisms",
    "definitions",
    "measurements",
    "engines",
    "methods",
    "methods.margins.strategies",
    "postprocess",
    "publish",
    "inference.questions",
)


def module_of(place: str) -> ModuleType:
    """Import a module or package of this library by its place, as `spec.table`: nobody else imports by a string."""
    return importlib.import_module(f"dalenius.{place}")


@cache
def names(package: str) -> tuple[str, ...]:
    """Names of the extensions in a package, without importing them."""
    root = module_of(package)
    return tuple(sorted(m.name for m in pkgutil.iter_modules(root.__path__) if not (m.ispkg or m.name.startswith("_"))))


@cache
def get(package: str, name: str) -> Any:
    """The public object of one extension."""
    if name not in names(package):
        raise UnknownName.among(package.removesuffix("s"), name, names(package))
    module = module_of(f"{package}.{name}")
    return getattr(module, module.__all__[0])


def every(package: str) -> MappingProxyType[str, Any]:
    """All extensions of a package, by name."""
    return MappingProxyType({name: get(package, name) for name in names(package)})


def view(kind: str, result: Any) -> Any:
    """Return what shows a result to people: `core` knows that there is such a thing, `shown` what it looks like."""
    return get("shown", kind)(result)


def forget() -> None:
    """Look again at the next question: extensions were added or removed while the program runs."""
    names.cache_clear()
    get.cache_clear()
