"""The page of the Python library: which public names stand on it, in which order. mkdocstrings prints signatures and docstrings."""

import inspect
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

Every public name, in the order in which data flow.

`import dalenius` is fast: each name is imported when it is first used. Everything is typed (`py.typed`). Results print themselves in two lines, show
themselves as a table in a notebook, and most draw themselves: [work in a notebook](../how-to/work-in-a-notebook.md).
"""
# What calls return, so that readers meet it, though nobody makes one by hand.
RETURNED = (TablePlan, Table, Interval, TestResult, Account, Statement, LedgerReader, Declarations)


def made() -> str:
    """The whole page, for mkdocstrings to fill in."""
    parts = [HEAD]
    for name in dalenius.__all__:
        public = getattr(dalenius, name)
        if isinstance(public, ModuleType):
            parts.append(_module(name, public))
        elif not name.startswith("__"):
            parts.append(_entry(name, public, 2))
    parts.append("## What calls return\n\n" + "\n".join(_entry(one.__name__, one, 3) for one in RETURNED))
    return "\n".join(parts)


def _module(name: str, module: ModuleType) -> str:
    if module is errors:
        tree = inspect.cleandoc(module.__doc__ or "")
        return f"## dalenius.{name}\n\n```text\n{tree}\n```\n"
    entries = [_entry(f"{name}.{inner}", getattr(module, inner), 3) for inner in inference.__all__]
    return "\n".join([f"## dalenius.{name}\n\n{inspect.cleandoc(module.__doc__ or '')}\n", *entries])


def _entry(title: str, public: Any, level: int) -> str:
    """The object at the place where it is defined, under its public name."""
    return f"::: {public.__module__}.{public.__qualname__}\n    options:\n      heading: {title}\n      heading_level: {level}\n"
