"""A batch before it is written: the touched part of the state, and the lines that will follow the head."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Protocol

from dalenius.ledger.account import BalanceKey
from dalenius.ledger.entry import Entry, check_text, stamp
from dalenius.ledger.state import State


@dataclass(frozen=True, slots=True)
class Head:
    seq: int
    digest: str


class Needs(NamedTuple):
    """Names of what a command must see to decide; of `spenders` what their own releases have spent."""

    populations: frozenset[str] = frozenset()
    balances: frozenset[BalanceKey] = frozenset()
    keys: frozenset[str] = frozenset()
    entries: frozenset[str] = frozenset()
    datasets: frozenset[str] = frozenset()
    checks: frozenset[str] = frozenset()
    spenders: frozenset[str] = frozenset()

    @classmethod
    def of_all(cls, parts: Iterable["Needs"]) -> "Needs":
        needs = list(parts)
        if len(needs) == 1:
            return needs[0]
        return cls(*(frozenset(chain.from_iterable(names)) for names in zip(*needs, strict=True)))

    @property
    def texts(self) -> Iterable[str]:
        names = (self.populations, self.keys, self.entries, self.datasets, self.checks, self.spenders)
        return chain(*names, *self.balances)


class Draft:
    """Commands decide against `state` and emit lines; nothing here touches the store."""

    def __init__(self, state: State, head: Head, now: float) -> None:
        self.before = state
        self.state: State = state.copy()
        self.head = head
        self.tip = head
        self.now = now
        self.at: str = stamp(now)
        self.lines: list[Entry] = []
        self.documents: dict[str, bytes] = {}
        self._unsealed: Entry | None = None

    def emit(self, kind: str, *, population: str, by: str, body: Mapping[str, Any], text: str = "") -> Entry:
        check_text(population, by, *[value for value in body.values() if isinstance(value, str)])
        entry = Entry.write(self.tip.seq + 1, kind, population, self.at, by, body, self.tip.digest, text)
        self.state.fold(entry)
        self.lines.append(entry)
        self.tip = Head(entry.seq, entry.digest)
        return entry

    def seal(self, state: str) -> None:
        """Name the state after the segment in its last line."""
        self._unsealed = self.lines[-1]
        self.lines[-1] = self._unsealed.sealed(state)
        self.tip = Head(self.tip.seq, self.lines[-1].digest)

    def result(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(map(self.result, result))
        return self.lines[-1] if result is not None and result is self._unsealed else result


class Command(Protocol):
    """One change to the ledger. `decide` raises before it emits a line, or not at all."""

    @property
    def needs(self) -> Needs:
        """What must be loaded first."""

    def decide(self, draft: Draft) -> Any:
        """Emit lines and return the result, or raise."""


class Submission:
    """A command with its result; its thread is woken when it is done, or when it becomes the leader."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.needs: Needs = command.needs
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done: bool = False
        self.leads: bool = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self, seconds: float = -1) -> bool:
        """Wait until woken, or for so many seconds; whether it was woken."""
        return self._gate.acquire(timeout=seconds)

    def wake(self) -> None:
        self._gate.release()
