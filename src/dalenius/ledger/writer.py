"""One writer at a time: the thread that leads writes for all that wait, as one transaction and one chain segment."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from dalenius.errors import DaleniusError, InternalError, LedgerMismatch, StorageError
from dalenius.ledger.draft import Command, Draft, Head, Needs, Submission
from dalenius.ledger.entry import check_text
from dalenius.ledger.reserve import Busy
from dalenius.ledger.rows import Row
from dalenius.ledger.seal import Witness
from dalenius.ledger.store import ConnectionLost, Store, WriteConflict, apply, load

_MOST = 256
_ATTEMPTS = 200
_MOMENT = 0.003


class ReadOnly:
    def submit(self, command: Command) -> tuple[Any, Head]:
        raise LedgerMismatch(
            "This ledger was opened with its public key, to be read and verified; nothing is written to it."
        )


class Writer:
    """Group commit without a thread of its own.

    The first caller becomes the leader, writes for all that wait, and then appoints the next leader. `settled` is
    called with each segment that is on disk and the signature of its head, before any caller gets its result.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float], witness: Witness, settled: Callable[[Draft, str], None]
    ) -> None:
        self._store = store
        self._witness = witness
        self._clock = clock
        self._settled = settled
        self._waiting: deque[Submission] = deque()
        self._mutex = threading.Lock()
        self._has_leader = False
        self._usual = 1
        self._gathering: Submission | None = None
        self._pid = os.getpid()

    def submit(self, command: Command) -> tuple[Any, Head]:
        """Return the command's result and the head of its segment; raises what the command raised."""
        if os.getpid() != self._pid:
            raise InternalError("A ledger is not shared with a forked process; open it there again.")
        job = Submission(command)
        check_text(*job.needs.texts)
        try:
            with self._mutex:
                self._waiting.append(job)
                job.leads, self._has_leader = not self._has_leader, True
                if self._gathering is not None and len(self._waiting) >= self._usual:
                    self._gathering.wake()
                    self._gathering = None
            if not job.leads:
                job.wait()
            if not job.is_done:
                self._lead(job)
        except BaseException:
            self._leave(job)
            raise
        if job.error is not None:
            raise job.error
        result, head = job.result
        return result, head

    def _lead(self, leader: Submission) -> None:
        """Write one batch, which holds at least the leader's own job, and appoint the next leader."""
        self._gather(leader)
        with self._mutex:
            batch = tuple(self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST)))
        self._usual = len(batch)
        try:
            self._write(batch)
        finally:
            for job in batch:
                job.is_done = True
            self._appoint()
            for job in batch:
                if job is not leader:
                    job.wake()

    def _appoint(self) -> None:
        with self._mutex:
            successor = self._waiting[0] if self._waiting else None
            self._has_leader = successor is not None
            if successor is not None:
                successor.leads = True
                successor.wake()

    def _leave(self, job: Submission) -> None:
        """Withdraw a job whose thread was interrupted, if it is not written yet, and pass the lead on."""
        with self._mutex:
            if self._gathering is job:
                self._gathering = None
            is_waiting = job in self._waiting
            if is_waiting:
                self._waiting.remove(job)
        if is_waiting and job.leads:
            self._appoint()

    def _gather(self, leader: Submission) -> None:
        """Wait a moment for as many jobs as the last batch had: its callers tend to return together."""
        with self._mutex:
            if len(self._waiting) >= self._usual:
                return
            self._gathering = leader
        if leader.wait(_MOMENT):
            return
        with self._mutex:
            if self._gathering is leader:
                self._gathering = None
                return
        # The last one came just as the time ended, and the gate is open.
        leader.wait()

    def _write(self, batch: tuple[Submission, ...]) -> None:
        """Settle together; after an unforeseen error each alone, so that no job fails for another."""
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    return self._settle(batch)
                except WriteConflict:
                    # Processes wait for different times, so that they do not meet again.
                    time.sleep(0.0005 * min(attempt + 1, 20) * (1 + os.getpid() % 7))
            raise InternalError("The ledger is too busy; nothing was written.")
        except ConnectionLost as error:
            for job in batch:
                job.error = error
        except Exception as error:
            if len(batch) > 1:
                for job in batch:
                    job.error = ConnectionLost("The thread that wrote was interrupted.")
                for job in batch:
                    self._write((job,))
            else:
                batch[0].error = error
        except BaseException:
            # Only the leader was interrupted; the others check again whether theirs was written.
            for job in batch:
                job.error = ConnectionLost("The thread that wrote was interrupted.")
            raise

    def _settle(self, batch: tuple[Submission, ...]) -> None:
        needs = Needs.of_all(job.needs for job in batch)
        row: Row = ()
        with self._store.transaction():
            state, head, tree = load(self._store, needs, self._witness)
            draft = Draft(state, head, self._clock())
            for job in batch:
                job.result = job.error = None
                try:
                    job.result = job.command.decide(draft)
                except (DaleniusError, Busy) as refusal:
                    job.error = refusal
            if draft.lines:
                row = apply(self._store, draft, tree, self._witness)
        for job in batch:
            job.result = (draft.result(job.result), draft.tip)
        if draft.lines:
            self._witness.keep(tree, row)
            self._anchor(batch, draft, row[3])

    def _anchor(self, batch: tuple[Submission, ...], draft: Draft, signature: str) -> None:
        """Anchor the lines that are on disk; a failure is reported, and nothing is written again."""
        try:
            self._settled(draft, signature)
        except DaleniusError as error:
            _fail(batch, error)
        except Exception as error:
            unwritten = StorageError(
                "The ledger was written, but its anchor was not; make room for the anchor file and run verify."
            )
            unwritten.__cause__ = error
            _fail(batch, unwritten)


def _fail(batch: tuple[Submission, ...], error: DaleniusError) -> None:
    """Give every job whose line was written the error instead of its result."""
    for job in batch:
        if job.error is None:
            job.error = error
