"""Faults made on purpose: the one way to plant them, for kits and attackers, which prove nothing unless they find them.

`Fault` puts something wrong in the place of one attribute of the product while a block runs; `planted` adds an
extension that was not there, as a file beside the others of its package. Neither changes a source file: wrong lines
that the *tests* must notice are another matter, since tests run in a process of their own on a changed copy of the tree
(`verify/mutants.toml`), and so are imports that the linter of layers must notice (`tests/architecture`).
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from textwrap import dedent
from types import BuiltinFunctionType
from typing import Any
from unittest.mock import patch

from dalenius.core import registry
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.sensitivity import Sensitivity

Wrong = Callable[..., Any]


@dataclass(frozen=True)
class Fault:
    """An attribute of a class or module (or of several that hold the same), and what is put there instead."""

    name: str
    where: Any
    attribute: str
    wrong: Callable[[Any], Any]

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Inside, the product has the fault."""
        places = self.where if isinstance(self.where, tuple) else (self.where,)
        wrong = self.wrong(getattr(places[0], self.attribute))
        with ExitStack() as planted:
            # What was worked out without the fault would hide it, and what is worked out with it must not stay.
            forget_results()
            planted.callback(forget_results)
            for place in places:
                planted.enter_context(patch.object(place, self.attribute, wrong))
            yield


def forget_results() -> None:
    """Empty every store of results that a function of the product keeps; which extensions there are stays known."""
    for name, module in list(sys.modules.items()):
        if name.startswith("dalenius.") and name != registry.__name__:
            for holder in (module, *(kind for kind in vars(module).values() if isinstance(kind, type))):
                for kept in list(vars(holder).values()):
                    if isinstance(clear := getattr(kept, "cache_clear", None), BuiltinFunctionType):
                        clear()


def with_neighbours(**other: Any) -> Callable[[Wrong], Wrong]:
    """The right answer for other neighbours."""
    return lambda right: lambda self, neighbours: right(self, replace(neighbours, **other))


def as_added(right: Wrong) -> Wrong:
    """A replaced unit priced as an added one."""

    def wrong(self: Any, neighbours: Neighbours) -> Any:
        price = right(self, replace(neighbours, relation=Relation.ADD_REMOVE))
        return replace(price, relation=neighbours.relation) if isinstance(price, PrivacyProfile) else price

    return wrong


def stated_as(part: Fraction) -> Callable[[Wrong], Wrong]:
    """A part of the true sensitivity, of the true price, or of the true change of a score."""

    def of(true: Any) -> Any:
        if isinstance(true, Sensitivity):
            return Sensitivity.norms(
                l0=true.l0, l1=part * true.l1, l2_squared=part**2 * true.l2_squared, linf=part * true.linf
            )
        if isinstance(true, PrivacyProfile):
            epsilon = None if true.epsilon is None else part * true.epsilon
            rho = None if true.rho is None else part**2 * true.rho
            return replace(true, sharpened=None, curve=None, epsilon=epsilon, rho=rho)
        return part * true

    return lambda right: lambda *arguments, **keys: of(right(*arguments, **keys))


@contextmanager
def planted(package: str, name: str, text: str) -> Iterator[None]:
    """Add the module `name` with this text to an extension package; nothing else is told of it."""
    root = registry.module_of(package)
    assert name not in registry.names(package), f"{package} has an extension {name!r}"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        root.__path__.append(folder)
        registry.forget()
        try:
            yield
        finally:
            root.__path__.remove(folder)
            sys.modules.pop(f"dalenius.{package}.{name}", None)
            vars(root).pop(name, None)
            sys.path_importer_cache.pop(folder, None)
            registry.forget()
