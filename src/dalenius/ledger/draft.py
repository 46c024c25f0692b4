"""One batch in the making: the touched part of the state, and the lines that will follow the head."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dalenius.ledger.account import PurseKey
from dalenius.ledger.entry import Entry, stamp
from dalenius.ledger.state import State


@dataclass(frozen=True, slots=True)
class Head:
    """The last line of the chain."""

    seq: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a command must see to decide."""

    populations: frozenset[str] = frozenset()
    purses: frozenset[PurseKey] = frozenset()
    keys: frozenset[str] = frozenset()
    entries: frozenset[str] = frozenset()
    datasets: frozenset[str] = frozenset()

    def __or__(self, other: "Needs") -> "Needs":
        return Needs(
            populations=self.populations | other.populations,
            purses=self.purses | other.purses,
            keys=self.keys | other.keys,
            entries=self.entries | other.entries,
            datasets=self.datasets | other.datasets,
        )


class Draft:
    """Commands decide against `state` and emit lines; nothing here touches the store."""

    def __init__(self, state: State, head: Head, now: float) -> None:
        self.before = state
        self.state = state.copy()
        self.head = head
        self.tip = head
        self.now = now
        self.lines: list[Entry] = []
        self.documents: dict[str, bytes] = {}

    def emit(self, kind: str, *, population: str, by: str, body: Mapping[str, Any]) -> Entry:
        """Write the next line and fold it into the state."""
        entry = Entry.write(
            seq=self.tip.seq + 1,
            kind=kind,
            population=population,
            at=stamp(self.now),
            by=by,
            body=body,
            previous=self.tip.digest,
        )
        self.state.fold(entry)
        self.lines.append(entry)
        self.tip = Head(entry.seq, entry.digest)
        return entry


class Command(Protocol):
    """One thing to be done to the ledger. `decide` raises before it emits, or not at all."""

    @property
    def needs(self) -> Needs:
        """What must be loaded first."""

    def decide(self, draft: Draft) -> Any:
        """Emit lines, or refuse."""


@dataclass(slots=True)
class Job:
    """A command with its answer."""

    command: Command
    answer: Any = None
    error: BaseException | None = None
    is_done: bool = field(default=False)
