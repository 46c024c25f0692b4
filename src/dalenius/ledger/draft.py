"""One batch in the making: the touched part of the state, and the lines that will follow the head."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

from dalenius.ledger.account import PurseKey
from dalenius.ledger.entry import Entry, check_text, stamp
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
    checks: frozenset[str] = frozenset()
    pasts: frozenset[str] = frozenset()

    @classmethod
    def of_all(cls, parts: Iterable["Needs"]) -> "Needs":
        """What several commands must see together."""
        needs = list(parts)
        if len(needs) == 1:
            return needs[0]
        return cls(
            populations=frozenset().union(*(n.populations for n in needs)),
            purses=frozenset().union(*(n.purses for n in needs)),
            keys=frozenset().union(*(n.keys for n in needs)),
            entries=frozenset().union(*(n.entries for n in needs)),
            datasets=frozenset().union(*(n.datasets for n in needs)),
            checks=frozenset().union(*(n.checks for n in needs)),
            pasts=frozenset().union(*(n.pasts for n in needs)),
        )

    @property
    def texts(self) -> Iterable[str]:
        """Every name by which the store will be asked."""
        names = (self.populations, self.keys, self.entries, self.datasets, self.checks, self.pasts)
        return chain(*names, *self.purses)


class Draft:
    """Commands decide against `state` and emit lines; nothing here touches the store."""

    def __init__(self, state: State, head: Head, now: float) -> None:
        self.before = state
        self.state = state.copy()
        self.head = head
        self.tip = head
        self.now = now
        self.at = stamp(now)
        self.lines: list[Entry] = []
        self.documents: dict[str, bytes] = {}
        self._unsealed: Entry | None = None

    def emit(self, kind: str, *, population: str, by: str, body: Mapping[str, Any], text: str | None = None) -> Entry:
        """Write the next line and fold it into the state."""
        check_text(population, by, *[value for value in body.values() if isinstance(value, str)])
        entry = Entry.write(
            seq=self.tip.seq + 1,
            kind=kind,
            population=population,
            at=self.at,
            by=by,
            body=body,
            previous=self.tip.digest,
            text=text,
        )
        self.state.fold(entry)
        self.lines.append(entry)
        self.tip = Head(entry.seq, entry.digest)
        return entry

    def seal(self, state: str) -> None:
        """Name the state that the segment leaves behind in its last line."""
        self._unsealed = self.lines[-1]
        self.lines[-1] = self._unsealed.sealed(state)
        self.tip = Head(self.tip.seq, self.lines[-1].digest)

    def answer(self, answer: Any) -> Any:
        """What a command answered, with the last line as it was sealed."""
        if isinstance(answer, tuple):
            return tuple(map(self.answer, answer))
        return self.lines[-1] if answer is not None and answer is self._unsealed else answer


class Command(Protocol):
    """One thing to be done to the ledger. `decide` raises before it emits, or not at all."""

    @property
    def needs(self) -> Needs:
        """What must be loaded first."""

    def decide(self, draft: Draft) -> Any:
        """Emit lines, or refuse."""


class Submission:
    """A command with its answer; whoever waits is woken when it is done, or when it is appointed to lead."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.needs = command.needs
        self.answer: Any = None
        self.error: BaseException | None = None
        self.is_done = False
        self.leads = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self, seconds: float = -1) -> bool:
        """Until somebody wakes us, or the time is over; whether we were woken."""
        return self._gate.acquire(timeout=seconds)

    def wake(self) -> None:
        """Let the waiting thread go on."""
        self._gate.release()
