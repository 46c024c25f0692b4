"""How much a document may hold and how much work a plan may take: the bounds of every parser and planner, and the count
of the work.

A preview is free and open to everybody, so that its work is bounded before it is done. Bounds are counts and never
seconds: a refusal is the same on every machine, whoever asks and whatever was asked before. Work of a plan is counted
in atoms of loss distributions: an atom counts each time that a distribution is looked at; work that has a name counts
once inside one limit, because it is done once.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import ceil

ATOMS = 1 << 21
"""Work of one plan, in atoms of loss distributions; other work is counted in atoms that take as long."""
BATCH = 4
"""How many times `ATOMS` the tables of one batch may take together, however many they are."""
PRODUCTS = 1500
"""Products of floats inside a matrix that take as long as one atom."""

AXES = 20
"""Axes of one table."""
MARGINS = 1024
"""Margins that one request lists, or that all margins of its axes are."""
REPLICATES, REPLICATES_OF_RHO, REPLICATES_OF_ROWS = 200, 1000, 100
"""Replicates of a bootstrap that are priced where a unit has one row, the same for a budget in rho, and where a unit
has several rows.
"""
RANGES = 1000
"""Ranges or boxes that one request lists."""
ENTRIES = 8_000_000
"""Entries of one matrix that a plan holds."""
WORD = 1000
"""Characters of one number or bare key of TOML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """What one document may hold before it is parsed; None where the parser needs no bound.

    `size` is in bytes. `depth` counts lists and tables inside each other, `items` what one of them holds, `values` what
    all of them hold together, and `dots` those of one dotted key of TOML, whose cost grows with their square.
    """

    size: int
    depth: int | None = None
    items: int | None = None
    values: int | None = None
    dots: int | None = None


NETWORK_JSON = DocumentLimits(size=1_000_000, depth=12, items=20_000, values=100_000)
"""Documents in JSON that somebody sends: 8,000 codes of regions fit twice."""
NETWORK_TOML = DocumentLimits(size=64_000, depth=12, items=20_000, values=100_000, dots=20)
"""Documents in TOML that somebody sends: its parser is slower and needs more memory."""
FORM = DocumentLimits(size=256_000, items=5_000)
"""Fields of a form or an address that a browser sends."""
LOCAL = DocumentLimits(size=50_000_000, dots=20)
"""Documents that a user of the library or the command line reads from a file."""


class Exhausted(Exception):
    """The plan took more work than a preview may."""


_left: ContextVar[list[int] | None] = ContextVar("planning effort", default=None)
_named: ContextVar[set[Hashable] | None] = ContextVar("named planning effort", default=None)


@contextmanager
def limited(atoms: int = ATOMS) -> Iterator[None]:
    """Raise `Exhausted` inside once so many atoms were spent, or as many as an outer limit leaves."""
    outer, names = _left.get(), _named.get()
    start = atoms if outer is None else min(atoms, outer[0])
    own = [start]
    token, named = _left.set(own), _named.set(set() if names is None else names)
    try:
        yield
    finally:
        _left.reset(token)
        _named.reset(named)
        if outer is not None:
            outer[0] -= start - own[0]


def is_limited() -> bool:
    """Whether work is counted here."""
    return _left.get() is not None


def spend_once(name: Hashable, atoms: int) -> None:
    """Count work that is kept under a name, the first time inside a limit."""
    names = _named.get()
    if names is None or name not in names:
        spend(atoms)
        if names is not None:
            names.add(name)


@contextmanager
def counted() -> Iterator[list[int]]:
    """Inside, the same limit holds; afterwards the list says how much it took, for the caller to spend."""
    outer, total = _left.get(), [0]
    own = [1 << 62 if outer is None else outer[0]]
    start, token = own[0], _left.set(own)
    try:
        yield total
    finally:
        _left.reset(token)
        total[0] = start - own[0]


def spend(atoms: int) -> None:
    """Count work; outside of a limit nothing is counted."""
    left = _left.get()
    if left is not None:
        left[0] -= atoms
        if left[0] < 0:
            raise Exhausted


def spend_products(number: float) -> None:
    """Count work on matrices, before it is done: how many products of floats it takes."""
    spend(ceil(number / PRODUCTS))
