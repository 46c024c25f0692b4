"""The reference page of the Python library, made from the public names themselves: signatures, and what docstrings say.

`make docs` puts it beside the written pages, so that it never says what the names do not.
"""

import dataclasses
import inspect
import re
from types import ModuleType
from typing import Any

import dalenius
from dalenius import errors, inference
from dalenius.core.estimate import Interval, TestResult
from dalenius.core.plan import TablePlan
from dalenius.core.release import Table
from dalenius.ledger.account import Account
from dalenius.ledger.declarations import Declarations
from dalenius.ledger.reader import LedgerReader
from dalenius.ledger.statement import Statement

HEAD = """# Python library

Every public name, in the order in which data flow. Made from the names themselves by `make docs`.

`import dalenius` is fast: each name is imported when it is first used. Everything is typed (`py.typed`). Results print themselves in two lines, show
themselves as a table in a notebook, and most draw themselves: [work in a notebook](../how-to/work-in-a-notebook.md).
"""
# What calls return, so that readers meet it, though nobody makes one by hand.
RETURNED = (TablePlan, Table, Interval, TestResult, Account, Statement, LedgerReader, Declarations)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def made() -> str:
    """The whole page."""
    parts = [HEAD]
    for name in dalenius.__all__:
        public = getattr(dalenius, name)
        if isinstance(public, ModuleType):
            parts.append(_module(name, public))
        elif not name.startswith("__"):
            parts.append(_entry(name, public, "##"))
    parts.append("## What calls return\n\n" + "\n".join(_entry(one.__name__, one, "###") for one in RETURNED))
    return "\n".join(parts)


def _module(name: str, module: ModuleType) -> str:
    if module is errors:
        tree = inspect.cleandoc(module.__doc__ or "")
        return f"## dalenius.{name}\n\n```text\n{tree}\n```\n"
    lines = [f"## dalenius.{name}\n", f"{_first(module)}\n"]
    for inner in inference.__all__:
        lines.append(_entry(f"{name}.{inner}", getattr(module, inner), "###"))
    return "\n".join(lines)


def _entry(name: str, public: Any, mark: str) -> str:
    lines = [f"{mark} {name}\n"]
    if inspect.isclass(public):
        lines += [f"{_doc(public)}\n", *_members(public)]
    else:
        lines += [f"```text\n{name}{_signature(public)}\n```\n", f"{_doc(public)}\n"]
    return "\n".join(lines)


def _members(kind: type) -> list[str]:
    """Fields, properties and methods that the class itself states, and a docstring explains."""
    rows = []
    if dataclasses.is_dataclass(kind):
        names = ", ".join(f"`{field.name}`" for field in dataclasses.fields(kind) if not field.name.startswith("_"))
        rows.append(f"Fields: {names}.\n")
    rows += ["| member | what it is |", "|---|---|"]
    for name, member in vars(kind).items():
        is_member = callable(member) or isinstance(member, property | classmethod | staticmethod)
        if name.startswith("_") or not is_member:
            continue
        inner = getattr(kind, name) if not isinstance(member, property) else member.fget
        said = _first(inner)
        if said:
            shown = f"`{name}`" if isinstance(member, property) else f"`{name}({_names(inner)})`"
            rows.append(f"| {shown} | {said.replace('|', '&#124;')} |")
    return [*rows, ""] if rows[-1] != "|---|---|" else [*rows[:-2], ""]


def _names(function: Any) -> str:
    """Parameters by name; those with a default may be left out."""
    words = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        sign = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        mark = "" if parameter.default is parameter.empty or sign else "=…"
        words.append(f"{sign}{parameter.name}{mark}")
    return ", ".join(words)


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parameters = [str(p).replace("typing.", "").replace("collections.abc.", "") for p in signature.parameters.values()]
    returned = inspect.formatannotation(signature.return_annotation).replace("typing.", "")
    words = [_ADDRESS.sub("", p).replace("pathlib.", "").replace("fractions.", "") for p in parameters]
    inside = ", ".join(words) if sum(map(len, words)) < 90 else "\n    " + ",\n    ".join(words) + ",\n"
    return f"({inside}) -> {returned.rpartition('.')[2]}"


def _doc(public: Any) -> str:
    """The docstring without its doctests."""
    text = inspect.getdoc(public) or ""
    return text.split("\n>>> ")[0].split("\n\nGuarantee")[0].strip()


def _first(public: Any) -> str:
    return " ".join(_doc(public).split("\n\n")[0].split())
