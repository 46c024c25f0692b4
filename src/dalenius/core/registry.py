"""Extensions are found, never listed: one public object per module of an extension package.

The module's name is the extension's name. Its public object has the same name, in capitals or as a class; one of
another name stands first in `__all__`.

Other distributions add extensions by entry points of the group `dalenius.<package>`. Installed is not allowed: an
extension exists only where a policy names its distribution and exact version (`Allowed`). A name of the project is
never replaced, and a choice that a request leaves open is made among the project's own (`own`).
"""

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from dalenius.errors import UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "statistics": "core.contracts:Statistic",
        "mechanisms": "core.contracts:Mechanism",
        "definitions": "core.contracts:Definition",
        "measurements": "core.contracts:Measurement",
        "engines": "core.contracts:Engine",
        "methods": "spec.method:Method",
        "modifiers": "plans.modifier:Modifier",
        "estimators": "algebra.estimator:Estimator",
        "plans.margins.strategies": "plans.margins.setting:ListStrategy plans.margins.setting:LevelStrategy",
        "postprocess": "core.contracts:Adjustment",
        "publish": "publish:Format",
        "inference.questions": "inference.question:InferenceQuestion",
    }
)
"""Every extension package, and where the contract of its members stands; of several they satisfy one."""
CLOSED = ("plans.counts",)
"""Packages whose members are found in the same way, but only the project's own: others add a method instead."""
UNPRICED = ("methods", "estimators", "postprocess", "publish", "inference.questions")
"""Packages whose members state neither a price nor a distribution of noise: those of all others are unvetted."""
GROUP = "dalenius."
"""What the group of an entry point begins with, before the package."""
VERBS = "verbs"
"""The group of verbs of the command line, which are no extensions of a package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What an installed distribution offers. One with a `fault` is never used, whatever a policy allows."""

    package: str
    name: str
    distribution: str
    version: str
    entry: "EntryPoint" = field(repr=False)
    fault: str = ""

    @property
    def is_unvetted(self) -> bool:
        """Whether it changes prices or distributions, so that its claims count as weak evidence."""
        return self.package not in UNPRICED

    def to_dict(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in ("package", "name", "distribution", "version")}

    def __str__(self) -> str:
        return f"{self.name!r} of {self.distribution} {self.version}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which extensions a policy allows: exact versions by distribution, and the names whose weak evidence it opens."""

    versions: frozenset[tuple[str, str]] = frozenset()
    is_unvetted: bool = False
    acknowledged: frozenset[str] = frozenset()

    @classmethod
    def of(cls, versions: Mapping[str, str], *, is_unvetted: bool = False, acknowledged: Any = ()) -> "Allowed":
        """Allow these versions; distributions are compared as installers compare their names."""
        pairs = frozenset((canonical_name(name), version) for name, version in versions.items())
        return cls(pairs, is_unvetted, frozenset(acknowledged))

    def refusal(self, extension: Extension) -> str:
        """Return why an extension is not allowed; empty where it is."""
        named = dict(self.versions).get(extension.distribution)
        if named is None:
            return f"[allow.extensions] does not name {extension.distribution}."
        if named != extension.version:
            return f"[allow.extensions] names version {named} of {extension.distribution}."
        if extension.is_unvetted and not (self.is_unvetted or extension.name in self.acknowledged):
            return f'its claims are unvetted: [allow] evidence must hold "none", or acknowledge {extension.name!r}.'
        return ""


# What the policies of this process allow, for readers of requests and releases; and what one policy allows, inside.
_admitted: set[Allowed] = set()
_inside: ContextVar[tuple[Allowed, set[Extension]] | None] = ContextVar("allowed extensions", default=None)


def canonical_name(distribution: str) -> str:
    """Return the name of a distribution as installers compare it.

    >>> canonical_name("Office_Gini")
    'office-gini'
    """
    return re.sub(r"[-_.]+", "-", distribution).lower()


def module_of(place: str) -> ModuleType:
    """Import a module or package of this library by its place, as `spec.table`: nobody else imports by a string."""
    return importlib.import_module(f"dalenius.{place}")


def admit(allowed: Allowed) -> None:
    """From now on what a policy allows can be read in this process: requests, documents, words.

    Plans are made inside `allowing`, by one policy alone; whatever is admitted there ends with it.
    """
    if allowed.versions and _inside.get() is None:
        _admitted.add(allowed)


