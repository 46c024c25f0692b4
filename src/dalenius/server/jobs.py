"""Releases as jobs: queued in the store, fair between users, taken over when a worker dies, answered on a tick.

A job runs `Curator.release`, which is safe to repeat: the ledger charges a request once and stores one answer, so a job
whose worker was killed is run again by another worker. What a caller can see of a job (its stage, that it ended)
changes on ticks only: a multiple of the public tick after the job was sent. Time then says which tick, not what was in
a cell.
"""

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import ceil
from typing import Any

from dalenius.errors import Conflict, DaleniusError
from dalenius.server.errors import NotFound, TooManyRequests, body_of
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
        """What may be seen of it at this moment."""
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
        """The next moment at which something of a job may be seen."""
        return created + (ceil((now - created) / self.tick + 1e-9)) * self.tick

    def counts(self) -> dict[str, int]:
        return {state: int(n) for state, n in self._store.read("SELECT state, count(*) FROM jobs GROUP BY state")}


def failure_of(error: DaleniusError) -> str:
    return json.dumps({"body": body_of(error), "status": error.http_status})
