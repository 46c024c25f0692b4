"""How much exact arithmetic one plan may take: counted in atoms of loss distributions, never in seconds.

A preview is free, so its work is bounded. The count is the same whoever asks and whatever was asked before: an atom counts each time
that a distribution is looked at; work that has a name counts once inside one limit, because it is done once. What a clock would say depends on the machine, and would make refusals differ between two.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MOST_ATOMS = 1 << 21
# Tables of a batch are looked for together, at several amounts: they may take so many times what one table may, however many they are.
BATCH = 4


class Exhausted(Exception):
    """The plan took more work than a preview may."""


_left: ContextVar[list[int] | None] = ContextVar("planning effort", default=None)
_named: ContextVar[set[Hashable] | None] = ContextVar("named planning effort", default=None)


@contextmanager
def limited(atoms: int = MOST_ATOMS) -> Iterator[None]:
    """Inside, `spend` raises `Exhausted` once so many atoms were counted, or as many as a limit around this one leaves."""
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
