"""Releases as jobs: queued in the store, fair between users, taken over when a worker dies, answered on a tick.

A job runs `Curator.release`, which is safe to repeat: the ledger charges a request once and stores one answer, so a job
whose worker was killed is run again by another worker. What a caller can see of a job (its stage, that it ended) changes
on ticks only: a multiple of the public tick after the job was sent. Time then says which tick, not what was in a cell.
"""

import hashlib
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from dalenius.errors import ApprovalRequired, Conflict, DaleniusError, InternalError
from dalenius.server import logs
from dalenius.server.errors import NotFound, TooManyRequests, Unavailable, body_of, places
from dalenius.server.store import Store
from dalenius.server.views import JobView

QUEUED, RUNNING, AWAITING, DONE, FAILED = "queued", "running", "awaiting approval", "done", "failed"
_COLUMNS = (
    "id, name, dataset, request, cells, state, stage, entry, error, approved_by, created, started, visible,"
    " lease_until, attempts"
)
_KEEP_SECONDS = 30 * 86_400.0
_MOST_ATTEMPTS = 40
_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the queue."""

    id: str
    name: str
    dataset: str
    request: str
    cells: int
    state: str
    stage: str
    entry: str
    error: str
    approved_by: str
    created: float
    started: float
    visible: float
    lease_until: float
    attempts: int

    def view(self, now: float) -> JobView:
        """What may be seen of it at this moment."""
        job = self
        if job.state in (DONE, FAILED, AWAITING) and now < job.visible:
            job = replace(job, state=RUNNING, entry="", error="")
        return JobView(
            id=job.id,
            state=job.state,
            stage=job.stage,
            dataset=job.dataset,
            analyst=job.name,
            request=json.loads(job.request),
            cells=job.cells,
            created=job.created,
            entry=job.entry,
            error=json.loads(job.error)["body"] if job.error else None,
            http_status=json.loads(job.error)["status"] if job.error else 0,
            approved_by=job.approved_by,
        )


Run = Callable[[Job, Callable[[str], None]], str]


class Jobs:
    """The queue of one server, and the threads of one worker that serve it."""

    def __init__(self, store: Store, run: Run, *, tick: float, runners: int, lease_seconds: float) -> None:
        self._store = store
        self._run = run
        self._tick = tick
        self._lease = max(lease_seconds, 3 * _POLL)
        self._worker = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._stopping = threading.Event()
        self._wake = threading.Condition()
        self._stages: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._threads = [
            threading.Thread(target=self._serve, name=f"runner-{i}", daemon=True) for i in range(runners)
        ]
        self._threads.append(threading.Thread(target=self._keep, name="keeper", daemon=True))

    # -- what callers do ---------------------------------------------------------------------------------------

    def submit(
        self,
        name: str,
        dataset: str,
        request: Mapping[str, Any],
        cells: int,
        key: str = "",
        *,
        most: int = 20,
    ) -> str:
        """Queue a release. The same idempotency key with the same request is the same job; with another, a conflict."""
        text = json.dumps(request, sort_keys=True, default=str)
        digest = _digest(dataset, text)
        now = time.time()
        job = secrets.token_hex(16)
        with self._store.transaction() as run:
            if key:
                known = run("SELECT digest, job FROM idempotency WHERE name = ? AND key = ?", (name, key))
                if known:
                    if known[0][0] != digest:
                        raise Conflict("This idempotency key was used before for another request.", key=key)
                    return str(known[0][1])
            waiting = run(
                "SELECT count(*) FROM jobs WHERE name = ? AND state IN (?, ?)", (name, QUEUED, RUNNING)
            )
            if waiting[0][0] >= most:
                raise TooManyRequests(
                    f"You have {most} releases under way; wait for one of them.", limit=most
                )
            if key:
                run(
                    "INSERT INTO idempotency (name, key, digest, job, created) VALUES (?, ?, ?, ?, ?)",
                    (name, key, digest, job, now),
                )
            run(
                f"INSERT INTO jobs ({_COLUMNS}, worker, not_before)"
                " VALUES (?, ?, ?, ?, ?, ?, '', '', '', '', ?, 0, 0, 0, 0, '', 0)",
                (job, name, dataset, text, cells, QUEUED, now),
            )
        with self._wake:
            self._wake.notify()
        return job

    def find(self, job: str) -> Job:
        """A job by id."""
        rows = self._store.read(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", job)
        if not rows:
            raise NotFound("There is no such job.")
        return Job(*rows[0])

    def of(self, name: str, most: int = 100) -> list[Job]:
        """A user's jobs, newest first."""
        sql = f"SELECT {_COLUMNS} FROM jobs WHERE name = ? ORDER BY created DESC LIMIT {int(most)}"
        return [Job(*row) for row in self._store.read(sql, name)]

    def awaiting(self) -> list[Job]:
        """Jobs that a second person must approve, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM jobs WHERE state = ? ORDER BY created"
        return [Job(*row) for row in self._store.read(sql, AWAITING)]

    def decide(self, job: str, by: str, refusal: DaleniusError | None = None) -> None:
        """Queue an awaiting job again with its approval, or end it with a refusal."""
        is_approved = refusal is None
        text = "" if refusal is None else _failure(refusal)
        state = QUEUED if is_approved else FAILED
        changed = self._store.write(
            "UPDATE jobs SET state = ?, approved_by = ?, error = ? WHERE id = ? AND state = ? RETURNING id",
            state, by if is_approved else "", text, job, AWAITING,
        )  # fmt: skip
        if not changed:
            raise Conflict("This release no longer awaits approval.")
        with self._wake:
            self._wake.notify()

    def next_tick(self, created: float, now: float) -> float:
        """The next moment at which something of a job may be seen."""
        return created + (ceil((now - created) / self._tick + 1e-9)) * self._tick

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        return {
            state: int(n) for state, n in self._store.read("SELECT state, count(*) FROM jobs GROUP BY state")
        }

    # -- what this worker does ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to serve."""
        for thread in self._threads:
            thread.start()

    def stop(self, patience: float = 30.0) -> None:
        """Take no more jobs, and wait for those under way."""
        self._stopping.set()
        with self._wake:
            self._wake.notify_all()
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
                with self._wake:
                    self._wake.wait(_POLL)
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
            found = run(
                f"SELECT j.id FROM jobs j WHERE {free} ORDER BY"
                " (SELECT count(*) FROM jobs r WHERE r.name = j.name AND r.state = ? AND r.lease_until >= ?),"
                " (SELECT coalesce(max(d.started), 0) FROM jobs d WHERE d.name = j.name), j.created LIMIT 1",
                (*values, RUNNING, now),
            )
            if not found:
                return None
            rows = run(
                "UPDATE jobs SET state = ?, started = ?, worker = ?, lease_until = ?, attempts = attempts + 1"
                " WHERE id = ? AND ((state = ? AND not_before <= ?) OR (state = ? AND lease_until < ?))"
                f" RETURNING {_COLUMNS}",
                (RUNNING, now, self._worker, now + self._lease, found[0][0], *values),
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
            state, failure = AWAITING, _failure(error)
        except (Unavailable, Conflict) as error:
            # A conflict here is a lease that a killed worker still holds: the same request completes it later.
            if job.attempts < _MOST_ATTEMPTS and (isinstance(error, Unavailable) or "key" in error.detail):
                state = QUEUED
            failure = _failure(error)
        except DaleniusError as error:
            failure = _failure(error)
        except Exception as error:
            logs.event("job failed", 40, job=job.id, kind=type(error).__name__, places=places(error))
            failure = _failure(InternalError("Something went wrong on our side.", job=job.id))
        self._finish(job, state, entry, "" if state == QUEUED else failure)

    def _finish(self, job: Job, state: str, entry: str, failure: str) -> None:
        """Write the end of a job; if the store is away for a moment, try again."""
        for pause in (0.1, 0.2, 0.5, 1, 2, 5, 5, 5, 5, 5):
            now = time.time()
            try:
                self._store.write(
                    "UPDATE jobs SET state = ?, entry = ?, error = ?, visible = ?, not_before = ?, lease_until = 0"
                    " WHERE id = ? AND worker = ?",
                    state, entry, failure, self.next_tick(job.created, now), now + min(0.5 * job.attempts, 5.0),
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
        while not self._stopping.wait(self._tick):
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


def _failure(error: DaleniusError) -> str:
    return json.dumps({"body": body_of(error), "status": error.http_status})


def _digest(dataset: str, text: str) -> str:
    return hashlib.sha256(f"{dataset}\0{text}".encode()).hexdigest()
