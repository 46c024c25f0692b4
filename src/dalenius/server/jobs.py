"""Releases as jobs: queued in the store, fair between users, taken over when a worker dies, answered on a tick.

A job is safe to repeat: the ledger charges a request once and stores one answer. What a caller can see of a job changes
on ticks only, so that time says which tick, and not what was in a cell (docs/explanation/threat-model-server.md).
"""

import hashlib
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from math import ceil
from typing import Any

from dalenius.errors import ApprovalRequired, Conflict, DaleniusError, InternalError
from dalenius.server import logs
from dalenius.server.errors import NotFound, TooManyRequests, Unavailable, body_of, places
from dalenius.server.store import Run, StateStore
from dalenius.server.views import JobView

QUEUED, RUNNING, AWAITING, DONE, FAILED = "queued", "running", "awaiting approval", "done", "failed"


@dataclass(frozen=True, slots=True)
class Job:
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
        job = self
        if job.state in (DONE, FAILED, AWAITING) and now < job.visible:
            job = replace(job, state=RUNNING, entry="", error="")
        failure = json.loads(job.error or '{"body": null, "status": 0}')
        plain = ("id", "state", "stage", "dataset", "cells", "created", "entry", "approved_by")
        return JobView(
            analyst=job.name,
            request=json.loads(job.request),
            error=failure["body"],
            http_status=failure["status"],
            **{name: getattr(job, name) for name in plain},
        )


COLUMNS = ", ".join(field.name for field in fields(Job))


class Queue:
    def __init__(self, store: StateStore, tick: float) -> None:
        self._store = store
        self.tick = tick
        self.wake = threading.Condition()

    def submit(
        self, name: str, dataset: str, request: Mapping[str, Any], cells: int, key: str = "", *, most: int = 20
    ) -> str:
        """Queue a release. The same idempotency key with the same request is the same job; with another, a conflict."""
        text = json.dumps(request, sort_keys=True, default=str)
        digest = hashlib.sha256(f"{dataset}\0{text}".encode()).hexdigest()
        now = time.time()
        job = secrets.token_hex(16)
        with self._store.transaction() as run:
            earlier = self._known(run, name, key, digest) if key else None
            if earlier is not None:
                return earlier
            waiting = run("SELECT count(*) FROM jobs WHERE name = ? AND state IN (?, ?)", (name, QUEUED, RUNNING))
            if waiting[0][0] >= most:
                raise TooManyRequests(f"You have {most} releases under way; wait for one of them.", limit=most)
            if key:
                run(
                    "INSERT INTO idempotency (name, key, digest, job, created) VALUES (?, ?, ?, ?, ?)"
                    " ON CONFLICT (name, key) DO UPDATE SET job = excluded.job",
                    (name, key, digest, job, now),
                )
            run(
                f"INSERT INTO jobs ({COLUMNS}, worker, not_before)"
                " VALUES (?, ?, ?, ?, ?, ?, '', '', '', '', ?, 0, 0, 0, 0, '', 0)",
                (job, name, dataset, text, cells, QUEUED, now),
            )
        with self.wake:
            self.wake.notify()
        return job

    @staticmethod
    def _known(run: Run, name: str, key: str, digest: str) -> str | None:
        """The job under an idempotency key; one that ended by a fault of ours may be tried again, at no cost."""
        rows = run(
            "SELECT i.digest, i.job, j.state, j.error FROM idempotency i LEFT JOIN jobs j ON j.id = i.job"
            " WHERE i.name = ? AND i.key = ?",
            (name, key),
        )
        if not rows:
            return None
        number, job, state, error = rows[0]
        if number != digest:
            raise Conflict("This idempotency key was used before for another request.", key=key)
        is_fault = state == FAILED and json.loads(error)["status"] >= 500
        return None if state is None or is_fault else str(job)

    def find(self, job: str) -> Job:
        jobs = self._select("id = ?", job)
        if not jobs:
            raise NotFound("There is no such job.")
        return jobs[0]

    def of(self, name: str, most: int = 100) -> list[Job]:
        return self._select(f"name = ? ORDER BY created DESC LIMIT {int(most)}", name)

    def awaiting(self) -> list[Job]:
        return self._select("state = ? ORDER BY created", AWAITING)

    def _select(self, where: str, value: str) -> list[Job]:
        return [Job(*row) for row in self._store.read(f"SELECT {COLUMNS} FROM jobs WHERE {where}", value)]

    def decide(self, job: str, by: str, refusal: DaleniusError | None = None) -> None:
        """Queue an awaiting job again with its approval, or end it with a refusal."""
        decision = (QUEUED, by, "") if refusal is None else (FAILED, "", failure_of(refusal))
        changed = self._store.write(
            "UPDATE jobs SET state = ?, approved_by = ?, error = ? WHERE id = ? AND state = ? RETURNING id",
            *decision, job, AWAITING,
        )  # fmt: skip
        if not changed:
            raise Conflict("This release no longer awaits approval.")
        with self.wake:
            self.wake.notify()

    def end_all(self, name: str, refusal: DaleniusError) -> None:
        """End whatever of a user is queued or awaits approval; what is being measured was charged, and goes on."""
        self._store.write(
            "UPDATE jobs SET state = ?, error = ? WHERE name = ? AND state IN (?, ?)",
            FAILED, failure_of(refusal), name, QUEUED, AWAITING,
        )  # fmt: skip

    def next_tick(self, created: float, now: float) -> float:
        return created + (ceil((now - created) / self.tick + 1e-9)) * self.tick

    def counts(self) -> dict[str, int]:
        return {state: int(n) for state, n in self._store.read("SELECT state, count(*) FROM jobs GROUP BY state")}


def failure_of(error: DaleniusError) -> str:
    return json.dumps({"body": body_of(error), "status": error.http_status})


_KEEP_SECONDS = 30 * 86_400.0
_MOST_ATTEMPTS = 40
_POLL = 0.1

Work = Callable[[Job, Callable[[str], None]], str]


class Runners:
    def __init__(self, store: StateStore, queue: Queue, run: Work, *, runners: int, lease_seconds: float) -> None:
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
