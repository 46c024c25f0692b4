"""The threads of one worker that serve the queue: fair claims, leases, stages on ticks, retries after outages."""

import os
import secrets
import threading
import time
from collections.abc import Callable

from dalenius.errors import ApprovalRequired, Conflict, DaleniusError, InternalError
from dalenius.server import logs
from dalenius.server.errors import Unavailable, places
from dalenius.server.jobs import AWAITING, COLUMNS, DONE, FAILED, QUEUED, RUNNING, Job, Queue, failure_of
from dalenius.server.store import StateStore

_KEEP_SECONDS = 30 * 86_400.0
_MOST_ATTEMPTS = 40
_POLL = 0.1

Run = Callable[[Job, Callable[[str], None]], str]


class Runners:
    def __init__(self, store: StateStore, queue: Queue, run: Run, *, runners: int, lease_seconds: float) -> None:
        self._store = store
        self.queue = queue
        self._run = run
        self._lease = max(lease_seconds, 3 * _POLL)
        self._worker = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._stopping = threading.Event()
        self._stages: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._threads = [threading.Thread(target=self._serve, name=f"runner-{i}", daemon=True) for i in range(runners)]
        self._threads.append(threading.Thread(target=self._keep, name="keeper", daemon=True))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, patience: float = 30.0) -> None:
        """Take no more jobs, and wait for those under way."""
        self._stopping.set()
        with self.queue.wake:
            self.queue.wake.notify_all()
        until = time.monotonic() + patience
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(until - time.monotonic(), 0.1))

    def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                job = self._claim()
            except Exception as error:
                logs.event("queue unavailable", 30, kind=type(error).__name__)
                self._stopping.wait(1.0)
                continue
            if job is None:
                with self.queue.wake:
                    self.queue.wake.wait(_POLL)
                continue
            self._execute(job)

    def _claim(self) -> Job | None:
        """The next job: of the user who has fewest running and was served longest ago."""
        now = time.time()
        free = "(j.state = ? AND j.not_before <= ?) OR (j.state = ? AND j.lease_until < ?)"
        values = (QUEUED, now, RUNNING, now)
        if not self._store.read(f"SELECT 1 FROM jobs j WHERE {free} LIMIT 1", *values):
            return None
        with self._store.transaction() as run:
            job = run(
                f"SELECT j.id FROM jobs j WHERE {free} ORDER BY"
                " (SELECT count(*) FROM jobs r WHERE r.name = j.name AND r.state = ? AND r.lease_until >= ?),"
                " (SELECT coalesce(max(d.started), 0) FROM jobs d WHERE d.name = j.name), j.created LIMIT 1",
                (*values, RUNNING, now),
            )
            if not job:
                return None
            rows = run(
                "UPDATE jobs SET state = ?, started = ?, worker = ?, lease_until = ?, attempts = attempts + 1 WHERE "
                f"id = ? AND ((state = ? AND not_before <= ?) OR (state = ? AND lease_until < ?)) RETURNING {COLUMNS}",
                (RUNNING, now, self._worker, now + self._lease, job[0][0], *values),
            )
        return Job(*rows[0]) if rows else None

    def _execute(self, job: Job) -> None:
        self._stages[job.id] = "waiting"

        def stage(name: str) -> None:
            self._stages[job.id] = name

        state, entry, failure = FAILED, "", ""
        try:
            entry = self._run(job, stage)
            state = DONE
        except ApprovalRequired as error:
            state, failure = AWAITING, failure_of(error)
        except (Unavailable, Conflict) as error:
            # A conflict here is a lease that a killed worker still holds: the same request completes it later.
            if job.attempts < _MOST_ATTEMPTS and (isinstance(error, Unavailable) or "key" in error.detail):
                state = QUEUED
            failure = failure_of(error)
        except DaleniusError as error:
            failure = failure_of(error)
        except Exception as error:
            logs.event("job failed", 40, job=job.id, kind=type(error).__name__, places=places(error))
            failure = failure_of(InternalError("Something went wrong on our side.", job=job.id))
        self._finish(job, state, entry, "" if state == QUEUED else failure)

    def _finish(self, job: Job, state: str, entry: str, failure: str) -> None:
        """Write the end of a job; if the store is away for a moment, try again."""
        for pause in (0.1, 0.2, 0.5, 1, 2, 5, 5, 5, 5, 5):
            now = time.time()
            try:
                self._store.write(
                    "UPDATE jobs SET state = ?, entry = ?, error = ?, visible = ?, not_before = ?, lease_until = 0"
                    " WHERE id = ? AND worker = ?",
                    state, entry, failure, self.queue.next_tick(job.created, now), now + min(0.5 * job.attempts, 5.0),
                    job.id, self._worker,
                )  # fmt: skip
                break
            except Unavailable:
                if self._stopping.wait(pause):
                    break
        self._stages.pop(job.id, None)
        self._written.pop(job.id, None)
        logs.event("job", job=job.id, state=state, dataset=job.dataset, user=job.name, attempt=job.attempts)

    def _keep(self) -> None:
        """On every tick: show the stages reached. Every few ticks: keep the leases of this worker's jobs alive."""
        renewed = cleaned = 0.0
        while not self._stopping.wait(self.queue.tick):
            try:
                self._show_stages()
                now = time.monotonic()
                if self._stages and now - renewed > self._lease / 4:
                    renewed = now
                    self._store.write(
                        "UPDATE jobs SET lease_until = ? WHERE worker = ? AND state = ?",
                        time.time() + self._lease, self._worker, RUNNING,
                    )  # fmt: skip
                if now - cleaned > 3600:
                    cleaned = now
                    self._clean()
            except Exception as error:
                logs.event("keeper", 30, kind=type(error).__name__)

    def _show_stages(self) -> None:
        changed = {job: stage for job, stage in dict(self._stages).items() if self._written.get(job) != stage}
        for job, stage in changed.items():
            self._written[job] = stage
            self._store.write("UPDATE jobs SET stage = ? WHERE id = ? AND state = ?", stage, job, RUNNING)

    def _clean(self) -> None:
        old = time.time() - _KEEP_SECONDS
        with self._store.transaction() as run:
            run("DELETE FROM jobs WHERE created < ? AND state IN (?, ?)", (old, DONE, FAILED))
            run("DELETE FROM idempotency WHERE created < ?", (old,))