@contextmanager
def allowing(allowed: Allowed) -> Iterator[set[Extension]]:
    """Inside, the extensions are those that one policy allows; yields those that were looked up by their names."""
    outer, used = _inside.get(), set[Extension]()
    token = _inside.set((allowed, used))
    try:
        yield used
    finally:
        _inside.reset(token)
        if outer is not None:
            outer[1].update(used)


@cache
def _modules(package: str) -> Mapping[str, bool]:
    """Return every module of a package, and whether it is an extension; nothing is imported."""
    imported = sys.modules.get(f"dalenius.{package}")
    place = Path(__file__).parents[1].joinpath(*package.split("."))
    modules = pkgutil.iter_modules([str(place)] if imported is None else imported.__path__)
    return {module.name: not (module.ispkg or module.name.startswith("_")) for module in modules}


@cache
def _own_names(package: str) -> tuple[str, ...]:
    return tuple(sorted(name for name, is_extension in _modules(package).items() if is_extension))


@cache
def installed() -> tuple[Extension, ...]:
    """Everything that installed distributions offer, in order; nothing of it is imported."""
    from importlib.metadata import distributions

    offers: dict[str, dict[tuple[str, str], Extension]] = {}
    for distribution in distributions():
        try:
            entries = [e for e in distribution.entry_points if e.group.startswith(GROUP) and e.group != GROUP + VERBS]
            name, version = (canonical_name(distribution.name), distribution.version) if entries else ("", "")
        except Exception:
            # Metadata that cannot be read offer nothing.
            continue
        # Of several that are installed under one name the first is imported.
        if entries and name not in offers:
            offers[name] = {}
            for entry in entries:
                key = (entry.group.removeprefix(GROUP), entry.name)
                fault = "it is offered twice" if key in offers[name] else _fault_of_name(*key)
                offers[name][key] = Extension(
                    package=key[0], name=key[1], distribution=name, version=version, entry=entry, fault=fault
                )
    return tuple(extension for name in sorted(offers) for _, extension in sorted(offers[name].items()))


def _fault_of_name(package: str, name: str) -> str:
    if package not in PACKAGES:
        return f"there is no extension point {package!r}; there are {', '.join(PACKAGES)}"
    if not name.isidentifier() or name.startswith("_"):
        return "its name is not a public name of Python"
    return f"the project itself has {package}.{name}" if name in _modules(package) else ""


def _added(package: str) -> Mapping[str, Extension]:
    inside = _inside.get()
    if inside is None:
        return _allowed_by(package, frozenset(_admitted)) if _admitted else {}
    return _allowed_by(package, frozenset((inside[0],))) if inside[0].versions else {}


@cache
def _allowed_by(package: str, allowances: frozenset[Allowed]) -> Mapping[str, Extension]:
    offered = [e for e in installed() if e.package == package and not e.fault]
    allowed = [e for e in offered if not all(allowance.refusal(e) for allowance in allowances)]
    taken = [extension.name for extension in allowed]
    # Which of two distributions is meant by one name, nobody says.
    return {e.name: e for e in allowed if taken.count(e.name) == 1}


def origin(package: str, name: str) -> Extension | None:
    """Return the extension of another distribution that a name means here; None for one of the project."""
    return None if name in _own_names(package) else _added(package).get(name)


def names(package: str) -> tuple[str, ...]:
    """Names of the extensions in a package, the project's own first, without importing them."""
    return (*_own_names(package), *added) if (added := _added(package)) else _own_names(package)


@cache
def _get_own(package: str, name: str) -> Any:
    module = module_of(f"{package}.{name}")
    return getattr(module, public_name(module))


def public_name(module: ModuleType) -> str:
    """Return the name of the public object of an extension's module."""
    name = module.__name__.rpartition(".")[2]
    spelled: Sequence[str] = getattr(module, "__all__", (name.upper(), name.title().replace("_", "")))
    return next(each for each in spelled if hasattr(module, each))


def get(package: str, name: str) -> Any:
    if name in _own_names(package):
        return _get_own(package, name)
    extension = _added(package).get(name)
    if extension is None or load(extension)[1]:
        raise unknown(package, name)
    if (inside := _inside.get()) is not None:
        inside[1].add(extension)
    return load(extension)[0]


