"""How much exact arithmetic one plan may take: counted in atoms of loss distributions, never in seconds.

A preview is free, so its work is bounded. The count is the same whoever asks and whatever is cached: an atom counts each time
that a distribution is looked at. What a clock would say depends on the machine, and would make refusals differ between two.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MOST_ATOMS = 1 << 21


class Exhausted(Exception):
    """The plan took more work than a preview may."""


_left: ContextVar[list[int] | None] = ContextVar("planning effort", default=None)


@contextmanager
def limited(atoms: int = MOST_ATOMS) -> Iterator[None]:
    """Inside, `spend` raises `Exhausted` once so many atoms were counted, or as many as a limit around this one leaves."""
    outer = _left.get()
    start = atoms if outer is None else min(atoms, outer[0])
    own = [start]
    token = _left.set(own)
    try:
        yield
    finally:
        _left.reset(token)
        if outer is not None:
            outer[0] -= start - own[0]


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
