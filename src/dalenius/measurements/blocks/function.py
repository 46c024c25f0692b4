"""A custodian's own function of a block: its source, by which it is named and which is all that is run.

What is run is the source text, never the function object: a fresh interpreter knows nothing of the data, the ledger or
the other blocks, and the digest that a ledger keeps is of all that was run.
"""

import ast
import builtins
import dis
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from textwrap import dedent
from types import CodeType, FunctionType, ModuleType
from typing import Any

from dalenius.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFunction:
    """The text of a function of a list of records, with the imports that it needs."""

    name: str
    source: str
    modules: tuple[str, ...]
    # What `from … import …` takes from them, of which some may be modules as well.
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "OwnFunction":
        """Refused unless its source says all: a plain `def`, whose other names are modules."""
        if not isinstance(function, FunctionType) or not function.__name__.isidentifier():
            raise ParameterError(
                "A function of your own is a plain def with a name of its own, not a lambda or a method.",
                name="function",
            )
        try:
            text = dedent(inspect.getsource(function))
            tree = ast.parse(text)
        except (OSError, TypeError, SyntaxError):
            raise ParameterError(
                f"The source of {function.__name__!r} cannot be read; write the function into a file.", name="function"
            ) from None
        if not isinstance(tree.body[0], ast.FunctionDef) or tree.body[0].decorator_list:
            raise ParameterError("A function of your own has no decorators.", name="function")
        header = _imports(function)
        source = header + text
        modules, names = _named_modules(ast.parse(source))
        return cls(name=function.__name__, source=source, modules=tuple(modules), names=tuple(names))

    @property
    def digest(self) -> str:
        """The name by which a request asks for it: its own, and the digest of its source."""
        return f"{self.name} sha256:{sha256(self.source.encode()).hexdigest()}"


def _imports(function: FunctionType) -> str:
    """Modules that the function knows from outside, as imports; anything else from outside is refused."""
    free = inspect.getclosurevars(function).nonlocals
    lines = []
    for name in sorted(_globals(function.__code__) | free.keys()):
        thing = free.get(name, function.__globals__.get(name))
        if isinstance(thing, ModuleType):
            lines.append(f"import {thing.__name__} as {name}\n")
        elif name not in (function.__name__, *dir(builtins)) or name in free:
            raise ParameterError(
                f"{function.__name__!r} uses {name!r} from outside; what it needs stands inside of it, but for "
                "modules.",
                name="function",
            )
    return "".join(lines)


def _globals(code: CodeType) -> set[str]:
    """Names that a function looks up outside of itself, and those of what is defined inside of it."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inside = (_globals(each) for each in code.co_consts if isinstance(each, CodeType))
    return own.union(*inside)


def _named_modules(tree: ast.AST) -> tuple[list[str], list[str]]:
    modules, names = dict[str, None](), dict[str, None]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules[node.module] = None
            names |= dict.fromkeys(f"{node.module}.{alias.name}" for alias in node.names)
    return list(modules), list(names)