@cache
def load(extension: Extension) -> tuple[Any, str]:
    """Import what an extension offers; return it with the reason why it cannot be used, or with none."""
    from importlib.metadata import version

    try:
        if version(extension.distribution) != extension.version:
            return None, f"version {version(extension.distribution)} was installed while the program runs"
        made = extension.entry.load()
        name = getattr(made, "name", extension.name)
        lacking = lacks(made, extension.package)
    except (Exception, SystemExit) as error:
        return None, f"it cannot be imported ({type(error).__name__}: {error})"
    if lacking:
        named = " or ".join(contract.__name__ for contract in contracts(extension.package))
        return None, f"it lacks {', '.join(lacking)} of the contract {named}"
    if isinstance(name, str) and name != extension.name and extension.package != "publish":
        return None, f"it calls itself {name!r}"
    return made, ""


def contracts(package: str) -> tuple[type, ...]:
    """Return the contract of the members of a package; where there are several, they satisfy one of them."""
    places = (place.partition(":") for place in PACKAGES[package].split())
    return tuple(getattr(module_of(module), name) for module, _, name in places)


def parts(contract: type) -> tuple[str, ...]:
    kinds = [kind for kind in contract.__mro__ if kind.__module__.startswith("dalenius.")]
    members = {name for kind in kinds for name in (*vars(kind), *vars(kind).get("__annotations__", {}))}
    return tuple(sorted(name for name in members if not name.startswith("_") or name == "__call__"))


def lacks(made: Any, package: str) -> tuple[str, ...]:
    lacking = []
    for contract in contracts(package):
        # A class that inherits a field without a value does not state it.
        fields = getattr(made, "__dataclass_fields__", {}).keys() - getattr(contract, "__dataclass_fields__", {}).keys()
        lacking.append(tuple(part for part in parts(contract) if not (hasattr(made, part) or part in fields)))
    return min(lacking, key=len)


def unknown(package: str, name: str, kind: str = "") -> UnknownName:
    """Return the refusal of a name: what there is, and why an installed extension of this name is not."""
    refusal = UnknownName.among(kind or package.removesuffix("s"), name, names(package))
    refusal.message += not_allowed(package, name)
    refusal.args = (refusal.message,)
    return refusal


def not_allowed(package: str, name: str = "") -> str:
    """Return sentences on extensions of a package (of this name) that are installed and that nothing uses here."""
    inside = _inside.get()
    allowances = (sorted(_admitted, key=repr) if inside is None else [inside[0]]) or [Allowed()]
    unused = [e for e in installed() if e.package == package and name in ("", e.name) and not _is_used(e)]
    return "".join(f" {_why(extension, allowances)}" for extension in unused)


def _is_used(extension: Extension) -> bool:
    return origin(extension.package, extension.name) == extension and not load(extension)[1]


def _why(extension: Extension, allowances: list[Allowed]) -> str:
    """Return why an installed extension is not used, in one sentence."""
    if extension.fault:
        return f"{extension} is installed and cannot be used: `dalenius check` says why."
    reasons = [allowance.refusal(extension) for allowance in allowances]
    if all(reasons):
        return f"{extension} is installed but not allowed by the policy: {reasons[0]}"
    if load(extension)[1]:
        return f"{extension} is installed and cannot be used: `dalenius check` says why."
    return f"{extension} is installed, and so is another one of this name; a policy allows one of them."


def own(package: str) -> MappingProxyType[str, Any]:
    """The project's own extensions of a package, by name: a choice that nobody named is made among these."""
    return MappingProxyType({name: _get_own(package, name) for name in _own_names(package)})


def every(package: str) -> MappingProxyType[str, Any]:
    """All extensions of a package, by name, the project's own first; what cannot be imported is left out."""
    loaded = {name: load(extension) for name, extension in _added(package).items()}
    return MappingProxyType({**own(package), **{name: made for name, (made, fault) in loaded.items() if not fault}})


def view(kind: str, result: Any) -> Any:
    """Return what shows a result to people: `core` knows that there is such a thing, `shown` what it looks like."""
    return get("shown", kind)(result)


def forget() -> None:
    """Look again at the next question: extensions were added or removed while the program runs."""
    _admitted.clear()
    for lookup in (_modules, _own_names, installed, _allowed_by, _get_own, load):
        lookup.cache_clear()
